import pytest
from tests.conftest import EmbeddedEngine
from tests.simulators.build_files import BuildInMemory
from tests.simulators.elf_image import ElfImageWriter, add_tensor_types

from dayzero.adapters.builds import WheelFiles
from dayzero.audit.model import FactTable, Unread
from dayzero.kernels.ggml.facts import read_tensor_types

FIRST = [("f32", 1, 4), ("f16", 1, 2), ("q4_0", 32, 18), ("q4_1", 32, 20)]


def build(types: list[tuple[str, int, int]], copies: int = 1) -> BuildInMemory:
    files = {}
    for copy in range(copies):
        writer = ElfImageWriter()
        add_tensor_types(writer, types)
        files[f"lib/libggml-{copy}.so.1"] = writer.finish()
    return BuildInMemory({**files, "readme.txt": b"f32"})


def test_types_come_in_ggmls_order_without_the_removed_ones():
    facts = read_tensor_types(build([*FIRST, ("DEPRECATED", 0, 0), ("mxfp4", 32, 17)]))
    assert isinstance(facts, FactTable)
    assert facts.names() == ("f32", "f16", "q4_0", "q4_1", "mxfp4")
    assert facts.place.quote == "array of 6 types, 5 in use, f32 to mxfp4"


def test_each_type_has_the_byte_of_its_name():
    files = build([*FIRST, ("mxfp4", 32, 17)])
    facts = read_tensor_types(files)
    assert isinstance(facts, FactTable)
    place = facts.find("mxfp4")
    assert place
    assert files.read(place.file)[int(place.position.removeprefix("byte "), 16) :].startswith(b"mxfp4\0")


@pytest.mark.parametrize(
    ("types", "copies", "said"),
    [
        ([("f32", 1, 4), ("f16", 1, 2), ("q4_0", 32, 20), ("q4_1", 32, 24)], 1, "no table"),
        (FIRST[1:], 1, "no table"),
        (FIRST, 0, "no table"),
        (FIRST, 2, "2 tables"),
    ],
    ids=["another layout", "another start", "no shared object", "two libraries"],
)
def test_what_is_not_exactly_one_table_is_unread(types: list[tuple[str, int, int]], copies: int, said: str):
    facts = read_tensor_types(build(types, copies))
    assert isinstance(facts, Unread)
    assert said in facts.reason


def test_a_shared_object_of_another_system_is_unread():
    assert isinstance(read_tensor_types(BuildInMemory({"ggml.so": b"MZ\x90"})), Unread)


@pytest.mark.engine
@pytest.mark.parametrize("wheel", ["wheel", "old_wheel"])
def test_both_real_builds_read_mxfp4(embedded_engine: EmbeddedEngine, wheel: str):
    facts = read_tensor_types(WheelFiles(artifact="xllamacpp", wheel=getattr(embedded_engine, wheel)))
    assert isinstance(facts, FactTable)
    assert len(facts.entries) == 35
    assert {"f32", "f16", "bf16", "i32", "mxfp4", "nvfp4", "q4_K"} <= set(facts.names())
