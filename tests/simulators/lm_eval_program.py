"""A program that is called, asks and writes as lm-eval 0.4.13 does, on a task of thirty items; it scores by itself."""

import hashlib
import json
import sys
import urllib.request
from pathlib import Path

ITEMS = 30


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def main(words: list[str]) -> int:
    options = dict(zip(words, words[1:], strict=False))  # noqa: RUF007  (runs on its own)
    arguments = dict(pair.split("=", 1) for pair in options["--model_args"].split(","))
    task, lines = options["--tasks"], []
    for number in range(ITEMS):
        prompt = f"item {number} of the task"
        body = {"model": arguments["model"], "prompt": prompt, "max_tokens": 4, "temperature": 0, "stop": ["zz"]}
        request = urllib.request.Request(arguments["base_url"], json.dumps(body).encode())  # noqa: S310  (the loopback)
        with urllib.request.urlopen(request) as answer:  # noqa: S310  (same)
            text = json.load(answer)["choices"][0]["text"]
        hashes = {"doc_hash": digest(prompt), "prompt_hash": digest(prompt), "target_hash": digest(str(number))}
        right = float(number % 3 > 0)
        lines.append({"doc_id": number, "filter": "none", "filtered_resps": [text], "exact_match": right, **hashes})
    folder = Path(options["--output_path"]) / "m"
    folder.mkdir(parents=True)
    samples = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"samples_{task}_2026-01-01T00-00-00.jsonl").write_text(samples)
    config = {"metric_list": [{"metric": "exact_match"}], "metadata": {"base_url": arguments["base_url"]}}
    (folder / "results_2026-01-01T00-00-00.json").write_text(json.dumps({"configs": {task: config}}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
