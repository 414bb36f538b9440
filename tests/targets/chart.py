"""A rendered chart on disk, and what real helm makes of it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.targets.cluster import tool
from tests.targets.foreign import ask

from dayzero.core.launch import LaunchSpec
from dayzero.targets.helm import FOLDER, TARGET


@dataclass(frozen=True)
class Chart:
    """The chart of one launch, in a folder of its own."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / FOLDER

    @property
    def values(self) -> Path:
        return self.folder / "values.yaml"

    def template(self, *options: str) -> subprocess.CompletedProcess[str]:
        return ask(tool("helm"), "template", "release", str(self.folder), *options)

    def objects(self) -> str:
        done = self.template()
        assert done.returncode == 0, done.stderr
        return done.stdout


def chart_of(spec: LaunchSpec, root: Path) -> Chart:
    """Write the chart of a launch."""
    for name, text in (*TARGET.companions(spec), (TARGET.file_name(spec), TARGET.render(spec))):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    return Chart(root)
