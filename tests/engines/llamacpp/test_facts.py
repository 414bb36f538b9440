import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.conftest import EmbeddedEngine
from tests.simulators.build_files import BuildInMemory
from tests.simulators.elf_image import ElfImageWriter, add_architectures, add_attributes

from dayzero.adapters.builds import WheelFiles
from dayzero.audit.model import Facts, FactTable, Unread
from dayzero.audit.ports import BuildFiles
from dayzero.core.errors import InputError
from dayzero.engines.llamacpp.facts import read_architectures, read_settings, settings_in

EXTENSION = "xllamacpp/xllamacpp.abi3.so"


def build(writer: ElfImageWriter) -> BuildInMemory:
    return BuildInMemory({"xllamacpp/__init__.py": b"", EXTENSION: writer.finish()})


def table(facts: Facts) -> FactTable:
    assert isinstance(facts, FactTable), facts
    return facts


def reason(facts: Facts) -> str:
    assert isinstance(facts, Unread), facts
    return facts.reason


def with_names(*names: str, numbers: list[int] | None = None, machine: int = 62) -> BuildInMemory:
    writer = ElfImageWriter(machine)
    add_architectures(writer, [writer.text(name) for name in names], numbers)
    return build(writer)


def test_architectures_come_in_the_engines_order_each_with_its_byte():
    files = with_names("clip", "llama", "kimi-k3", "(unknown)")
    facts = table(read_architectures(files))
    assert facts.names() == ("clip", "llama", "kimi-k3")
    place = facts.find("kimi-k3")
    assert place
    offset = int(place.position.removeprefix("byte "), 16)
    assert files.read(EXTENSION)[offset:].startswith(b"kimi-k3\0")
    assert (place.artifact, place.file) == ("xllamacpp 2.0", EXTENSION)


def test_a_name_that_the_linker_keeps_inside_another_is_in_the_table():
    writer = ElfImageWriter()
    longer, last = writer.text("nomic-bert"), writer.text("(unknown)")
    add_architectures(writer, [longer, longer + len("nomic-"), last])
    assert table(read_architectures(build(writer))).names() == ("nomic-bert", "bert")


def test_a_name_that_stands_beside_the_table_but_is_not_stored_is_not_in_it():
    writer = ElfImageWriter()
    addresses = [writer.text(name) for name in ("clip", "stray", "llama", "(unknown)")]
    add_architectures(writer, [addresses[0], addresses[2], addresses[3]])
    assert table(read_architectures(build(writer))).find("stray") is None


def test_entries_follow_the_enumerator_not_the_order_of_the_stores():
    facts = table(read_architectures(with_names("clip", "second", "first", "(unknown)", numbers=[0, 2, 1, 3])))
    assert facts.names() == ("clip", "first", "second")


@pytest.mark.parametrize(
    ("numbers", "what"),
    [
        ([0, 1, 3, 4], "an enumerator is missing"),
        ([0, 1, 1, 2], "one is there twice"),
        ([0, 1, 3, 2], "another is last"),
    ],
)
def test_a_table_that_is_not_whole_is_unread(numbers: list[int], what: str):
    files = with_names("clip", "llama", "kimi-k3", "(unknown)", numbers=numbers)
    assert "no whole table" in reason(read_architectures(files)), what


def test_a_table_without_its_last_name_is_unread():
    assert "no whole table" in reason(read_architectures(with_names("clip", "llama", "kimi-k3")))


def test_two_tables_are_unread_because_either_could_be_meant():
    writer = ElfImageWriter()
    addresses = [writer.text(name) for name in ("clip", "llama", "(unknown)")]
    add_architectures(writer, addresses)
    add_architectures(writer, addresses)
    assert "no whole table" in reason(read_architectures(build(writer)))


def test_code_for_another_processor_is_unread_not_guessed():
    assert "x86-64 only" in reason(read_architectures(with_names("clip", "llama", "(unknown)", machine=183)))


@pytest.mark.parametrize("read", [read_architectures, read_settings])
@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"xllamacpp/__init__.py": b""}, "holds 0 files that look like the extension"),
        ({"xllamacpp/xllamacpp.abi3.so": b"", "xllamacpp/xllamacpp.cpython-311.so": b""}, "holds 2 files"),
        ({"xllamacpp/xllamacpp.abi3.so": b"MZ\x90"}, "not a 64-bit little-endian ELF file"),
    ],
)
def test_a_build_without_a_readable_extension_is_unread(
    read: Callable[[BuildFiles], Facts], files: Mapping[str, bytes], said: str
):
    assert said in reason(read(BuildInMemory(files)))


