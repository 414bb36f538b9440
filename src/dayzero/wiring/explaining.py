"""File an explanation with the raw files of its trials."""

from pathlib import Path

from dayzero.adapters.explanation_file import read_explanation
from dayzero.core.errors import InputError
from dayzero.evidence.claims import Capture, file_raw
from dayzero.evidence.ledger import Filed, Ledger
from dayzero.evidence.model import Explanation, RawFile, Record
from dayzero.evidence.state import Missing, Standing
from dayzero.wiring import clock
from dayzero.wiring.store import Repository, open_repository


def file_explanation(root: Path, file: Path, *, command: str) -> tuple[Explanation, Filed]:
    """Keep the raw files that an explanation's trials rest on, and append it; an equal one that stands is not appended again.

    Args:
        root: The repository.
        file: The explanation, as a person wrote it.
        command: What produced the raw files that are filed now.

    Raises:
        InputError: It is not valid, or names a fact that was never claimed; nothing is appended.
        EvidenceError: A place that a trial names is not in its raw file.
        RemoteError: The disk refused.
    """
    repository = open_repository(root)
    explanation, files = read_explanation(file)
    _need_facts(repository.ledger, explanation)
    raw = tuple(_raw_file(repository, path, command) for path in files)
    return explanation, repository.file(lambda ledger: _records(ledger, raw, explanation))


def _need_facts(ledger: Ledger, explanation: Explanation) -> None:
    unknown = [fact for fact in explanation.facts if isinstance(ledger.standing(fact), Missing)]
    if unknown:
        raise InputError(
            f"{explanation.slug} explains what was never claimed: {', '.join(unknown)}",
            hint="Publish the facts first, with 'dayzero evidence claim'.",
        )


def _records(ledger: Ledger, raw: tuple[RawFile, ...], explanation: Explanation) -> tuple[Record, ...]:
    _need_facts(ledger, explanation)
    state = ledger.standing(explanation.slug)
    if isinstance(state, Standing) and state.claim == explanation:
        return ()
    recorded = ledger.raw_files()
    new = {each.sha256: each for each in raw if each.sha256 not in recorded}
    return (*new.values(), explanation)


def _raw_file(repository: Repository, path: Path, command: str) -> RawFile:
    root, file = repository.root.resolve(), path.resolve()
    name = file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name
    captured = clock.written_at(file)
    return file_raw(repository.raw, file.read_bytes(), Capture(name=name, captured_at=captured, command=command))
