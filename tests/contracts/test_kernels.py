"""The suite that every installed kernel library passes."""

from importlib.metadata import entry_points

import pytest
from tests.simulators.build_files import BuildInMemory
from tests.simulators.elf_image import ElfImageWriter

from dayzero.audit.model import Unread
from dayzero.kernels.interface import KernelLibrary
from dayzero.wiring import plugins

LIBRARIES = sorted(point.name for point in entry_points(group="dayzero.kernel_libraries"))


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> KernelLibrary:
    return plugins.kernel_library(request.param)


def test_the_built_in_library_is_installed():
    assert "ggml" in LIBRARIES


def test_the_name_is_the_entry_points(library: KernelLibrary):
    assert plugins.kernel_library(library.name) is library


@pytest.mark.parametrize(
    "files",
    [{}, {"other/__init__.py": b"mxfp4"}, {"other/lib.so": b""}, {"other/lib.so": ElfImageWriter().finish()}],
    ids=["nothing", "no shared object", "an empty one", "one without a table"],
)
def test_a_build_without_the_table_is_unread_with_a_reason_not_empty(library: KernelLibrary, files: dict[str, bytes]):
    facts = library.read_tensor_types(BuildInMemory(files, artifact="other 1.0"))
    assert isinstance(facts, Unread)
    assert "other 1.0" in facts.reason