def test_settings_are_the_attributes_that_can_be_set_and_those_of_inner_objects():
    writer = ElfImageWriter()
    add_attributes(writer, "CommonParams", {"n_ctx": True, "built": False, "cpuparams": True, "hostnames": True})
    add_attributes(writer, "CpuParams", {"n_threads": True, "mask": False})
    facts = table(read_settings(build(writer)))
    assert facts.names() == ("n_ctx", "cpuparams.n_threads", "hostnames")
    place = facts.find("cpuparams.n_threads")
    assert place
    assert place.quote == "n_threads"


def test_settings_of_a_build_without_the_class_are_unread():
    writer = ElfImageWriter()
    add_attributes(writer, "CommonParamsModel", {"path": True})
    assert "no attribute table of CommonParams" in reason(read_settings(build(writer)))


def test_flags_name_the_settings_as_the_table_does():
    flags = ("--n-ctx", "-1", "--cpuparams.n-threads", "--odd-value", "--kv-unified", "true")
    assert settings_in(flags) == ("n_ctx", "cpuparams.n_threads", "kv_unified")


@pytest.mark.parametrize("flags", [("n-ctx", "1"), ("--n_ctx", "1"), ("-c", "1"), ("--n-ctx=1", "x"), ("--n-ctx",)])
def test_words_that_the_launcher_would_refuse_are_refused(flags: tuple[str, ...]):
    with pytest.raises(InputError):
        settings_in(flags)


BUILDS = [
    pytest.param("wheel", 156, id="2026.10.11549"),
    pytest.param("old_wheel", 138, id="2026.8.10229"),
]


def wheel_files(embedded_engine: EmbeddedEngine, wheel: str) -> WheelFiles:
    path: Path = getattr(embedded_engine, wheel)
    return WheelFiles(artifact=" ".join(path.name.split("-")[:2]), wheel=path)


@pytest.mark.engine
@pytest.mark.parametrize(("wheel", "architectures"), BUILDS)
def test_the_architecture_table_of_a_real_build_is_whole(
    embedded_engine: EmbeddedEngine, wheel: str, architectures: int
):
    facts = table(read_architectures(wheel_files(embedded_engine, wheel)))
    assert len(facts.entries) == len(set(facts.names())) == architectures
    assert {"llama", "bert", "qwen", "qwen2", "gemma3", "mpt", "rwkv7", "lfm2", "kimi-linear"} <= set(facts.names())
    assert (facts.find("kimi-k3") is not None) == (wheel == "wheel")


@pytest.mark.engine
@pytest.mark.parametrize("wheel", ["wheel", "old_wheel"])
def test_every_place_in_a_real_build_shows_its_name(embedded_engine: EmbeddedEngine, wheel: str):
    files = wheel_files(embedded_engine, wheel)
    content = files.read(EXTENSION)
    for name, place in (*table(read_architectures(files)).entries, *table(read_settings(files)).entries):
        offset, wanted = int(place.position.removeprefix("byte "), 16), name.rpartition(".")[2].encode() + b"\0"
        assert content[offset : offset + len(wanted)] == wanted


@pytest.mark.engine
@pytest.mark.parametrize(
    ("wheel", "site", "settings", "address"),
    [("wheel", "site", 313, "hostnames"), ("old_wheel", "old_site", 301, "hostname")],
)
def test_settings_of_a_real_build_are_what_the_module_itself_says(
    embedded_engine: EmbeddedEngine, wheel: str, site: str, settings: int, address: str
):
    facts = table(read_settings(wheel_files(embedded_engine, wheel)))
    assert len(facts.entries) == settings
    assert set(facts.names()) == attributes_by_import(getattr(embedded_engine, site))
    assert {name for name in facts.names() if name.startswith("hostname")} == {address}


WALK = """
import json, xllamacpp
PLAIN = (xllamacpp.CommonGrammar, int)
def walk(owner, prefix):
    for name in dir(owner):
        value = getattr(owner, name)
        if name.startswith("_") or callable(value):
            continue
        if type(value).__module__.startswith("xllamacpp") and not isinstance(value, PLAIN):
            yield from walk(value, prefix + name + ".")
        else:
            yield prefix + name
print(json.dumps(sorted(walk(xllamacpp.CommonParams(), ""))))
"""


def attributes_by_import(site: Path) -> set[str]:
    command = [sys.executable, "-c", WALK]
    done = subprocess.run(command, env={"PYTHONPATH": str(site)}, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))
