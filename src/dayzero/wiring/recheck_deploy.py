"""Check a verified kit's deploy files again: what they start is what its definition and its signed pins say."""

from collections.abc import Iterator

from dayzero.adapters.package_files import CONFIG, LOCK
from dayzero.core.errors import DayzeroError, InputError
from dayzero.core.launch import LaunchSpec, LocalModel, at_site
from dayzero.core.package import Package
from dayzero.core.pins import Proxy
from dayzero.core.verdict import Proven
from dayzero.evidence.subject import recipe_digest
from dayzero.kit.documents import LAUNCH_SCHEMA, launch_json, model_sums, requirements_of
from dayzero.kit.launch_document import LAUNCH_PATH, launch_schema, parse_launch
from dayzero.kit.statements import engine_document, flags_digest, model_document
from dayzero.targets.interface import Target
from dayzero.targets.proof import prove_commands
from dayzero.wiring.deploy import deployment
from dayzero.wiring.launches import launch_of_package
from dayzero.wiring.plugins import engine, engine_names, target, target_names
from dayzero.wiring.recheck_kit import DEFINITION, OpenKit, difference, failed, opened, passed, unmade
from dayzero_verify.archive_checks import MANIFEST_PATH
from dayzero_verify.kit import RAW_FOLDER, Content
from dayzero_verify.report import ExitCode, Outcome
from dayzero_verify.statement import LEDGER_PATH

CHECK = "deploy_files"
_SUMS = "model.sha256"
# What the check of the claims, or the verifier itself, answers for.
_OTHERS = {"README.md", "CARD.md", DEFINITION, MANIFEST_PATH, LEDGER_PATH}


def deploy_files(content: Content) -> Outcome:
    """Render every deploy file of a kit again, and hold launch, definition and signed pins against each other."""
    kit = opened(content)
    missing = next((path for path in (LAUNCH_PATH, DEFINITION) if path not in kit.files), None)
    if missing:
        return unmade(CHECK, f"the kit holds no {missing}, from which a deploy file could be rendered again")
    try:
        schema = launch_schema(kit.files[LAUNCH_PATH])
        if schema != LAUNCH_SCHEMA:
            return unmade(CHECK, f"{LAUNCH_PATH} has the schema {schema!r}, which this version does not read")
        spec = parse_launch(kit.files[LAUNCH_PATH], kit.text(LOCK))
        return _same_version(kit, spec) if kit.ours else _other_version(kit, spec)
    except DayzeroError as error:
        return failed(CHECK, error.message, ExitCode.DEPLOY_DRIFT)


def _same_version(kit: OpenKit, spec: LaunchSpec) -> Outcome:
    package = kit.package()
    absent = _not_installed(kit, package)
    if absent:
        return unmade(CHECK, absent)
    problem = next(_drift(kit, package, spec), "")
    if problem:
        return failed(CHECK, problem, ExitCode.DEPLOY_DRIFT)
    number = len(kit.targets("carried"))
    return passed(CHECK, f"those of {_count(number, 'target')}, rendered again from {LAUNCH_PATH}, are the same bytes")


def _not_installed(kit: OpenKit, package: Package) -> str:
    if package.recipe.engine.engine not in engine_names():
        return f"the engine {package.recipe.engine.engine} is not installed in this dayzero"
    strange = sorted(set(kit.targets("carried")) - set(target_names()))
    return f"the deploy target {strange[0]} is not installed in this dayzero" if strange else ""


def _drift(kit: OpenKit, package: Package, spec: LaunchSpec) -> Iterator[str]:
    yield from _launch_drift(kit, package, spec)
    if kit.predicate.get("engine") != engine_document(package.recipe.engine):
        yield f"the engine that is signed is not the one of {DEFINITION}"
    if kit.predicate.get("model") != model_document(package.recipe.model):
        yield f"the model that is signed is not the one of {DEFINITION}"
    if kit.predicate.get("recipe") != {"sha256": recipe_digest(package.recipe).hex}:
        yield f"the recipe that is signed is not the one of {DEFINITION}"
    if kit.predicate.get("flags") != {"sha256": flags_digest(spec).hex}:
        yield f"the flags that are signed are not those of {LAUNCH_PATH}"
    yield from _file_drift(kit, package, spec)


