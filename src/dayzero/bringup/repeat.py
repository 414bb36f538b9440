"""Start one build again and again at one condition, and keep how each start ended: what a failure rate rests on."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dayzero.bringup.model import Captured
from dayzero.bringup.ports import Workbench
from dayzero.bringup.record import start_fields
from dayzero.core.errors import InputError
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.evidence.claims import Capture, Draft, file_raw, make_claim
from dayzero.evidence.exact import Rate, rate
from dayzero.evidence.locator import PointerLocator
from dayzero.evidence.model import Extraction, RawFile, Record
from dayzero.evidence.ports import Extractors, RawStore
from dayzero.evidence.subject import recipe_digest
from dayzero.serve.model import Healthy, Start

SCHEMA = "dayzero/starts/v1"
NAME = "starts.json"
FAILURES, ATTEMPTS = "start-failures", "start-attempts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One start.

    Attributes:
        number: Which, from 1.
        start: How it ended.
        log: What the engine wrote until then, paths neutralised; it can be empty.
        record: The start as it is filed, schema ``dayzero/start/v1``.
    """

    number: int
    start: Start
    log: Captured
    record: Captured

    @property
    def failed(self) -> bool:
        """True where the engine did not become healthy within its budget."""
        return not isinstance(self.start, Healthy)


def repeat_starts(
    package: Package,
    bench: Workbench,
    count: int,
    *,
    on_wait: Callable[[int, float, str], None],
    on_attempt: Callable[[Attempt], None],
) -> tuple[Attempt, ...]:
    """Start a package's engine ``count`` times, each time until it is healthy or dead, and stop it.

    Nothing is changed between the starts, and none is left out or tried again: how one ended says nothing about whether it
    counts. What keeps an engine from being started at all (a port that is taken) is an error, for it is no trial.

    Args:
        package: Whose recipe is started.
        bench: The laboratory.
        count: How many starts.
        on_wait: Told the number of the start, its seconds and the newest line of its log.
        on_attempt: Told each start when its engine has been stopped, so that it is kept whatever comes after.

    Raises:
        InputError: ``count`` is less than one.
        RemoteError: The engine could not be started; the starts before were told.
    """
    need_count(count)
    attempts = []
    for number in range(1, count + 1):
        attempt = _attempt(package, bench, number, on_wait)
        on_attempt(attempt)
        attempts.append(attempt)
    return tuple(attempts)


def need_count(count: int) -> None:
    """Refuse to start nothing.

    Raises:
        InputError: ``count`` is less than one.
    """
    if count < 1:
        raise InputError(f"a package cannot be started {count} times", hint="Give a count of 1 or more.")


def failure_rate(attempts: Sequence[Attempt]) -> Rate:
    """Give how many starts failed, with the exact interval of the true rate."""
    return rate(sum(attempt.failed for attempt in attempts), len(attempts))


def attempt_records(attempt: Attempt, store: RawStore, *, captured_at: str) -> tuple[RawFile, ...]:
    """Keep the record and the log of one start; an engine that wrote nothing leaves no log.

    Args:
        attempt: The start.
        store: Keeps the files.
        captured_at: UTC, RFC 3339, to the second.
    """
    files = [file for file in (attempt.record, attempt.log) if file.content]
    return tuple(file_raw(store, file.content, _capture(file, captured_at)) for file in files)


def starts_records(
    package: Package, summary: Captured, store: RawStore, extractors: Extractors, *, captured_at: str
) -> tuple[Record, ...]:
    """Keep the summary of all starts, and claim from it how many there were and how many failed.

    Args:
        package: What was started; the claims are about its recipe.
        summary: As :func:`starts_summary` writes it.
        store: Keeps the file.
        extractors: The installed extractors.
        captured_at: UTC, RFC 3339, to the second.
    """
    raw = file_raw(store, summary.content, _capture(summary, captured_at))
    return (raw, *(make_claim(summary.content, draft, extractors) for draft in _drafts(package)))


def starts_summary(package: Package, attempts: Sequence[Attempt], environment: tuple[tuple[str, str], ...]) -> Captured:
    """Write how all starts ended, each with the digests of its record and its log.

    Args:
        package: What was started.
        attempts: Every start, in order.
        environment: The machine, as ordered (name, value) pairs.
    """
    document = {
        "schema": SCHEMA,
        "package": package.name,
        "version": package.version,
        "build": str(package.recipe.engine),
        "recipe": recipe_digest(package.recipe).hex,
        "attempts": len(attempts),
        "failures": sum(attempt.failed for attempt in attempts),
        "starts": [_told(attempt) for attempt in attempts],
        "environment": dict(environment),
    }
    return Captured(name=NAME, content=_json(document), command=_command(package, len(attempts)))


def _attempt(package: Package, bench: Workbench, number: int, on_wait: Callable[[int, float, str], None]) -> Attempt:
    recipe = package.recipe
    with bench.start(recipe, recipe.engine, f"start-{number}.log") as session:
        start = session.wait(lambda seconds, line: on_wait(number, seconds, line))
        log = session.log()
    document = {
        "schema": "dayzero/start/v1",
        "build": str(recipe.engine),
        "model": recipe.model.name,
        "attempt": number,
        **start_fields(start),
        "log": _digest(log),
    }
    record = Captured(name=f"start-{number}.json", content=_json(document), command=log.command)
    return Attempt(number=number, start=start, log=log, record=record)


def _told(attempt: Attempt) -> Mapping[str, object]:
    return {
        "attempt": attempt.number,
        **start_fields(attempt.start),
        "record": Sha256.of(attempt.record.content).hex,
        "log": _digest(attempt.log),
    }


def _drafts(package: Package) -> Iterator[Draft]:
    said = (
        (FAILURES, "starts that did not become healthy, at one condition", "/failures"),
        (ATTEMPTS, "starts at one condition", "/attempts"),
    )
    for name, label, pointer in said:
        yield Draft(
            slug=f"{package.name}/{name}",
            label=label,
            unit="",
            locator=PointerLocator(pointer=pointer),
            extraction=Extraction(extractor="json-value@1", parameters=()),
            subject=recipe_digest(package.recipe),
        )


def _capture(file: Captured, captured_at: str) -> Capture:
    return Capture(name=file.name, captured_at=captured_at, command=file.command)


def _digest(file: Captured) -> str:
    return Sha256.of(file.content).hex if file.content else ""


def _command(package: Package, count: int) -> str:
    return f"dayzero bench {package.name} --repeat-start {count}"


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"
