"""What did the server and its GPUs say while the client measured? Scrapes are recorded as they come and read afterwards.

``telemetry.jsonl`` begins with a header (schema ``dayzero/telemetry/v1``); each line after it is one scrape, in which the server's
lines stand as it wrote them, those of the known series only; the last line says what the recording cost.
"""
