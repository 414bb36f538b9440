"""Gather what an audit is about: the engine, its libraries, the model, the GPUs; from files, the index or a URL."""

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from dayzero.adapters.artifact_index import IndexStore
from dayzero.adapters.artifact_open import open_given, with_metadata
from dayzero.adapters.artifact_pack import PackedFiles
from dayzero.adapters.artifact_range import open_url
from dayzero.adapters.given_builds import InstalledFiles
from dayzero.adapters.hub_config import HubConfigs, HubName, hub_name
from dayzero.adapters.survey_file import SurveyFolder
from dayzero.adapters.survey_fork import ForkedSurvey
from dayzero.audit.architectures import ModelRegistry, architectures_of
from dayzero.audit.finding import NotChecked
from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.known_walls import with_advisories
from dayzero.audit.model import FactTable
from dayzero.audit.python.study import survey
from dayzero.audit.report import Audited, audited
from dayzero.audit.requirements import asked_by
from dayzero.audit.rules import Rule, Subject
from dayzero.core.accelerators import accelerator
from dayzero.core.errors import DayzeroError, InputError, IntegrityError
from dayzero.core.hardware import System, parse_system
from dayzero.wiring.collector import uncollected
from dayzero.wiring.definitions import advisories
from dayzero.wiring.installed import load, named
from dayzero.wiring.settings import cache_folder, hub_endpoint, hub_offline, hub_token, python_executable

RULES, REGISTRIES = "dayzero.audit_rules", "dayzero.model_registries"
ENGINES = ("vllm", "sglang")
# Libraries whose own code engines call at the exact version that they pin, and which rules read.
_LIBRARIES = ("flashinfer-python", "lm-format-enforcer")
_FALLBACK = "transformers"
_OF_PYTHON = re.compile(r"lib/python3\.(\d+)(?=/|$)")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*[=<>!~]=?.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked on the command line.

    Attributes:
        target: The model's ``config.json``, its folder or its name on the hub, or ``""``.
        engine: ``NAME==VERSION``, a path or a URL; ``""`` takes it from ``freeze``.
        beside: What is installed beside it, each as ``engine``.
        system: ``8xb300``, or ``""``.
        freeze: Output of ``pip freeze``.
        cubins: Folder of kernel binaries.
        flags: Words of the engine's command line.
        env: Environment variables.
        offline: Whether the index must not be asked.
    """

    target: str = ""
    engine: str = ""
    beside: tuple[str, ...] = ()
    system: str = ""
    freeze: Path | None = None
    cubins: Path | None = None
    flags: tuple[str, ...] = ()
    env: Mapping[str, str]
    offline: bool = False


@dataclass(frozen=True, slots=True)
class NoFiles:
    """A distribution of which only the version is known. Implements ``audit.ports.BuildFiles``."""

    artifact: str

    def names(self) -> tuple[str, ...]:
        """List nothing."""
        return ()

    def read(self, name: str) -> bytes:
        """Refuse.

        Raises:
            InputError: Always.
        """
        raise InputError(f"of {self.artifact} only the version is known", hint=f"Add its files, not {name} alone.")


def rules() -> tuple[Rule, ...]:
    """Load every installed rule, in the order of their ids."""
    return tuple(load(RULES, "audit rule", name, Rule) for name in sorted(named(RULES)))  # type: ignore[type-abstract]


def index(*, offline: bool) -> IndexStore:
    """Open the store of what was fetched from the package index."""
    return IndexStore(cache_folder(), python_executable(), offline=offline)


def model_of(target: str, *, offline: bool = False) -> Mapping[str, object]:
    """Read a model's ``config.json``, from this disk or from the hub.

    Args:
        target: The file, its folder, or ``owner/name[@revision]`` on the hub.
        offline: Whether the hub must not be asked.

    Raises:
        InputError: It is not there, or is no JSON object.
        RemoteError: The hub did not answer, or may not be asked.
    """
    path = Path(target)
    file = path / "config.json" if path.is_dir() else path
    name = on_hub(target)
    try:
        content = _hub(offline=offline).fetch(name) if name is not None else file.read_bytes()
        found = json.loads(content)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{name or file} cannot be read: {error}", hint="Give the model's config.json or its folder."
        ) from error
    if not isinstance(found, dict):
        raise InputError(
            f"{name or file} is no model configuration", hint="Give the model's config.json or its folder."
        )
    return found


def on_hub(target: str) -> HubName | None:
    """Read a model's name on the hub; ``None`` for what lies on this disk."""
    return None if Path(target).exists() or target.endswith(".json") else hub_name(target)


def _hub(*, offline: bool) -> HubConfigs:
    return HubConfigs(cache_folder() / "models", hub_endpoint(), token=hub_token(), offline=offline or hub_offline())


