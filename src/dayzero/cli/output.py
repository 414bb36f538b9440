"""What every command prints the same way: results on stdout as text or JSON, everything else on stderr."""

import json
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import cyclopts
from rich.console import Console

OutputFormat: TypeAlias = Annotated[
    Literal["text", "json"], cyclopts.Parameter(name="--output-format", help="How the result is written to stdout.")
]


def stderr_console() -> Console:
    """Give the console for progress and diagnostics: stderr, without colour where it is not a terminal."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON document, keys in the order given."""
    print(json.dumps(document, indent=2, ensure_ascii=False))
