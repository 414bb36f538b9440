"""Audit every launch that the files of a folder describe; the files of one release are read once for all of them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dayzero.adapters.package_files import load_package
from dayzero.adapters.recipe_folder import UnreadFile, recipe_files
from dayzero.audit.finding import NotChecked
from dayzero.audit.folder import LEFT_OPEN, Answered, FolderAudit
from dayzero.audit.recipes.model import Launch, NoRecipe, Release, UnknownCode, Unstated, Word
from dayzero.audit.recipes.read import read
from dayzero.audit.report import Audited
from dayzero.audit.rules import Rule, Subject
from dayzero.core.errors import DayzeroError, InputError, RemoteError
from dayzero.core.hardware import System, parse_system
from dayzero.core.pins import HubRevision
from dayzero.core.verdict import Undecided
from dayzero.wiring.audit import ENGINES, Builds, Question, model_of, on_hub, put_to, rules
from dayzero.wiring.collector import uncollected

_PACKAGE = "package.toml"


@dataclass(frozen=True, slots=True, eq=False)
class _Described:
    """A launch, the file that describes it, and the configuration of its model or why there is none."""

    file: str
    launch: Launch
    model: Mapping[str, object] | None
    missing: str


def audit_folder(folder: Path, question: Question, progress: Callable[[str], None]) -> FolderAudit:
    """Audit a folder.

    Args:
        folder: The folder.
        question: Of it, ``engine`` stands for what files name no release of, ``system`` for the GPUs where they name none,
            ``target`` is a folder of models (``OWNER/NAME/config.json``), the rest as for one audit.
        progress: Told what is being done.

    Raises:
        InputError: The folder is not there, or something that was named cannot be used.
        IntegrityError: A wheel holds another file than it lists.
    """
    models = _Models(folder, question)
    described: list[_Described] = []
    unread: list[tuple[str, str]] = []
    for one in recipe_files(folder):
        if isinstance(one, UnreadFile):
            unread.append((one.path, one.why))
            continue
        found = _package(folder / one.path) if one.path.rsplit("/", 1)[-1] == _PACKAGE else read(one.path, one.text)
        if isinstance(found, NoRecipe):
            unread.append((one.path, found.why))
        else:
            described += [_with_model(one.path, _settled(launch, question), models, progress) for launch in found]
    asked = rules()
    answers: dict[_Described, Answered] = {}
    for release in sorted({str(one.launch.code) for one in described if isinstance(one.launch.code, Release)}):
        with uncollected(one_of_many=True):
            answers |= _of_release(release, described, question, asked, progress)
    unknown = {one: _unknown(one) for one in described if not isinstance(one.launch.code, Release)}
    return FolderAudit(
        answers=tuple({**answers, **unknown}[one] for one in described), unread=tuple(unread), rules=asked
    )


class _Models:
    """Configurations of models, each looked up once; a hub that does not answer is not asked again.

    Args:
        folder: The recipes' folder, in which a model may lie, too.
        question: Names a folder of models, and whether a hub may be asked.
    """

    def __init__(self, folder: Path, question: Question) -> None:
        self._places = (*([Path(question.target)] if question.target else []), folder)
        self._offline = question.offline
        self._silent = ""
        self._known: dict[str, tuple[Mapping[str, object] | None, str]] = {}

    def of(self, name: str, progress: Callable[[str], None]) -> tuple[Mapping[str, object] | None, str]:
        """Give a model's configuration, or say why there is none."""
        if name not in self._known:
            self._known[name] = self._look_up(name, progress)
        return self._known[name]

    def _look_up(self, name: str, progress: Callable[[str], None]) -> tuple[Mapping[str, object] | None, str]:
        if not name:
            return None, "it names no model"
        plain = name.partition("@")[0].lstrip("/")
        lying = next((one for place in self._places if (one := place / plain / "config.json").is_file()), None)
        if lying is None and on_hub(name) is None:
            return None, f"the config.json of {name} is not here"
        try:
            progress(f"reading the config.json of {name}")
            return model_of(str(lying or name), offline=self._offline or bool(self._silent)), ""
        except RemoteError as error:
            self._silent = self._silent or error.message
            return None, self._silent if not self._offline else error.message
        except InputError as error:
            return None, error.message


