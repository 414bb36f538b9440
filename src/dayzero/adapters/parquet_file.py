"""Write rows as Parquet, for a notebook or a warehouse. Needs DuckDB, which is loaded on first use only."""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import msgspec

from dayzero.adapters.disk import whole_file
from dayzero.bench.model import Row
from dayzero.core.errors import InputError

REQUESTS: Final = "requests.parquet"
CHUNKS: Final = "chunks.parquet"

_COLUMNS: Final = (
    *((name, "BIGINT") for name in ("number", "index", "session", "turn", "input_tokens", "output_tokens")),
    *((name, "VARCHAR") for name in ("cell", "phase", "error")),
    *((name, "BIGINT") for name in ("due_ns", "sent_ns", "sent_by_ns", "first_byte_ns", "first_event_ns")),
    *((name, "BIGINT") for name in ("answer_ns", "end_ns", "lag_ns", "status", "reasoning_chunks")),
    ("new_connection", "BOOLEAN"),
    ("content_ns", "BIGINT[]"),
    ("usage", "STRUCT(prompt_tokens BIGINT, completion_tokens BIGINT, cached_tokens BIGINT)"),
)
# Each stands between COPY ( and ) TO; "source" is the rows.
_REQUESTS: Final = (
    "SELECT * EXCLUDE (content_ns, usage), len(content_ns) AS chunks, usage.prompt_tokens AS prompt_tokens, "
    "usage.completion_tokens AS completion_tokens, usage.cached_tokens AS cached_tokens FROM source ORDER BY number"
)
_CHUNKS: Final = (
    "SELECT number, cell, phase, unnest(generate_series(0, len(content_ns) - 1)) AS position, "
    "unnest(content_ns) AS arrived_ns FROM source WHERE len(content_ns) > 0 ORDER BY number, position"
)


def write_parquet(rows: Sequence[Row], folder: Path) -> tuple[Path, Path]:
    """Write ``requests.parquet`` (one line a request) and ``chunks.parquet`` (one line a chunk with text and its stamp).

    Raises:
        InputError: DuckDB is not installed.
        RemoteError: The disk is full, or the folder cannot be written.
    """
    try:
        import duckdb  # noqa: PLC0415  (heavy, and needed by this export only)
    except ImportError as error:
        raise InputError(
            "Parquet needs DuckDB, which is not installed", hint="Run 'pip install dayzero[parquet]'."
        ) from error
    targets = folder / REQUESTS, folder / CHUNKS
    with tempfile.TemporaryDirectory() as scratch, duckdb.connect() as connection:
        lines = Path(scratch, "rows.jsonl")
        lines.write_bytes(b"\n".join(msgspec.json.encode(asdict(row)) for row in rows) + b"\n")
        columns = ", ".join(f"'{name}': '{kind}'" for name, kind in _COLUMNS)
        connection.execute(
            f"CREATE VIEW source AS SELECT * FROM read_json('{lines}', format = 'newline_delimited', "  # noqa: S608  (our own path)
            f"maximum_object_size = 268435456, columns = {{{columns}}})"
        )
        for target, query in zip(targets, (_REQUESTS, _CHUNKS), strict=True):
            with whole_file(target) as temporary:
                connection.execute(f"COPY ({query}) TO '{_quoted(temporary)}' (FORMAT parquet, COMPRESSION zstd)")
    return targets


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
