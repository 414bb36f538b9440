"""What every command prints the same way: results on stdout as text or JSON, everything else on stderr."""

import json
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import cyclopts

OutputFormat: TypeAlias = Annotated[
    Literal["text", "json"], cyclopts.Parameter(name="--output-format", help="How the result is written to stdout.")
]


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON document, keys in the order given."""
    print(json.dumps(document, indent=2, ensure_ascii=False))
