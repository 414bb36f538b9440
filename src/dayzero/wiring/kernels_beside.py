"""The kernel library beside a build: the one that the recipe pins, else the one that the build's own metadata pins."""

from dataclasses import dataclass

from packaging.requirements import Requirement

from dayzero.adapters.artifact_open import with_metadata
from dayzero.adapters.artifact_pack import PackedFiles
from dayzero.audit.model import Facts, Unread
from dayzero.audit.ports import BuildFiles
from dayzero.audit.requirements import Asked, asked_by
from dayzero.core.errors import InputError, RemoteError
from dayzero.core.pins import EngineBuild
from dayzero.core.recipe import Recipe
from dayzero.wiring.audit import index
from dayzero.wiring.plugins import kernel_library, kernel_library_names


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelsBeside:
    """A kernel library beside a build.

    Attributes:
        spec: Its distribution and version.
        pinned_by: Who says that it is this one.
        tensor_types: What its kernels are made for.
    """

    spec: str
    pinned_by: str
    tensor_types: Facts

    def __str__(self) -> str:
        return f"{self.spec}, which {self.pinned_by} pins"


def kernels_beside(recipe: Recipe, build: EngineBuild, files: BuildFiles) -> KernelsBeside | None:
    """Read the kernel library that a build computes with; ``None`` where nobody pins one that is known.

    Args:
        recipe: Names the library first, where the build is its own.
        build: The build.
        files: Its files.
    """
    known = {library.distribution: library for library in map(kernel_library, kernel_library_names())}
    named = recipe.kernels if build == recipe.engine else ()
    pins = [(one.distribution, one.version, "the recipe") for one in named if one.distribution in known]
    pins += [(one.name, one.exact, str(build)) for one in _asked(files) if one.name in known and one.exact]
    if not pins:
        return None
    distribution, version, pinned_by = pins[0]
    spec = f"{distribution}=={version}"
    return KernelsBeside(spec=spec, pinned_by=pinned_by, tensor_types=_types(known[distribution].name, spec))


def _asked(files: BuildFiles) -> tuple[Asked, ...]:
    try:
        return asked_by(with_metadata(files))
    except InputError:
        return ()


def _types(library: str, spec: str) -> Facts:
    try:
        kept = index(offline=False).fetch(Requirement(spec))
    except (InputError, RemoteError) as error:
        return Unread(noun="tensor type", reason=error.message)
    return kernel_library(library).read_tensor_types(PackedFiles(f"{kept.name} {kept.version}", kept.pack))
