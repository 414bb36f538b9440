"""``dayzero perfdb collect --tactics``: show which candidates of an operator must not be used."""

from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.perfdb_options import SCHEMA
from dayzero.wiring.perfdb_tactics import Tactics

_CODES = {"proven": PROVEN, "refuted": FINDINGS, "undecided": UNDECIDED}


def show_tactics(done: Tactics, output_format: OutputFormat) -> int:
    """Print what became of each candidate, and give the exit code."""
    if output_format == "json":
        print_json(_document(done))
        return _CODES[done.verdict]
    print(f"{done.verdict:<10} every candidate of {done.operator.name} is valid")
    for one in done.tried:
        told = ", ".join(f"{name} {value}" for name, value in one.candidate.items())
        print(f"  {one.fate:<12} {told}{'  (planted)' if one.planted else ''}  line {one.line}  {one.message}".rstrip())
    print(f"written    {done.manifest}")
    return _CODES[done.verdict]


def _document(done: Tactics) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "kind": "tactics",
        "operator": done.operator.name,
        "every_candidate_valid": done.verdict,
        "candidates": [
            {
                "candidate": dict(one.candidate),
                "fate": one.fate,
                "planted": one.planted,
                "line": one.line,
                "message": one.message,
            }
            for one in done.tried
        ],
    }