def _package(file: Path) -> tuple[Launch, ...] | NoRecipe:
    try:
        package = load_package(file)
    except DayzeroError as error:
        return NoRecipe(error.message)
    recipe = package.recipe
    engine, origin = recipe.engine, recipe.model.origin
    line = next((n for n, text in enumerate(file.read_text(encoding="utf-8").split("\n"), 1) if "flags" in text), 1)
    known = engine.engine in ENGINES and not engine.source
    return (
        Launch(
            line=line,
            name=package.name,
            code=Release(engine.distribution, engine.version)
            if known
            else UnknownCode(_elsewhere(engine.source, file)),
            model=f"{origin.repository}@{origin.revision}" if isinstance(origin, HubRevision) else recipe.model.name,
            flags=tuple(Word(one, line) for one in recipe.flags),
            env=recipe.env,
            system=recipe.system if recipe.system.accelerators else None,
        ),
    )


def _elsewhere(source: object, file: Path) -> str:
    if source is not None:
        return "its engine is a source build, whose files are not here"
    return f"its engine is audited through the package alone: dayzero audit {file.parent}"


def _settled(launch: Launch, question: Question) -> Launch:
    """Fill in what the command line says for files that do not."""
    system: System | None = launch.system or (parse_system(question.system) if question.system else None)
    code = launch.code
    name, equals, version = question.engine.partition("==")
    if isinstance(code, Unstated) and equals and name == code.engine:
        code = Release(name, version)
    return replace(launch, code=code, system=system, env=tuple({**question.env, **dict(launch.env)}.items()))


def _with_model(file: str, launch: Launch, models: _Models, progress: Callable[[str], None]) -> _Described:
    if not isinstance(launch.code, Release):
        return _Described(file, launch, None, "")
    return _Described(file, launch, *models.of(launch.model, progress))


def _of_release(
    release: str,
    described: list[_Described],
    question: Question,
    asked: tuple[Rule, ...],
    progress: Callable[[str], None],
) -> Mapping[_Described, Answered]:
    mine = [one for one in described if str(one.launch.code) == release and isinstance(one.launch.code, Release)]
    builds = Builds(replace(question, engine=release), progress)
    answers: dict[_Described, Answered] = {}
    told: dict[str, Audited] = {}
    for one in mine:
        progress(f"{release}: {one.file}")
        key = json.dumps(
            [one.model, [w.text for w in one.launch.flags], one.launch.env, str(one.launch.system), _gaps(one)]
        )
        try:
            if key not in told:
                flags = tuple(word.text for word in one.launch.flags)
                subject = builds.subject(one.model, one.launch.system, flags, dict(one.launch.env))
                told[key] = _asked(asked, subject, builds, one)
            found = told[key]
        except (InputError, RemoteError) as error:
            answers[one] = Answered(file=one.file, launch=one.launch, verdict=Undecided(error.message))
        else:
            answers[one] = Answered(
                file=one.file,
                launch=one.launch,
                verdict=found.verdict,
                findings=found.findings,
                not_checked=found.not_checked,
            )
    return answers


def _asked(asked: tuple[Rule, ...], subject: Subject, builds: Builds, one: _Described) -> Audited:
    return put_to(asked, subject, (*builds.missing, *(NotChecked(what=LEFT_OPEN, why=gap) for gap in _gaps(one))))


def _gaps(one: _Described) -> tuple[str, ...]:
    return (*one.launch.gaps, *([one.missing] if one.missing else []))


def _unknown(one: _Described) -> Answered:
    code = one.launch.code
    why = "" if isinstance(code, Release) else code.why
    return Answered(file=one.file, launch=one.launch, verdict=Undecided(why))
