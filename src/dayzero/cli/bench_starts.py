"""``dayzero bench PACKAGE --repeat-start N``: how often does a start fail?"""

import json
from pathlib import Path

from dayzero.bringup.laboratory import diagnosed
from dayzero.bringup.repeat import FAILURES, Attempt
from dayzero.cli.console import stderr_console
from dayzero.cli.main import FINDINGS, PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.evidence.ledger import LEDGER_NAME
from dayzero.evidence.trials_document import rate_document
from dayzero.serve.model import Died, Healthy, TimedOut
from dayzero.wiring import definitions, trials
from dayzero.wiring.triage import diagnose

_LINE, _LABEL = 80, 12


def repeat_start(package: str, output: Path, count: int, output_format: OutputFormat) -> int:
    """Start a package's engine several times, file each start, and print how many failed with the exact interval.

    Args:
        package: Name, folder or file of the package.
        output: An empty folder.
        count: How many starts.
        output_format: How the result is written to stdout.
    """
    definition = definitions.package(package)
    console = stderr_console()
    with console.status(f"start 1 of {count}") as status:

        def wait(number: int, seconds: float, line: str) -> None:
            status.update(f"start {number} of {count}, {seconds:.0f} s: {line[:_LINE]}".replace("[", "("))

        def tell(attempt: Attempt) -> None:
            console.print(f"start {attempt.number} of {count}: {_ended(attempt)}", markup=False)
            if attempt.failed:
                for label, text in diagnosed(diagnose(attempt.log.content), attempt.log.name):
                    console.print(f"  {label:<{_LABEL}}{text}", markup=False)

        found = trials.repeat_package(definition, output, count, trials.Listener(wait, tell))
    ledger = found.evidence / LEDGER_NAME
    slug = f"{definition.name}/{FAILURES}"
    if output_format == "json":
        interval = rate_document(found.failures)
        print_json({**json.loads(found.summary.content), "rate": interval, "claim": slug, "ledger": str(ledger)})
    else:
        failed = found.failures
        print(f"{definition.name}: {definition.recipe.engine}, {count} starts at one condition")
        print(f"start failures: {failed}, the exact 95 % interval of the rate")
        print(f"claim: {slug} in {ledger}")
    return FINDINGS if found.failures.events else PROVEN


def _ended(attempt: Attempt) -> str:
    match attempt.start:
        case Healthy(seconds=seconds):
            return f"healthy after {seconds:.2f} s"
        case Died(seconds=seconds, exit_code=code):
            return f"died after {seconds:.2f} s with exit code {code}"
        case TimedOut(seconds=seconds):
            return f"not healthy after {seconds:.0f} s, its start budget"
