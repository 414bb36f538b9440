"""The deploy files of a version, each parsed back and held to its launch."""

from dayzero.adapters.builds import BuildStore, WheelFiles
from dayzero.catalog.edition import DeployFile, Deployment, NotCarried
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.launch import LaunchSpec
from dayzero.core.package import Package
from dayzero.core.pins import EngineBuild, Sha256
from dayzero.core.verdict import Proven, verdict_word
from dayzero.targets.interface import Target
from dayzero.targets.proof import prove_commands
from dayzero.wiring.launches import launch_with
from dayzero.wiring.plugins import target, target_names
from dayzero.wiring.settings import cache_folder, python_executable


class DeployTable:
    """Renders for many versions; a build that several of them pin is looked for once."""

    def __init__(self) -> None:
        """Load the installed targets."""
        self._targets = tuple((name, target(name)) for name in target_names())
        self._kept: dict[EngineBuild, WheelFiles | None] = {}

    def of(self, package: Package) -> Deployment:
        """Give the files of every target that can carry the launch, and say why the others have none.

        Raises:
            IntegrityError: A target's own parser does not read the launch back out of its file.
        """
        try:
            spec = launch_with(package, self._files(package.recipe.engine))
        except InputError as error:
            return Deployment((), tuple(NotCarried(target=name, why=error.message) for name, _ in self._targets))
        files: list[DeployFile] = []
        without: list[NotCarried] = []
        for name, chosen in self._targets:
            try:
                files += _files(name, chosen, spec)
            except InputError as error:
                without.append(NotCarried(target=name, why=error.message))
        return Deployment(tuple(files), tuple(without))

    def _files(self, build: EngineBuild) -> WheelFiles | None:
        if build not in self._kept:
            wheel = BuildStore(cache_folder(), python_executable()).kept(build)
            self._kept[build] = None if wheel is None else WheelFiles(artifact=str(build), wheel=wheel)
        return self._kept[build]


def _files(name: str, chosen: Target, spec: LaunchSpec) -> list[DeployFile]:
    text = chosen.render(spec)
    verdict = prove_commands(spec, chosen, text)
    if not isinstance(verdict, Proven):
        raise IntegrityError(f"{spec.name}, {name}: {verdict.reason}", hint="Report this target; nothing was built.")
    path = chosen.file_name(spec)
    beside = [
        _file(name, *companion, "companion", f"It stands beside {path}.") for companion in chosen.companions(spec)
    ]
    return [_file(name, path, text, verdict_word(verdict), f"{verdict.reason}."), *beside]


def _file(target_name: str, path: str, text: str, proven: str, why: str) -> DeployFile:
    content = text.encode()
    return DeployFile(target=target_name, path=path, content=content, sha256=Sha256.of(content), proven=proven, why=why)