def answered(question: Question, progress: Callable[[str], None]) -> tuple[Audited, Subject, tuple[Rule, ...]]:
    """Gather what was asked about, and put every installed rule to it.

    Args:
        question: What was asked.
        progress: Told what is being done.

    Returns:
        The answer, what it is about, and the rules.

    Raises:
        InputError: Something that was named is not there or cannot be used.
        RemoteError: The index or a server did not deliver something that was named.
        IntegrityError: A wheel holds another file than it lists.
    """
    with uncollected():
        subject, missing = subject_of(question, progress)
        progress("asking the rules")
        asked = rules()
        return put_to(asked, subject, missing), subject, asked


def put_to(asked: Sequence[Rule], subject: Subject, missing: Iterable[NotChecked]) -> Audited:
    """Put rules to a subject, and name what they find where it is a known wall.

    Raises:
        IntegrityError: A file is not the one that its wheel lists.
    """
    return with_advisories(audited(asked, subject, missing), subject.installed, advisories())


def subject_of(question: Question, progress: Callable[[str], None]) -> tuple[Subject, tuple[NotChecked, ...]]:
    """Gather what the rules are asked about, and say what was missing.

    Args:
        question: What was asked.
        progress: Told what is being read.

    Raises:
        InputError: Something that was named is not there or cannot be used.
        RemoteError: The index or a server did not deliver something that was named.
        IntegrityError: A wheel holds another file than it lists.
    """
    model = model_of(question.target, offline=question.offline) if question.target else None
    builds = Builds(question, progress)
    subject = builds.subject(model, parse_system(question.system) if question.system else None, question.flags)
    return subject, builds.missing


class Builds:
    """The engine of a question and what is installed beside it, read once for any number of models, GPUs and flags.

    Args:
        question: What is installed; its model, GPUs and flags are not looked at.
        progress: Told what is being read.

    Raises:
        InputError: Something that was named is not there or cannot be used.
    """

    def __init__(self, question: Question, progress: Callable[[str], None]) -> None:
        self._question = question
        self._store = index(offline=question.offline)
        self._frozen = _frozen(question.freeze) if question.freeze else {}
        self._cubins = InstalledFiles(question.cubins) if question.cubins else None
        self._progress = progress
        self._surveys = SurveyFolder(cache_folder() / "surveys", _surveyor(), progress)
        self._missing: list[NotChecked] = []
        self._fetched = False
        self._installed: dict[bool, Installed] = {}

    @property
    def missing(self) -> tuple[NotChecked, ...]:
        """Say what could not be read."""
        return tuple(self._missing)

    def subject(
        self,
        model: Mapping[str, object] | None,
        system: System | None,
        flags: tuple[str, ...],
        env: Mapping[str, str] | None = None,
    ) -> Subject:
        """Put a model, GPUs, flags and an environment to them.

        Args:
            model: The model's ``config.json``.
            system: The GPUs.
            flags: Words of the engine's command line.
            env: Environment variables; those of the question where they are not given.

        Raises:
            InputError: Something that was named is not there or cannot be used.
            RemoteError: The index or a server did not deliver something that was named.
            IntegrityError: A wheel holds another file than it lists.
        """
        installed = self._surveyed(self._for(model))
        return Subject(
            installed=installed,
            engine=installed.engine.name,
            model=model,
            system=system,
            capability=accelerator(system.accelerator).compute_capability if system and system.accelerator else None,
            flags=flags,
            env=self._question.env if env is None else env,
            cubins=self._cubins,
        )

    def _for(self, model: Mapping[str, object] | None) -> Installed:
        """Gather the engine, what was named beside it, what it pins and what is frozen; what may know the model where it must."""
        if False not in self._installed:
            engine, others = self._named(self._question)
            others |= self._pinned(engine, others)
            self._installed[False] = self._with_frozen(engine, others)
        plain = self._installed[False]
        held = plain.find(_FALLBACK)
        if model is None or (held is not None and held.files.names()) or known_by_itself(plain.engine, model):
            return plain
        if True not in self._installed:
            others = {one.name: one for one in plain.others} | self._transformers(plain.engine)
            self._installed[True] = replace(plain, others=tuple(others.values()))
        return self._installed[True]

    def _surveyed(self, installed: Installed) -> Installed:
        """Survey at once where something was fetched just now: then its first audit has no more to do than a later one."""
        if self._fetched:
            self._fetched = False
            self._progress("surveying what was fetched")
            alone = replace(installed, aside=None)  # two at once beside this process would hold too much
            ForkedSurvey().ahead(partial(survey, alone))
        return installed

    def _with_frozen(self, engine: Distribution, others: dict[str, Distribution]) -> Installed:
        for name, version in self._frozen.items():
            if name not in others and name != engine.name:
                files = NoFiles(f"{name} {version}")
                others[name] = Distribution(name=name, version=version, requires=(), files=files)
        runs = next(filter(None, map(_python_of, (self._question.engine, *self._question.beside))), "")
        beside = tuple(others.values())
        return Installed(engine=engine, others=beside, runs=runs, surveys=self._surveys, aside=ForkedSurvey())

    def _named(self, question: Question) -> tuple[Distribution, dict[str, Distribution]]:
        frozen = (f"{one}=={self._frozen[one]}" for one in ENGINES if one in self._frozen)
        spec = question.engine or next(frozen, "")
        if not spec:
            raise InputError("neither a package nor an engine (--engine) is given", hint="Try 'dayzero audit --help'.")
        found = self._open(spec)
        engine = next((one for name in ENGINES for one in found if one.name == name), found[0])
        others = {one.name: one for one in found}
        for beside in question.beside:
            others |= {one.name: one for one in self._open(beside)}
        return engine, {name: one for name, one in others.items() if name != engine.name}

    def _open(self, spec: str) -> Sequence[Distribution]:
        self._progress(f"reading {spec}")
        if spec.startswith(("http://", "https://")):
            return (open_url(spec)[0],)
        if _REQUIREMENT.fullmatch(spec) and not Path(spec).exists():
            try:
                requirement = Requirement(spec)
            except InvalidRequirement as error:
                raise InputError(f"{spec}: {error}", hint="Write NAME==VERSION.") from error
            kept = self._store.fetch(requirement)
            self._fetched = self._fetched or kept.fetched
            return (with_metadata(PackedFiles(f"{kept.name} {kept.version}", kept.pack)),)
        return open_given(Path(spec), self._store.packs)

    def _pinned(self, engine: Distribution, given: Mapping[str, Distribution]) -> dict[str, Distribution]:
        """Read the libraries that the engine pins to one version, in the version that is installed where that is known."""
        found: dict[str, Distribution] = {}
        for asked in asked_by(engine):
            version = self._frozen.get(asked.name) or asked.exact
            if asked.name in _LIBRARIES and asked.name not in {*given, *found} and version:
                found |= self._tried(f"{asked.name}=={version}")
        return found

    def _transformers(self, engine: Distribution) -> dict[str, Distribution]:
        """Read the library that may know what the engine does not, in the version that pip would install."""
        asked = next((one for one in asked_by(engine) if one.name == _FALLBACK), None)
        if asked is None:
            return {}
        version = self._frozen.get(_FALLBACK)
        return self._tried(f"{_FALLBACK}{f'=={version}' if version else asked.requirement.specifier}")

    def _tried(self, spec: str) -> dict[str, Distribution]:
        try:
            return {one.name: one for one in self._open(spec)}
        except IntegrityError:
            raise
        except DayzeroError as error:
            self._missing.append(NotChecked(what=f"whether the engine and {spec} agree", why=error.message))
            return {}


