import pytest
from tests.simulators.build_files import BuildInMemory
from tests.simulators.elf_image import ElfImageWriter
from tests.simulators.elf_symbols import shared_object

from dayzero.audit.undefined_symbol import holds_no_library, needs_symbol, needs_version, no_library_exports
from dayzero.core.verdict import Proven, Refuted, Undecided

SYMBOL = "_ZN3c105ErrorC2E"
KERNEL = "/usr/lib/python3/dist-packages/kernels/_C.abi3.so"
NEEDED = ["libc10.so", "libcudart.so.12", "libc.so.6", "libstdc++.so.6"]


def build(files: dict[str, bytes]) -> BuildInMemory:
    return BuildInMemory(files)


def kernels() -> BuildInMemory:
    asks = shared_object(undefined=[SYMBOL], needed=NEEDED, versions=["GLIBC_2.34"])
    return build({"kernels/_C.abi3.so": asks, "kernels/__init__.py": b""})


def torch(*exports: str) -> BuildInMemory:
    return build({"torch/lib/libc10.so": shared_object(exports=exports, local=[SYMBOL])})


@pytest.mark.parametrize(
    ("builds", "kind", "words"),
    [
        ((kernels(), torch("_ZN3c105ErrorC1E")), Proven, "none of the 2 libraries in these builds exports it"),
        ((kernels(), torch(SYMBOL)), Refuted, f"torch/lib/libc10.so exports {SYMBOL}"),
        ((kernels(),), Undecided, "_C.abi3.so links to libc10.so, which none of the builds given holds"),
        ((torch(),), Undecided, "none of the builds given holds _C.abi3.so"),
        ((), Undecided, "none of the builds given holds _C.abi3.so"),
        ((kernels(), torch(), build({"a.so": b"text"})), Undecided, "a.so was not read: not a 64-bit"),
        ((kernels(), torch(), build({"a.so.1": ElfImageWriter().finish()})), Undecided, "dynamic symbols is not there"),
    ],
)
def test_a_missing_symbol_is_proven_only_where_every_library_that_might_have_it_was_read(builds, kind, words):
    verdict = no_library_exports(builds, KERNEL, SYMBOL).verdict
    assert isinstance(verdict, kind), verdict
    assert words in verdict.reason


def test_a_symbol_of_c_may_come_from_cudas_libraries_so_those_have_to_be_given():
    asks = build({"kernels/_C.abi3.so": shared_object(undefined=["cudaNew"], needed=NEEDED)})
    verdict = no_library_exports((asks, torch()), KERNEL, "cudaNew").verdict
    assert isinstance(verdict, Undecided)
    assert "links to libcudart.so.12" in verdict.reason


@pytest.mark.parametrize(
    ("library", "symbol", "kind"),
    [(KERNEL, SYMBOL, Proven), ("_C.abi3.so", "_Zother", Refuted), ("/opt/other.so", SYMBOL, Undecided)],
)
def test_a_library_asks_for_a_symbol_or_does_not_or_is_not_there(library, symbol, kind):
    assert isinstance(needs_symbol((kernels(), torch()), library, symbol).verdict, kind)


@pytest.mark.parametrize(("version", "kind"), [("GLIBC_2.34", Proven), ("GLIBC_2.32", Refuted)])
def test_a_library_needs_a_symbol_version_or_does_not(version, kind):
    assert isinstance(needs_version((kernels(),), KERNEL, version).verdict, kind)


@pytest.mark.parametrize(
    ("builds", "kind"), [((torch(),), Refuted), ((kernels(),), Proven), ((), Undecided), ((build({}),), Undecided)]
)
def test_a_library_that_cannot_be_opened_is_in_a_build_or_in_none(builds, kind):
    assert isinstance(holds_no_library(builds, "libc10.so").verdict, kind)
