"""Words of a command line as the flags that decide about memory."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.errors import InputError
from dayzero.engines.vllm.memory.flags import read_flags


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("40960", 40960),
        ("40K", 40960),
        ("40k", 40000),
        ("1.5k", 1500),
        ("2M", 2 << 20),
        ("16_384", 16384),
        ("20G", 20 << 30),
    ],
)
def test_whole_numbers_take_the_suffixes_of_the_engine(word: str, number: int):
    assert read_flags(("--max-model-len", word)).whole("max-model-len") == number


@pytest.mark.parametrize("word", ["", "0", "1.5", "K", "1e3", "-5", "12X", "\uff11\uff12"])
def test_what_is_no_whole_number_is_refused(word: str):
    with pytest.raises(InputError, match="--max-num-seqs is"):
        read_flags((f"--max-num-seqs={word}",)).whole("max-num-seqs")


@pytest.mark.parametrize(
    ("words", "on"),
    [
        (("--enforce-eager",), True),
        (("--enforce_eager",), True),
        (("--no-enforce-eager",), False),
        (("--enforce-eager", "--no-enforce-eager"), False),
        ((), False),
        (("--enforce-eager", "--port", "8000"), True),
    ],
)
def test_a_switch_is_on_until_it_is_switched_off(words: tuple[str, ...], *, on: bool):
    assert read_flags(words).on("enforce-eager") is on


def test_short_names_and_values_of_several_words():
    flags = read_flags(("-tp", "8", "--served-model-name", "a", "b", "-q", "fp8", "-O0", "--max-model-len", "-1"))
    assert flags.values == {
        "tensor-parallel-size": "8",
        "served-model-name": "a b",
        "quantization": "fp8",
        "optimization-level": "0",
        "max-model-len": "-1",
    }


@given(st.lists(st.text(max_size=8), max_size=6))
def test_any_words_are_read_or_refused(words: list[str]):
    with suppress(InputError):
        assert all(isinstance(value, str) for value in read_flags(tuple(words)).values.values())
