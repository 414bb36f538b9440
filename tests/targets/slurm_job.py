"""A batch script run as Slurm's shell would run it, with stand-ins for Slurm's programs and for the container's."""

import hashlib
import subprocess
from pathlib import Path

from tests.targets.kit import lay_out
from tests.targets.recorder import Recorder

from dayzero.core.launch import LaunchSpec
from dayzero.targets.interface import Target

_PROGRAMS = ("srun", "scontrol", "scancel", "enroot", "apptainer")


class Job:
    """An unpacked kit, and what its script did."""

    def __init__(self, folder: Path, target: Target, spec: LaunchSpec) -> None:
        self.recorder = Recorder(folder, programs=_PROGRAMS)
        self.recorder.answer("scontrol", "show", "hostnames", stdout="n0\nn1\n"[: 3 * spec.nodes.count])
        self.folder = folder / "a kit"
        self.folder.mkdir()
        self.script = self.folder / target.file_name(spec)
        self.script.write_text(target.render(spec))
        lay_out(self.folder, spec)
        for suffix in ("sqsh", "sif"):
            self.give_image(f"{spec.name}.{suffix}")

    def give_image(self, name: str) -> None:
        """Put an image there, with the digest that it was made with."""
        (self.folder / name).write_bytes(b"image")
        (self.folder / f"{name}.sha256").write_text(f"{hashlib.sha256(b'image').hexdigest()}  -\n")

    def run(self, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the script to its end; what it starts ends at once."""
        slurm = {"SLURM_SUBMIT_DIR": str(self.folder), "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[0-1]"}
        return self.recorder.run("bash", str(self.script), **slurm, **env)
