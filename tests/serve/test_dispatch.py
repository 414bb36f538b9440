"""Asked beside resolved."""

import pytest

from dayzero.serve.dispatch import compare, differences
from dayzero.serve.model import Asked, Resolved


def got(*values: str) -> tuple[Resolved, ...]:
    return tuple(Resolved(name="backend", value=value, line=line) for line, value in enumerate(values, start=1))


@pytest.mark.parametrize(
    ("value", "stated", "agrees"),
    [
        ("FLASH", got("FLASH"), True),
        ("flash", got("FLASH"), True),
        ("FLASH", got("TRITON"), False),
        ("FLASH", got("FLASH", "TRITON"), False),
        ("FLASH", (), None),
        ("FLASH", (Resolved(name="other", value="FLASH", line=1),), None),
    ],
)
def test_all_that_is_stated_has_to_be_what_was_asked(value, stated, agrees):
    (dispatch,) = compare((Asked(name="backend", value=value, by="--backend"),), stated)
    assert dispatch.agrees is agrees


@pytest.mark.parametrize("value", ["auto", "", "None"])
def test_a_choice_left_to_the_engine_is_not_compared(value):
    assert compare((Asked(name="backend", value=value, by="--backend"),), got("TRITON")) == ()


def test_a_finding_names_every_value_and_its_line():
    dispatched = compare((Asked(name="backend", value="FLASH", by="--backend"),), got("FLASH", "TRITON"))
    assert differences(dispatched) == (
        "--backend asks for FLASH, and the log says backend is FLASH (line 1) and TRITON (line 2)",
    )
