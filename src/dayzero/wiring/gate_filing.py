"""File the attempts of a gate at a package: each when its captures begin, and again with its verdict when it ends."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dayzero.core.errors import InputError
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.evidence.claims import Capture, Draft, file_raw, make_claim
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.locator import PointerLocator
from dayzero.evidence.model import Claim, Extraction, RawFile, Record
from dayzero.evidence.state import Standing, Withheld
from dayzero.evidence.subject import recipe_digest
from dayzero.gates.attempts import Past
from dayzero.wiring import clock
from dayzero.wiring.plugins import extractors
from dayzero.wiring.store import Repository, open_repository

_PLAN: Final = "plan.json"
_RECIPE: Final = 12
_VERDICT: Final = PointerLocator(pointer="/verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """An attempt as its files lie on disk.

    Attributes:
        name: What it is called in the ledger: the names of its raw files begin with it.
        result: The file that holds the verdict, at ``/verdict``.
        bound: The files that state it besides; they are filed at the same moment as the result, and travel in a kit with it.
        captured: The files that it rests on, each as it was captured.
        label: What the verdict is, in words.
    """

    name: str
    result: Path
    bound: tuple[Path, ...]
    captured: Mapping[str, Path]
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFiling:
    """Where the attempts of one gate at one package are filed.

    Attributes:
        root: The repository whose ledger takes them.
        package: The package; attempts at another recipe are others.
        gate: The handle of the claim under the package's name (``gate-task``).
        command: What is run, without what is said of one machine alone.
    """

    root: Path
    package: Package
    gate: str
    command: str

    @property
    def slug(self) -> str:
        """Name the claim."""
        return f"{self.package.name}/{self.gate}"

    def require_engine(self, engine: str) -> None:
        """Hold the engine that answers to the package's.

        Args:
            engine: As it was recognised; ``""`` where it was not, which shows nothing.

        Raises:
            InputError: It is another.
        """
        own = self.package.recipe.engine.engine
        if engine and engine != own:
            raise InputError(
                f"B is {engine}, and {self.package.name} runs {own}",
                hint="Give the package's own endpoint as B, or leave out --package.",
            )

    def next_name(self) -> str:
        """Name the attempt after the last one that was filed."""
        numbers = [int(name.rpartition("-")[2]) for name in self._names(open_repository(self.root).ledger)]
        return f"{self._prefix}attempt-{max(numbers, default=0) + 1:02d}"

    def before(self, name: str) -> tuple[Past, ...]:
        """Give every attempt at this recipe that was filed before the one of this name, in order."""
        ledger = open_repository(self.root).ledger
        answers = self._answers(ledger)
        found = []
        for each, files in self._names(ledger).items():
            if each == name:
                break
            verdict, answer = answers.get(each, ("", ""))
            found.append(Past(verdict=verdict, captured=_PLAN in files, answer=answer))
        return tuple(found)

    def begin(self, name: str, plan: Path) -> None:
        """File the plan of an attempt, before its first capture: from now on it counts, whether it ends or not.

        Raises:
            RemoteError: The disk refused.
        """
        repository = open_repository(self.root)
        raw = self._raw(repository, f"{name}/{_PLAN}", plan, clock.written_at(plan))
        repository.file(lambda ledger: _new(ledger, (raw,)))

    def end(self, attempted: Attempted) -> Claim:
        """File what an attempt rests on, and claim its verdict, whatever it is.

        Raises:
            EvidenceError: The result holds no verdict.
            RemoteError: The disk refused.
        """
        repository, now = open_repository(self.root), clock.now()
        captured = [
            self._raw(repository, f"{attempted.name}/{path}", file, clock.written_at(file))
            for path, file in attempted.captured.items()
            if file.stat().st_size
        ]
        stated = [
            self._raw(repository, f"{attempted.name}/{file.name}", file, now)
            for file in (attempted.result, *attempted.bound)
        ]
        claim = self._claim(attempted.result, attempted.label)
        repository.file(lambda ledger: (*_new(ledger, (*captured, *stated)), claim))
        return claim

    def skip(self, result: Path, reason: str) -> Claim:
        """Claim that the gate was not run.

        Raises:
            InputError: An attempt at this recipe was filed: what was run is not skipped.
        """
        repository = open_repository(self.root)
        if self._names(repository.ledger):
            raise InputError(
                f"an attempt of {self.gate} at this recipe of {self.package.name} is in the ledger",
                hint="What it said stands; a gate that was run is not skipped.",
            )
        raw = self._raw(repository, f"{self._prefix}skipped/{result.name}", result, clock.now())
        claim = self._claim(result, reason)
        state = repository.ledger.standing(self.slug)
        said = isinstance(state, Standing) and state.claim == claim
        repository.file(lambda ledger: () if said else (*_new(ledger, (raw,)), claim))
        return claim

    @property
    def _recipe(self) -> Sha256:
        return recipe_digest(self.package.recipe)

    @property
    def _prefix(self) -> str:
        return f"{self.slug}/{self._recipe.hex[:_RECIPE]}/"

    def _names(self, ledger: Ledger) -> Mapping[str, frozenset[str]]:
        """List the attempts in the order in which they were filed, each with the names of its files."""
        found: dict[str, set[str]] = {}
        start = f"{self._prefix}attempt-"
        for record in ledger.raw_files().values():
            if record.name.startswith(start):
                number, _, file = record.name.removeprefix(start).partition("/")
                found.setdefault(f"{start}{number}", set()).add(file)
        return {name: frozenset(files) for name, files in found.items()}

    def _answers(self, ledger: Ledger) -> Mapping[str, tuple[str, str]]:
        """Give the verdict of each attempt, and the digest of its answer, also of those that a later one took the place of."""
        records = ledger.raw_files()
        states = [state for state in ledger.history(self.slug) if not isinstance(state, Withheld)]
        claims = [state.claim for state in states if isinstance(state.claim, Claim)]
        return {
            records[claim.raw].name.rpartition("/")[0]: (claim.value, claim.raw.hex)
            for claim in claims
            if claim.raw in records and claim.subject == self._recipe
        }

    def _raw(self, repository: Repository, name: str, file: Path, captured_at: str) -> RawFile:
        return file_raw(
            repository.raw, file.read_bytes(), Capture(name=name, captured_at=captured_at, command=self.command)
        )

    def _claim(self, result: Path, label: str) -> Claim:
        draft = Draft(
            slug=self.slug,
            label=" ".join(label.split()),
            unit="",
            locator=_VERDICT,
            extraction=Extraction(extractor="json-value@1", parameters=()),
            subject=self._recipe,
        )
        return make_claim(result.read_bytes(), draft, extractors())


def _new(ledger: Ledger, files: Iterable[RawFile]) -> tuple[Record, ...]:
    """Leave out what is recorded already."""
    known = ledger.raw_files()
    return tuple({one.sha256: one for one in files if one.sha256 not in known}.values())
