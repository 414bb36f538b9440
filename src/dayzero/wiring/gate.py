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
from dayzero.adapters.disk import write_whole
from dayzero.adapters.file_digest import digest_of
from dayzero.adapters.gate_endpoints import HttpEndpoints, Reach
from dayzero.adapters.gate_raw import RawFolder
from dayzero.core.errors import InputError
from dayzero.core.verdict import Undecided
from dayzero.evidence.model import Claim
from dayzero.gates import record
from dayzero.gates.attempts import UNENDED, Past, in_words, left, together
from dayzero.gates.exchange import Side
from dayzero.gates.model import Arm, DistributionPlan, Judged
from dayzero.gates.ports import LogprobDialect
from dayzero.gates.prompts import Layout
from dayzero.gates.report import percent
from dayzero.gates.run import Wanted, prepare, run
from dayzero.gates.setting import Setting
from dayzero.wiring import clock
from dayzero.wiring.gate_filing import Attempted, GateFiling
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
        claim: What was filed; ``None`` where nothing is.
    """

    answer: Judged | Undecided
    document: Mapping[str, object]
    setting: Setting | None
    folder: Path
    claim: Claim | None = None


def logprob_dialects() -> tuple[tuple[str, LogprobDialect], ...]:
    """Load how each installed engine gives log-probabilities, in the order of their names."""
    each = partial(load, _GROUP, "logprob dialect")
    return tuple((name, each(name, LogprobDialect)) for name in sorted(named(_GROUP)))  # type: ignore[type-abstract]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """An attempt before it is made.

    Attributes:
        number: In its folder.
        pair: What is compared.
        place: Its folder.
        name: What it is called in the ledger, ``""`` where it is filed in none.
        kept: The attempts at the pair that its folder has.
        before: Those and the ones that the ledger has.
        resumed: Whether it was begun before.
    """

    number: int
    pair: tuple[str, str]
    place: Path
    name: str
    kept: tuple[Attempt, ...]
    before: tuple[Past, ...]
    resumed: bool

    @property
    def said(self) -> tuple[str, ...]:
        """Give the verdicts before it."""
        return tuple(one.verdict for one in self.before)


def compare(  # noqa: PLR0913  (each is one thing that the caller decides)
    reaches: Mapping[Side, Reach],
    plan: DistributionPlan,
    layout: Layout,
    folder: Path,
    told: Told,
    *,
    resume: bool = False,
    filing: GateFiling | None = None,
) -> Compared:
    """Make one attempt, or go on with the last one.

    Args:
        reaches: The endpoints: A is the reference.
        plan: What is measured; of an attempt that is resumed, its own is taken. Attempts before it have spent of its alpha.
        layout: How long the parts of a prompt are; the same.
        folder: Where attempts at this pair are kept, each in a folder of its own.
        told: Is told what happens.
        resume: Go on with the last attempt, which was interrupted.
        filing: Where attempts are filed; ``None`` where they are not.

    Raises:
        InputError: A model has to be named, there is nothing to resume, or B does not run the engine of the package.
        IntegrityError: The file of attempts was changed.
        RemoteError: The disk refused.
    """
    book = AttemptFile(folder / ATTEMPTS)
    attempt = _attempt(book, (_named(reaches["A"]), _named(reaches["B"])), folder, filing, resume=resume)
    if resume:
        plan, layout = _asked(attempt.place / PLAN)
    else:
        plan = replace(plan, alpha=left(plan.alpha, attempt.before))
    told.attempt(len(attempt.before) + 1, attempt.said, attempt.place)
    wanted = Wanted(plan=plan, layout=layout, sentences=_sentences(), dialects=logprob_dialects())
    with RawFolder(attempt.place / RAW) as raw:
        endpoints = HttpEndpoints(reaches, raw, told.answered)
        setting = prepare(endpoints, wanted)
        if isinstance(setting, Setting):
            setting = _checked(setting, attempt, filing)
        # An attempt counts from here: what the caller mistyped has been refused, and nothing was captured.
        if not resume:
            book.add("begun", _event(attempt), at=clock.now())
        answer = setting if isinstance(setting, Undecided) else _captured(setting, endpoints, attempt, told, filing)
    found = setting if isinstance(setting, Setting) else None
    return _ended(book, attempt, answer, found, filing)


def _attempt(
    book: AttemptFile, pair: tuple[str, str], folder: Path, filing: GateFiling | None, *, resume: bool
) -> _Attempt:
    before = book.attempts()
    number = _resumable(before, pair) if resume else len(before) + 1
    place = folder / f"attempt-{number:02d}"
    name = filing.next_name() if filing else ""
    if resume:
        name = _begun_as(place / PLAN)
        if bool(name) is (filing is None):
            as_what = f"is filed as {name}" if name else "is not filed"
            raise InputError(
                f"attempt {number}, which was interrupted, {as_what}",
                hint="Give --package and --root just as when it was begun.",
            )
    kept = tuple(each for each in before if each.pair == pair and each.number != number)
    own = tuple(
        Past(
            verdict=each.verdict,
            captured=(folder / f"attempt-{each.number:02d}" / PLAN).exists(),
            answer=each.gate_sha256,
        )
        for each in kept
    )
    filed = filing.before(name) if filing else ()
    return _Attempt(
        number=number, pair=pair, place=place, name=name, kept=kept, before=together(filed, own), resumed=resume
    )


def _checked(setting: Setting, attempt: _Attempt, filing: GateFiling | None) -> Setting:
    """Hold B to the engine of the package, and say what attempts before this one have spent."""
    if filing:
        filing.require_engine(setting.seen["B"].engine)
    if not attempt.before:
        return setting
    return replace(setting, notes=(*setting.notes, in_words(attempt.before, setting.plan.alpha)))


def _captured(
    setting: Setting, endpoints: HttpEndpoints, attempt: _Attempt, told: Told, filing: GateFiling | None
) -> Judged:
    if not attempt.resumed:
        _write(attempt.place / PLAN, record.of_setting(setting, number=attempt.number, filed_as=attempt.name))
    if filing:
        filing.begin(attempt.name, attempt.place / PLAN)
    told.fixed(setting)
    return run(setting, endpoints, told)


def _ended(
    book: AttemptFile,
    attempt: _Attempt,
    answer: Judged | Undecided,
    setting: Setting | None,
    filing: GateFiling | None,
) -> Compared:
    """Write the answer, the end of the attempt and the receipt, and file them."""
    place = attempt.place
    written = record.of_answer(answer, setting, number=attempt.number, earlier=attempt.said, filed_as=attempt.name)
    _write(place / GATE, written)
    event = replace(_event(attempt), verdict=str(written["verdict"]), gate_sha256=digest_of(place / GATE).hex)
    book.add("ended", event, at=clock.now())
    attempts = [(each.number, each.verdict, each.gate_sha256) for each in (*attempt.kept, event)]
    _write(place / RECEIPT, record.of_receipt(written, _digests(place), attempts, client=f"dayzero {__version__}"))
    claim = None
    if filing:
        captured = {str(file.relative_to(place)): file for file in (place / PLAN, *_raw(place)) if file.exists()}
        claim = filing.end(
            Attempted(
                name=attempt.name,
                result=place / GATE,
                bound=(place / RECEIPT, place.parent / ATTEMPTS),
                captured=captured,
                label=_label(answer, setting, attempt),
            )
        )
    return Compared(answer=answer, document=written, setting=setting, folder=place, claim=claim)


def _label(answer: Judged | Undecided, setting: Setting | None, attempt: _Attempt) -> str:
    if isinstance(answer, Undecided):
        before = ", ".join(verdict or UNENDED for verdict in attempt.said)
        return f"nothing could be compared: {answer.reason}{f'; before it: {before}' if before else ''}"
    against = _reference(setting) if setting else "A"
    plan = answer.plan
    margins = f"margins {plan.margin_nat:g} nat and {percent(plan.margin_flip)} of places"
    return f"against {against}, {margins}; {in_words(attempt.before, plan.alpha)}"


def _reference(setting: Setting) -> str:
    a = setting.seen["A"]
    return " ".join(part for part in (a.model, "on", a.engine or "an unknown engine", a.build) if part)


def _event(attempt: _Attempt) -> Attempt:
    return Attempt(number=attempt.number, pair=attempt.pair, verdict="", gate_sha256="")


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


def _begun_as(path: Path) -> str:
    """Say under which name an interrupted attempt is filed, ``""`` where it is not; it may not have come to a plan."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8")).get("filed_as") or "")
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"{path} cannot be read: {error}", hint="Begin a new attempt.") from error


def _raw(place: Path) -> list[Path]:
    return sorted((place / RAW).glob("*.jsonl"))


def _digests(place: Path) -> list[tuple[str, str]]:
    found = (place / PLAN, place / GATE, *_raw(place))
    return [(str(file.relative_to(place)), digest_of(file).hex) for file in found if file.exists()]


def _write(path: Path, content: Mapping[str, object]) -> None:
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")
