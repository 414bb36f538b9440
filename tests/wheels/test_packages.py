"""The committed definition for GPUs, audited on the releases that its versions pin; run with ``-m wheels``."""

import json
import shutil
from pathlib import Path

import pytest
from tests.wheels.released import chosen

from dayzero.cli.main import run
from dayzero.wiring import definitions

pytestmark = pytest.mark.wheels

VERSIONS = chosen(
    [("releases/1.0.0/package.toml", "vllm==0.27.0"), ("package.toml", "vllm==0.33.0")], lambda one: one[1:]
)
NEEDED = '    "--disable-custom-all-reduce",\n'


def audited(folder: Path, definition: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """Audit one definition with the model's configuration that lies beside it."""
    model = folder / "models" / "moonshotai" / "Kimi-K3"
    recipe = folder / "recipes" / "package.toml"
    for made in (model, recipe.parent):
        made.mkdir(parents=True)
    shutil.copy(definitions.package_file("kimi-k3-8xb300").with_name("config.json"), model)
    recipe.write_text(definition, encoding="utf-8")
    words = ["--against", str(recipe.parent), "--output-format", "json"]
    code = run(["audit", str(folder / "models"), *words])
    (launch,) = json.loads(capsys.readouterr().out)["recipes"]
    return code, [launch["engine"], launch["verdict"], *(one["rule"] for one in launch["findings"] if one["refutes"])]


@pytest.mark.parametrize(("file", "build"), VERSIONS)
def test_the_files_of_the_pinned_release_prove_each_version_and_refute_it_without_its_flag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, build: str
) -> None:
    definition = definitions.package_file("kimi-k3-8xb300").parent.joinpath(file).read_text(encoding="utf-8")
    assert audited(tmp_path / "as-it-is", definition, capsys) == (0, [build, "proven"])
    assert NEEDED in definition
    bare = definition.replace(NEEDED, "").replace('["--disable-custom-all-reduce"]', '["--block-size"]')
    assert audited(tmp_path / "bare", bare, capsys) == (1, [build, "refuted", "expandable-segments"])
