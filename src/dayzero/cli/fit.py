"""``dayzero fit``: does it fit into the GPUs' or this machine's memory, and with what headroom?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.adapters.disk import write_whole
from dayzero.bringup.laboratory import tell_verdict
from dayzero.cli.fit_text import answer_lines, sweep_lines
from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED, exit_code
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.story import ConsoleNarrator
from dayzero.core.errors import InputError
from dayzero.core.recipe import Recipe
from dayzero.core.verdict import Proven, verdict_word
from dayzero.fit import document
from dayzero.fit.cheapest import described
from dayzero.fit.svg import draw
from dayzero.fit.sweep import Swept
from dayzero.wiring import fit as wiring
from dayzero.wiring import laboratory

SCHEMA = "dayzero/fit/v2"
_HOST_SCHEMA = "dayzero/fit/v1"


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is sized; what is left out is taken from the package, the log, or the engine's flags.

    Attributes:
        engine: The engine's version, NAME==VERSION.
        system: The GPUs, 8xb300, or 2x8xh200 for two nodes of eight.
        tp: Tensor parallel degree; all GPUs when nothing says otherwise.
        pp: Pipeline parallel degree.
        dp: Data parallel degree.
        ep: Spread the experts over all ranks.
        context: Longest request in tokens, prompt and answer together.
    """

    engine: str = ""
    system: str = ""
    tp: Annotated[int, cyclopts.Parameter(validator=cyclopts.validators.Number(gte=1))] | None = None
    pp: Annotated[int, cyclopts.Parameter(validator=cyclopts.validators.Number(gte=1))] | None = None
    dp: Annotated[int, cyclopts.Parameter(validator=cyclopts.validators.Number(gte=1))] | None = None
    ep: Annotated[bool, cyclopts.Parameter(negative="")] = False
    context: Annotated[int, cyclopts.Parameter(validator=cyclopts.validators.Number(gte=1))] | None = None


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be told of it.

    Attributes:
        explain: Print every formula with its numbers and its line in the engine's source.
        compare: An engine's log of the same model: predicted beside actual; what was measured then decides.
        sweep: Size it on every known system, or in every spread over the given one.
        output: Draw the answer into this SVG file.
    """

    explain: Annotated[bool, cyclopts.Parameter(negative="")] = False
    compare: Path | None = None
    sweep: Annotated[bool, cyclopts.Parameter(negative="")] = False
    output: Annotated[Path | None, cyclopts.Parameter(name=("--output", "-o"))] = None


_NO_PLAN, _ANSWER = Plan(), Wanted()


def fit(
    target: str = "",
    /,
    *flags: Annotated[
        str, cyclopts.Parameter(help="After --: the engine's own flags, as its command line takes them.")
    ],
    plan: Plan = _NO_PLAN,
    wanted: Wanted = _ANSWER,
    output_format: OutputFormat = "text",
) -> int:
    """Budget the memory of each GPU before it is booked: does the model fit, why, and with what margin?

    Exit code 0: it fits. 1: it does not. 3: undecided. With --compare 0: the prediction keeps to the tolerance. 1: it does
    not. A package without GPUs is sized against the memory that this machine has available now.

    Args:
        target: A model's config.json, the folder with its weights, or a package. With --compare it may be left out.
        flags: The engine's own flags.
        plan: What is sized.
        wanted: What is to be told of it.
        output_format: How the result is written to stdout.
    """
    question = _question(target, flags, plan, wanted)
    recipe = wiring.recipe_of(target) if target else None
    if recipe is not None and not recipe.system.accelerators and not plan.system and wanted == _ANSWER:
        return _host(recipe, output_format)
    if not target and wanted.compare is None:
        raise InputError(
            "no model is given", hint="Give a config.json, a folder of weights or a package; or --compare LOG."
        )
    swept = wiring.swept(question) if wanted.sweep else None
    if swept is not None:
        return _sweep(*swept, output_format)
    found = wiring.answer(question)
    if wanted.output is not None:
        write_whole(wanted.output, draw(found.report, _title(found)).encode())
    ways = wiring.ways_out(found)
    if output_format == "json":
        print_json(_document(found, question, ways, explain=wanted.explain))
    else:
        print("\n".join(answer_lines(found, ways, log=str(wanted.compare or ""), explain=wanted.explain)))
    return _code(found)


def _question(target: str, flags: tuple[str, ...], plan: Plan, wanted: Wanted) -> wiring.Question:
    return wiring.Question(
        target=target,
        engine=plan.engine,
        system=plan.system,
        tp=plan.tp or 0,
        pp=plan.pp or 0,
        dp=plan.dp or 0,
        ep=plan.ep,
        context=plan.context or 0,
        flags=flags,
        log=wanted.compare,
        explain=wanted.explain,
    )


def _code(found: wiring.Answer) -> int:
    comparison = found.comparison
    if comparison is None or found.predicted is None:
        return exit_code(found.report.verdict)
    return exit_code(comparison.verdict)


def _title(found: wiring.Answer) -> str:
    if found.plan is None:
        return found.name
    return f"{found.name} on {described(found.plan)}, {found.engine} {found.plan.version}"


def _document(
    found: wiring.Answer, question: wiring.Question, ways: wiring.WaysOut, *, explain: bool
) -> dict[str, object]:
    plan = found.plan
    asked: dict[str, object] = {"schema": SCHEMA, "model": found.name, "engine": found.engine}
    if plan is not None:
        spread = plan.parallelism
        asked |= {
            "version": plan.version,
            "system": plan.system.name,
            "parallelism": {"tp": spread.tp, "pp": spread.pp, "dp": spread.dp, "ep": spread.ep},
            "flags": list(plan.flags),
            "checkpoint": {
                "source": plan.checkpoint.source,
                "basis": plan.checkpoint.basis.value,
                "bytes": plan.checkpoint.size.count,
                "shards": plan.checkpoint.shards,
            },
        }
    body = {**asked, **document.of_report(found.report)}
    body["remedies"] = document.of_remedies(ways.changes)
    body["smallest_system"] = document.of_remedies((ways.smallest,))[0] if ways.smallest else None
    body["evidence"] = found.evidence or None
    if found.comparison is not None:
        body["comparison"] = document.of_comparison(found.comparison, str(question.log))
        body["differences"] = list(found.differences)
    if explain:
        body["formulas"] = document.of_formulas(found.predicted or found.report)
        body["placements"] = document.of_placements(found.predicted or found.report)
    return body


def _sweep(name: str, engine: str, rows: tuple[Swept, ...], output_format: str) -> int:
    if output_format == "json":
        print_json({"schema": "dayzero/fit-sweep/v1", "model": name, "engine": engine, "rows": document.of_swept(rows)})
    else:
        print("\n".join(sweep_lines(name, engine, rows)))
    if any(isinstance(row.report.verdict, Proven) for row in rows):
        return PROVEN
    return FINDINGS if rows and all(verdict_word(row.report.verdict) == "refuted" for row in rows) else UNDECIDED


def _host(recipe: Recipe, output_format: str) -> int:
    report = laboratory.fit_here(recipe)
    if output_format == "json":
        print_json(
            {
                "schema": _HOST_SCHEMA,
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
