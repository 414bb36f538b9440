"""Compare the distributions of two endpoints, and keep what the answer rests on: the plan, every exchange, every attempt."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final, Protocol

from dayzero import __version__
from dayzero.adapters.attempt_file import Attempt, AttemptFile
from dayzero.adapters.disk import digest_of, write_whole
from dayzero.adapters.gate_endpoints import HttpEndpoints, Reach
from dayzero.adapters.gate_raw import RawFolder
from dayzero.core.errors import InputError
from dayzero.core.verdict import Undecided
from dayzero.gates import record
from dayzero.gates.exchange import Side
from dayzero.gates.model import Arm, DistributionPlan, Judged
from dayzero.gates.ports import LogprobDialect
from dayzero.gates.prompts import Layout
from dayzero.gates.run import Wanted, prepare, run
from dayzero.gates.setting import Setting
from dayzero.wiring import clock
from dayzero.wiring.installed import load, named

ATTEMPTS, PLAN, GATE, RECEIPT, RAW = "attempts.jsonl", "plan.json", "gate.json", "receipt.json", "raw"

_GROUP: Final = "dayzero.logprob_dialects"
_DERIVED: Final = ("look_sizes",)


class Told(Protocol):
    """Is told what happens, as it happens."""

    def attempt(self, number: int, earlier: tuple[str, ...], folder: Path) -> None:
        """Learn which attempt this is at the pair, the verdicts before it, and its folder."""
        ...

    def fixed(self, setting: Setting) -> None:
        """Learn what was fixed, before the first capture."""
        ...

    def captures(self, look: int, prompts: int, requests: int) -> None:
        """Learn that the captures before a look begin."""
        ...

    def answered(self) -> None:
        """Learn that one more request of the captures has its answer; called from any thread."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What came of an attempt.

    Attributes:
        answer: What was judged, or why nothing could be.
        document: The answer as it was written.
        setting: What was fixed; ``None`` where it did not come to that.
        folder: The attempt's folder.
    """

    answer: Judged | Undecided
    document: Mapping[str, object]
    setting: Setting | None
    folder: Path


def logprob_dialects() -> tuple[tuple[str, LogprobDialect], ...]:
    """Load how each installed engine gives log-probabilities, in the order of their names."""
    each = partial(load, _GROUP, "logprob dialect")
    return tuple((name, each(name, LogprobDialect)) for name in sorted(named(_GROUP)))  # type: ignore[type-abstract]


def compare(  # noqa: PLR0913  (each is one thing that the caller decides)
    reaches: Mapping[Side, Reach],
    plan: DistributionPlan,
    layout: Layout,
    folder: Path,
    told: Told,
    *,
    resume: bool = False,
) -> Compared:
    """Make one attempt, or go on with the last one.

    Args:
        reaches: The endpoints: A is the reference.
        plan: What is measured; of an attempt that is resumed, its own is taken.
        layout: How long the parts of a prompt are; the same.
        folder: Where attempts at this pair are kept, each in a folder of its own.
        told: Is told what happens.
        resume: Go on with the last attempt, which was interrupted.

    Raises:
        InputError: A model has to be named, or there is nothing to resume.
        IntegrityError: The file of attempts was changed.
        RemoteError: The disk refused.
    """
    book = AttemptFile(folder / ATTEMPTS)
    pair = (_named(reaches["A"]), _named(reaches["B"]))
    before = book.attempts()
    number = _resumable(before, pair) if resume else len(before) + 1
    place = folder / f"attempt-{number:02d}"
    if resume:
        plan, layout = _asked(place / PLAN)
    same = tuple(each for each in before if each.pair == pair and each.number != number)
    told.attempt(number, tuple(each.verdict for each in same), place)
    begun = Attempt(number=number, pair=pair, verdict="", gate_sha256="")
    wanted = Wanted(plan=plan, layout=layout, sentences=_sentences(), dialects=logprob_dialects())
    with RawFolder(place / RAW) as raw:
        endpoints = HttpEndpoints(reaches, raw, told.answered)
        setting = prepare(endpoints, wanted)
        # An attempt counts from here: what the caller mistyped has been refused, and nothing was captured.
        if not resume:
            book.add("begun", begun, at=clock.now())
        answer = setting if isinstance(setting, Undecided) else _captured(setting, endpoints, place, told, number)
    found = None if isinstance(setting, Undecided) else setting
    written = record.of_answer(answer, found, number=number, earlier=[each.verdict for each in same])
    _write(place / GATE, written)
    ended = replace(begun, verdict=str(written["verdict"]), gate_sha256=digest_of(place / GATE).hex)
    book.add("ended", ended, at=clock.now())
    attempts = [(each.number, each.verdict, each.gate_sha256) for each in (*same, ended)]
    _write(place / RECEIPT, record.of_receipt(written, _digests(place), attempts, client=f"dayzero {__version__}"))
    return Compared(answer=answer, document=written, setting=found, folder=place)


def _captured(setting: Setting, endpoints: HttpEndpoints, place: Path, told: Told, number: int) -> Judged:
    _write(place / PLAN, record.of_setting(setting, number=number))
    told.fixed(setting)
    return run(setting, endpoints, told)


def _named(reach: Reach) -> str:
    return f"{reach.connection.url} {reach.model}".rstrip()


def _sentences() -> tuple[str, ...]:
    text = files("dayzero.gates").joinpath("corpus.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())


def _resumable(before: tuple[Attempt, ...], pair: tuple[str, str]) -> int:
    last = before[-1] if before else None
    if last is None or last.verdict:
        raise InputError("there is no interrupted attempt to go on with", hint="Leave --resume out.")
    if last.pair != pair:
        raise InputError(
            f"attempt {last.number}, which was interrupted, compares {' with '.join(last.pair)}",
            hint="Name the same endpoints and models, in the same order.",
        )
    return last.number


def _asked(path: Path) -> tuple[DistributionPlan, Layout]:
    """Read what an interrupted attempt had fixed."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        plan = {name: value for name, value in found["plan"].items() if name not in _DERIVED}
        layout = Layout(context=found["layout"]["context"], tail=found["layout"]["tail"])
        return DistributionPlan(**{**plan, "arms": tuple(map(Arm, plan["arms"]))}), layout
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read: {error}", hint="Begin a new attempt.") from error


def _digests(place: Path) -> list[tuple[str, str]]:
    found = (place / PLAN, place / GATE, *sorted((place / RAW).glob("*.jsonl")))
    return [(str(file.relative_to(place)), digest_of(file).hex) for file in found if file.exists()]


def _write(path: Path, content: Mapping[str, object]) -> None:
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")