def _launch_drift(kit: OpenKit, package: Package, spec: LaunchSpec) -> Iterator[str]:
    """Say where the launch is not the one that the definition gives, at the site that the launch was built for."""
    wanted = launch_json(at_site(launch_of_package(package), spec.site))
    drift = difference(LAUNCH_PATH, wanted, kit.text(LAUNCH_PATH))
    if drift:
        yield f"{drift}; it is not the launch of {DEFINITION}"


def _file_drift(kit: OpenKit, package: Package, spec: LaunchSpec) -> Iterator[str]:
    carried = kit.targets("carried")
    files = {path: text.encode() for path, text in deployment(spec, carried, carried).files}
    files |= dict(engine(package.recipe.engine.engine).launch_files())
    files |= {LAUNCH_PATH: kit.files[LAUNCH_PATH], LOCK: requirements_of(spec).encode()}
    if isinstance(spec.model, LocalModel):
        files[_SUMS] = model_sums(spec.model.files).encode()
    if isinstance(package.recipe.model.origin, Proxy):
        files[CONFIG] = package.recipe.model.origin.config.encode()
    for path in sorted(files):
        if path not in kit.files:
            yield f"{path} is missing"
        elif kit.files[path] != files[path]:
            yield difference(path, files[path].decode("utf-8", "backslashreplace"), kit.text(path)) or f"{path} differs"
    for path in _unowned(kit, set(files)):
        yield f"{path} is in the kit, and neither a deploy target nor the engine writes it"


def _unowned(kit: OpenKit, owned: set[str]) -> list[str]:
    return sorted(path for path in kit.files if path not in owned | _OTHERS and not path.startswith(RAW_FOLDER))


def _other_version(kit: OpenKit, spec: LaunchSpec) -> Outcome:
    """Parse every deploy file back: another version may write other bytes, but never other words."""
    known = [name for name in kit.targets("carried") or target_names() if name in target_names()]
    files = {target(name).file_name(spec): target(name) for name in known}
    there = {path: chosen for path, chosen in files.items() if path in kit.files}
    unread = next(filter(None, (_unread(kit, path, chosen) for path, chosen in there.items())), "")
    for path, chosen in there.items() if not unread else ():
        verdict = prove_commands(spec, chosen, kit.text(path))
        if not isinstance(verdict, Proven):
            return failed(CHECK, verdict.reason, ExitCode.DEPLOY_DRIFT)
    companions = {name for chosen in there.values() for name, _ in chosen.companions(spec)}
    open_end = unread or _open_end(kit, spec, {LAUNCH_PATH, LOCK, _SUMS, CONFIG, *there, *companions})
    if not there or open_end:
        return unmade(CHECK, f"{kit.other_builder}: {open_end or 'there is no deploy file to read back'}")
    words = f"the words of {_count(len(there), 'deploy file')}, read back, are those of {LAUNCH_PATH}"
    return passed(CHECK, f"{kit.other_builder}, so bytes are not compared: {words}")


def _unread(kit: OpenKit, path: str, chosen: Target) -> str:
    """Say why a deploy file cannot be read back here: another version may frame the words in another way."""
    try:
        chosen.parse(kit.text(path))
    except InputError as error:
        return f"{path} cannot be read back: {error.message}"
    return ""


def _open_end(kit: OpenKit, spec: LaunchSpec, owned: set[str]) -> str:
    """Say what this version cannot decide about a kit of another one, ``""`` where it can decide everything."""
    try:
        package = kit.package()
        if package.recipe.engine.engine not in engine_names():
            return f"the engine {package.recipe.engine.engine} is not installed in this dayzero"
        owned |= {name for name, _ in engine(package.recipe.engine.engine).launch_files()}
        drift = next(_launch_drift(kit, package, spec), "")
    except InputError as error:
        return error.message
    strange = _unowned(kit, owned)
    if strange:
        return f"{strange[0]} is of no deploy target that is installed here"
    return drift


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
