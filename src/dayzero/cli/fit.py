"""``dayzero fit``: does it fit into this machine's memory, and with what headroom?"""

from dayzero.bringup.laboratory import tell_verdict
from dayzero.cli.main import exit_code
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.story import ConsoleNarrator
from dayzero.core.verdict import verdict_word
from dayzero.wiring import definitions, laboratory


def fit(package: str, *, output_format: OutputFormat = "text") -> int:
    """Budget the package's memory term by term, against what this machine has available now.

    The weights are fetched first. Exit code 0: it fits. 1: it does not. 3: undecided.

    Args:
        package: Name, folder or file of the package.
        output_format: How the result is written to stdout.
    """
    recipe = definitions.package(package).recipe
    report = laboratory.fit_here(recipe)
    if output_format == "json":
        print_json(
            {
                "schema": "dayzero/fit/v1",
                "model": recipe.model.name,
                "verdict": verdict_word(report.verdict),
                "reason": report.verdict.reason,
                "needed_bytes": report.needed.count,
                "available_bytes": report.memory.available.count,
                "terms": [
                    {"name": term.name, "bytes": term.size.count, "source": term.source} for term in report.terms
                ],
            }
        )
    else:
        narrator = ConsoleNarrator(steps=1)
        narrator.step("fit", f"{recipe.model.name} on this machine")
        for term in report.terms:
            narrator.say(str(term.size), f"{term.name} ({term.source})")
        tell_verdict(report.verdict, narrator)
    return exit_code(report.verdict)
