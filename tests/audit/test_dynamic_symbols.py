import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulators.elf_image import ElfImageWriter
from tests.simulators.elf_symbols import shared_object

from dayzero.audit.dynamic_symbols import read_symbols
from dayzero.core.errors import InputError

WHOLE = shared_object(
    exports=["_Zgive"],
    undefined=["_Ztake"],
    local=["hidden"],
    needed=["libtorch.so"],
    versions=["GLIBC_2.32", "GLIBC_2.4"],
)


def test_a_library_says_what_it_gives_what_it_takes_and_from_whom():
    read = read_symbols(WHOLE)
    assert read.exported == {"_Zgive"}
    assert read.undefined == {"_Ztake"}
    assert read.needed == ("libtorch.so",)
    assert read.versions == {"GLIBC_2.32", "GLIBC_2.4"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a 64-bit"),
        (b"MZ\x90\0", "not a 64-bit"),
        (b"\x7fELF\x02\x01", "cut short"),
        (ElfImageWriter().finish(), "table of dynamic symbols is not there"),
    ],
)
def test_what_cannot_be_read_is_refused_never_empty(content, words):
    with pytest.raises(InputError, match=words):
        read_symbols(content)


def test_a_table_that_reaches_beyond_the_file_is_refused_not_read_in_part():
    table = struct.pack("<QQ", 64, 24 * 4)  # where the symbols lie, and their size
    beyond = struct.pack("<QQ", len(WHOLE), 24 * 4000)
    assert WHOLE.count(table) == 1
    with pytest.raises(InputError, match="cut short"):
        read_symbols(WHOLE.replace(table, beyond) + bytes(48))


@given(length=st.integers(min_value=0, max_value=len(WHOLE) - 1))
def test_a_library_cut_anywhere_is_refused(length: int):
    with pytest.raises(InputError):
        read_symbols(WHOLE[:length])


@given(at=st.integers(min_value=6, max_value=len(WHOLE) - 1), byte=st.integers(min_value=0, max_value=255))
def test_a_damaged_library_is_read_or_refused_but_never_crashes(at: int, byte: int):
    with suppress(InputError):
        read_symbols(WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :])
