"""Slurm with pyxis: ``serve-pyxis.sbatch``. Escape rules and what the script does: :mod:`dayzero.targets.slurm`."""

import re
from dataclasses import dataclass

from dayzero.core.launch import Commands, Delta, HubModel, LaunchSpec, LocalModel, node_deltas
from dayzero.targets import slurm
from dayzero.targets.bash_script import VALIDATORS
from dayzero.targets.container import HUB_FOLDER, MODEL_FOLDER, WORK_FOLDER, hub_deltas
from dayzero.targets.dockerfile import companions_of
from dayzero.targets.interface import Validator

_HOME = "--no-container-mount-home --container-remap-root --no-container-entrypoint"
_LISTED = '--container-env="$dayzero_names"'
_RUNTIME = slurm.Runtime(
    file="serve-pyxis.sbatch",
    suffix=".sqsh",
    program="enroot",
    fetch='enroot import --output "$1" "$2"',
    build="enroot import --output $1 dockerd://dayzero-engine:kit",
    prepare="",
    # The image's own value of a variable wins over one that srun exports, unless the variable is listed.
    give='export "${1?}" && dayzero_names="${dayzero_names}${dayzero_names:+,}${1%%=*}"',
    # pyxis README: ENROOT_* and PYXIS_* are settings of the run time; srun reads SLURM_*, and Slurm sets PMI_*.
    refused=re.compile(r"(?:SLURM|SLURMD|SBATCH|SRUN|SPANK|PMI|PMIX|ENROOT|PYXIS|dayzero)_"),
    options=re.compile(
        r'--container-image="\$PWD/(?P<image>[a-z0-9.-]+)" '
        rf'--container-mounts=(?:"\$PWD"/model:{MODEL_FOLDER}:ro --container-workdir={WORK_FOLDER}|[^ :]+:{HUB_FOLDER}) '
        rf"{_HOME} (?:(?P<listed>{re.escape(_LISTED)}) )?"
    ),
)


@dataclass(frozen=True, slots=True)
class SlurmPyxis:
    """The Slurm target for sites with pyxis: one container a node, from an image that is fetched once and checked at each start."""

    name: str = "slurm-pyxis"
    inputs: tuple[str, ...] = slurm.INPUTS
    validators: tuple[Validator, ...] = VALIDATORS

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return _RUNTIME.file

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        """Give the Dockerfile, where the launch names no image."""
        return companions_of(spec)

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the hub's cache and the words of several nodes; a step has the node's own network."""
        return (*hub_deltas(spec), *node_deltas(spec))

    def render(self, spec: LaunchSpec) -> str:
        """Write ``serve-pyxis.sbatch``.

        Raises:
            InputError: The file cannot carry the launch word for word.
        """
        deltas = self.deltas(spec)
        image = slurm.image_file(spec, _RUNTIME.suffix)
        options = (f'--container-image="$PWD/{image}"', *_mounts(spec), *_HOME.split(" "))
        listed = (_LISTED,) if spec.env or isinstance(spec.model, HubModel) else ()
        step = slurm.Step(image=image, reference=enroot_uri(slurm.untagged(spec.image)), options=(*options, *listed))
        return slurm.render(spec, deltas, _RUNTIME, step)

    def parse(self, text: str) -> Commands:
        """Read ``serve-pyxis.sbatch`` back.

        Raises:
            InputError: The text is not a script of this target.
        """
        return slurm.parse(text, _RUNTIME)


TARGET = SlurmPyxis()


def _mounts(spec: LaunchSpec) -> tuple[str, ...]:
    match spec.model:
        case LocalModel():
            return (f'--container-mounts="$PWD"/model:{MODEL_FOLDER}:ro', f"--container-workdir={WORK_FOLDER}")
        case HubModel():
            return (f"--container-mounts={spec.site.cache}:{HUB_FOLDER}",)


def enroot_uri(image: str) -> str:
    """Write a pinned image as enroot reads it: ``docker://REGISTRY#IMAGE:sha256:DIGEST``.

    Source: enroot 067079e, src/docker.sh, docker::import. Its pattern takes what stands before an ``@`` for a user, so that
    ``IMAGE@sha256:DIGEST`` would name another image; a tag may hold ``:``, and goes to the registry as it is, which takes a
    digest there. Without a registry it asks Docker Hub's, which ``docker.io`` itself is not.
    """
    if not image:
        return ""
    repository, _, digest = image.removeprefix("docker.io/").partition("@")
    host, slash, rest = repository.partition("/")
    named = bool(slash) and ("." in host or ":" in host or host == "localhost")
    return f"docker://{f'{host}#{rest}' if named else repository}:{digest}"
