from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulators.elf_image import ElfImageWriter

from dayzero.audit.elf import X86_64, parse_elf
from dayzero.core.errors import InputError


def test_a_pointer_leads_to_its_text():
    writer = ElfImageWriter()
    slot = writer.words(("to", writer.text("kimi-k3")))
    image = parse_elf(writer.finish())
    assert image.machine == X86_64
    assert image.text_behind(slot) == "kimi-k3"
    assert image.slots_of(image.addresses_of("kimi-k3")) == (slot,)


def test_a_name_is_found_at_the_end_of_a_longer_one_as_linkers_store_it():
    writer = ElfImageWriter()
    longer = writer.text("nomic-bert")
    assert parse_elf(writer.finish()).addresses_of("bert") == (longer + len("nomic-"),)


def test_a_name_that_only_begins_a_longer_one_is_not_found():
    writer = ElfImageWriter()
    writer.text("bert-large")
    assert parse_elf(writer.finish()).addresses_of("bert") == ()


def test_bytes_that_are_no_text_are_no_name():
    writer = ElfImageWriter()
    assert parse_elf(writer.finish()).text(writer.add(b"\xff\xfe\0")) is None


def test_an_address_outside_the_file_is_no_offset():
    assert parse_elf(ElfImageWriter().finish()).offset(1) is None


@pytest.mark.parametrize("content", [b"", b"MZ\x90\0", b"\x7fELF\x01\x01" + bytes(60)])
def test_what_is_not_a_64_bit_elf_file_is_refused(content: bytes):
    with pytest.raises(InputError, match="not a 64-bit little-endian ELF file"):
        parse_elf(content)


@given(length=st.integers(min_value=6, max_value=400))
def test_a_file_cut_anywhere_is_read_or_refused_but_never_crashes(length: int):
    writer = ElfImageWriter()
    writer.words(("to", writer.text("kimi-k3")), 5, 6)
    whole = writer.finish()
    complete = parse_elf(whole).addresses_of("kimi-k3")
    found: tuple[int, ...] = ()
    with suppress(InputError):
        found = parse_elf(whole[:length]).addresses_of("kimi-k3")
    assert found in ((), complete)
