"""Slurm with Apptainer: ``serve-apptainer.sbatch``. Escape rules and what the script does: :mod:`dayzero.targets.slurm`.

Apptainer evaluates the values of variables in a shell unless it is told not to (``--no-eval``), and splits what ``--env`` is
given at commas; the launch's variables travel as ``APPTAINERENV_NAME``.
"""

import re
from dataclasses import dataclass

from dayzero.core.launch import Commands, Delta, HubModel, LaunchSpec, LocalModel, node_deltas
from dayzero.targets import slurm
from dayzero.targets.bash_script import VALIDATORS
from dayzero.targets.container import MODEL_FOLDER, WORK_FOLDER, hub_deltas
from dayzero.targets.dockerfile import companions_of
from dayzero.targets.interface import Validator

_HOME = f'--home="$PWD"/home:{WORK_FOLDER}/home --pwd={WORK_FOLDER}'
_RUNTIME = slurm.Runtime(
    file="serve-apptainer.sbatch",
    suffix=".sif",
    program="apptainer",
    fetch='apptainer pull "$1" "$2"',
    build="apptainer build $1 docker-daemon://dayzero-engine:kit",
    # In the place of the user's own, whose packages and settings are no part of the launch.
    prepare="mkdir -p home\n",
    give='export "APPTAINERENV_${1?}"',
    # apptainer 1.4, user guide, "Environment and Metadata": HOME cannot be set, LD_LIBRARY_PATH is added to, and the two
    # others are instructions.
    refused=re.compile(r"(?:HOME|LD_LIBRARY_PATH|PREPEND_PATH|APPEND_PATH)\Z|(?:APPTAINER|SINGULARITY)"),
    options=re.compile(
        rf"apptainer exec --cleanenv --no-eval {re.escape(_HOME)} "
        rf'--bind=(?:"\$PWD"/model:{MODEL_FOLDER}:ro|[^ :]+) (?:--nv )?"\$PWD/(?P<image>[a-z0-9.-]+)" '
    ),
)


@dataclass(frozen=True, slots=True)
class SlurmApptainer:
    """The Slurm target for sites with Apptainer: one container a node, from an image that is fetched once and checked then."""

    name: str = "slurm-apptainer"
    inputs: tuple[str, ...] = slurm.INPUTS
    validators: tuple[Validator, ...] = VALIDATORS

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return _RUNTIME.file

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        """Give the Dockerfile, where the launch names no image."""
        return companions_of(spec)

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the hub's cache, at the host's own path, and the words of several nodes; a step has the node's network."""
        return (*hub_deltas(spec, spec.site.cache), *node_deltas(spec))

    def render(self, spec: LaunchSpec) -> str:
        """Write ``serve-apptainer.sbatch``.

        Raises:
            InputError: The file cannot carry the launch word for word.
        """
        image = slurm.image_file(spec, _RUNTIME.suffix)
        match spec.model:
            case LocalModel():
                bind = f'"$PWD"/model:{MODEL_FOLDER}:ro'
            case HubModel():
                bind = spec.site.cache
        options = ("apptainer exec", "--cleanenv", "--no-eval", *_HOME.split(" "), f"--bind={bind}")
        gpus = ("--nv",) if spec.accelerators else ()
        reference = f"docker://{slurm.untagged(spec.image)}" if spec.image else ""
        step = slurm.Step(image=image, reference=reference, options=(*options, *gpus, f'"$PWD/{image}"'))
        return slurm.render(spec, self.deltas(spec), _RUNTIME, step)

    def parse(self, text: str) -> Commands:
        """Read ``serve-apptainer.sbatch`` back.

        Raises:
            InputError: The text is not a script of this target.
        """
        return slurm.parse(text, _RUNTIME)


TARGET = SlurmApptainer()
