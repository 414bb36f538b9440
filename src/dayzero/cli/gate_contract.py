"""``dayzero gate contract``: does the endpoint keep what its users rely on?"""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.console import stderr_console
from dayzero.cli.endpoint_options import connection
from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.gates.contract.document import lines
from dayzero.gates.contract.model import Kept
from dayzero.wiring.gate_contract import EXCHANGES, RESULT, look_at_contract


def contract(  # noqa: PLR0913  (each argument is one option)
    url: str,
    /,
    *,
    model: str = "",
    known: Annotated[tuple[str, ...], cyclopts.Parameter(negative=())] = (),
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])] = Path("dayzero-contract"),
    api_key_env: str | None = None,
    timeout: float = 120.0,
    output_format: OutputFormat = "text",
) -> int:
    """Make every check of the contract on an endpoint, and keep each request with its answer.

    Exit 0: no check is broken, or only known ones. 1: one is broken. 3: a check is undecided, or nothing answers.

    Args:
        url: The endpoint: http://HOST:PORT.
        model: Model to ask for; the only one that is served when left out.
        known: A check that is known to be broken, by its name; may be given several times.
        output: Folder for the exchanges and the report; it must be empty.
        api_key_env: Environment variable that holds the API key.
        timeout: Seconds after which a request has no answer.
        output_format: How the result is written to stdout.
    """
    console = stderr_console()
    reach = connection(url, timeout=timeout, api_key_env=api_key_env)
    done = look_at_contract(
        reach, model, output, known=known, told=lambda check: console.print(f"check {check}", markup=False)
    )
    if output_format == "json":
        print_json(done.document)
    else:
        for line in lines(done.report):
            print(line)
        print(f"kept: {output / RESULT}, {output / EXCHANGES}")
    return {Kept.KEPT: PROVEN, Kept.BROKEN: FINDINGS, Kept.UNDECIDED: UNDECIDED}[done.report.verdict]
