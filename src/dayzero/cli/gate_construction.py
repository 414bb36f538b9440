"""``dayzero gate construction``: is it unchanged by construction?"""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.main import exit_code
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.verdict import Proven, verdict_word
from dayzero.gates.construction import STATEMENT, concluded
from dayzero.wiring import definitions
from dayzero.wiring.gate_construction import argue, file_construction, keep, written


def construction(
    package: str,
    /,
    *,
    output: Annotated[Path | None, cyclopts.Parameter(name=["--output", "-o"])] = None,
    root: Path | None = None,
    output_format: OutputFormat = "text",
) -> int:
    """Argue from a package's pins that its recipe changes no weight byte and applies no patch.

    An argument, not a measurement: it says nothing of whether the released engine computes the model rightly.
    Exit 0: it follows. 1: a premise fails. 3: a premise cannot be decided.

    Args:
        package: Name, folder or file of the package.
        output: Folder for construction.json; the argument is only printed when left out.
        root: Repository whose ledger takes the claim, where the statement follows; needs -o.
        output_format: How the result is written to stdout.
    """
    definition = definitions.package(package)
    found = argue(definition)
    verdict = concluded(found)
    file = None if output is None else keep(definition, found, output)
    filed = None
    if root is not None and file is not None and isinstance(verdict, Proven):
        filed = file_construction(definition, found, file, root)
    if output_format == "json":
        print_json(written(definition, found))
        return exit_code(verdict)
    for premise in found:
        print(f"{premise.name:<12} {verdict_word(premise.verdict):<9}  {premise.verdict.reason}")
        for name, digest in premise.digests:
            print(f"{'':<12} {digest}  {name}")
    print(f"\n{STATEMENT}: {verdict_word(verdict)}: {verdict.reason}")
    if file is not None:
        print(f"kept: {file}")
    if filed is not None:
        print(f"claimed: {filed.claim.slug}, {filed.place}")
    return exit_code(verdict)
