"""The kernel library beside a build: the recipe's pin first, else the pin of the build's own metadata."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests import samples
from tests.simulators.build_files import BuildInMemory
from tests.simulators.wheels import make_wheel

from dayzero.adapters.artifact_pack import packed
from dayzero.audit.model import FactTable, Unread
from dayzero.core.pins import KernelPin
from dayzero.wiring.kernels_beside import kernels_beside

TABLE = "from enum import IntEnum\nclass DtypeTrtllmGen(IntEnum):\n    Bfloat16 = (0, 1)\n    MxE2m1 = (1, 1)\n    UInt8 = (0, 0)\n"
NAMED = (KernelPin(library="flashinfer", distribution="flashinfer-python", version="2"),)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that keeps two releases of the library: the first has the table, the second has none."""
    monkeypatch.setenv("DAYZERO_CACHE", str(tmp_path / "cache"))
    for version, text in (("1", TABLE), ("2", "x = 1\n")):
        wheel = make_wheel(tmp_path, "flashinfer_python", version, {"flashinfer/enums.py": text})
        pack = packed(wheel, tmp_path / "cache" / "kept")
        note = {"name": "flashinfer-python", "version": version, "file": wheel.name, "bytes": 1, "pack": pack.name}
        (tmp_path / "cache" / "kept" / "by-name").mkdir(exist_ok=True)
        file = tmp_path / "cache" / "kept" / "by-name" / f"flashinfer-python=={version}.json"
        file.write_text(json.dumps(note))
    return tmp_path


def build(*requires: str) -> BuildInMemory:
    lines = ["Metadata-Version: 2.1", "Name: vllm", "Version: 2.0", *(f"Requires-Dist: {one}" for one in requires)]
    return BuildInMemory({"vllm-2.0.dist-info/METADATA": "\n".join(lines).encode()}, artifact="vllm 2.0")


def test_what_nobody_names_is_what_the_builds_own_metadata_pins() -> None:
    recipe = replace(samples.recipe(), kernels=())
    found = kernels_beside(recipe, recipe.engine, build("torch==2.0", "flashinfer-python==1"))
    assert str(found) == f"flashinfer-python==1, which {recipe.engine} pins"
    assert found is not None
    assert isinstance(found.tensor_types, FactTable)
    assert found.tensor_types.names() == ("bf16", "mxfp4", "uint8")
    place = found.tensor_types.find("mxfp4")
    assert str(place) == "flashinfer-python 1: flashinfer/enums.py:4"


def test_what_the_recipe_names_comes_first_and_counts_for_its_own_build_alone() -> None:
    recipe = replace(samples.recipe(), kernels=NAMED)
    own = kernels_beside(recipe, recipe.engine, build("flashinfer-python==1"))
    assert str(own) == "flashinfer-python==2, which the recipe pins"
    assert own is not None
    assert own.tensor_types == Unread(noun="tensor type", reason="no enumeration DtypeTrtllmGen in flashinfer-python 2")
    other = samples.build("3.0")
    assert (
        str(kernels_beside(recipe, other, build("flashinfer-python==1"))) == f"flashinfer-python==1, which {other} pins"
    )


@pytest.mark.parametrize("requires", [(), ("flashinfer-python>=1",), ("other==1",)])
def test_no_pin_is_no_library(requires: tuple[str, ...]) -> None:
    recipe = replace(samples.recipe(), kernels=())
    assert kernels_beside(recipe, recipe.engine, build(*requires)) is None


def test_a_build_without_metadata_pins_nothing() -> None:
    recipe = replace(samples.recipe(), kernels=())
    assert kernels_beside(recipe, recipe.engine, BuildInMemory({})) is None