def _python_of(given: str) -> str:
    """Name the Python of an environment that is given (``cp312``); ``""`` for what is none."""
    folder = Path(given).resolve() if given and Path(given).is_dir() else None
    below = [str(one.relative_to(folder)) for one in folder.glob("lib/python3*")] if folder else []
    found = (_OF_PYTHON.search(one) for one in (str(folder or ""), *sorted(below)))
    return next((f"cp3{one[1]}" for one in found if one), "")


@cache
def _surveyor() -> str:
    """Digest the code that surveys, with the Python that parses for it: what another one found is not believed."""
    digest = hashlib.sha256(sys.version.encode())
    waiting = [files("dayzero.audit")]
    while waiting:
        for one in sorted(waiting.pop().iterdir(), key=lambda entry: entry.name):
            if one.is_dir():
                waiting.append(one)
            elif one.name.endswith((".py", ".toml")):
                digest.update(one.read_bytes())
    return digest.hexdigest()


def registry(engine: str) -> ModelRegistry | None:
    """Load the reader of an engine's architectures, ``None`` where there is none."""
    if engine not in named(REGISTRIES):
        return None
    return load(REGISTRIES, "model registry", engine, ModelRegistry)  # type: ignore[type-abstract]


def known_by_itself(engine: Distribution, model: Mapping[str, object]) -> bool:
    """Say whether an engine knows a model without the Transformers library, as far as its files say."""
    reader = registry(engine.name)
    if reader is None:
        return True
    table = reader.read_architectures(engine.files)
    return isinstance(table, FactTable) and any(table.find(name) for name in architectures_of(model))


def _frozen(file: Path) -> dict[str, str]:
    """Read the versions in the output of ``pip freeze``; what has no version there is left out."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint="Give the output of pip freeze.") from error
    found: dict[str, str] = {}
    for line in lines:
        name, equals, version = line.split(";", 1)[0].partition("==")
        if equals and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[^]]*\])?", name.strip()):
            found[canonicalize_name(name.split("[", 1)[0].strip())] = version.strip()
    if not found:
        raise InputError(f"{file} names no installed version", hint="Give the output of pip freeze.")
    return found
