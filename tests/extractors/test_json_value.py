from decimal import Decimal, getcontext, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.errors import EvidenceError
from dayzero.evidence.locator import PointerLocator, WholeFile
from dayzero.extractors.json_value import EXTRACTOR

_RAW = (
    b'{"p50": 140.30, "exp": 1.40E2, "big": 12345678901234567890.12345678901234567890, "neg": -0.0, "text": "a\\u00e9/b",'
    b' "number text": "0.125", "yes": true, "null": null, "list": [1], "object": {}, "empty": "", "huge": 1e999999999}'
)


def _extract(pointer: str, **parameters: str) -> str:
    return EXTRACTOR.extract(_RAW, PointerLocator(pointer=pointer), tuple(parameters.items()))


@pytest.mark.parametrize(
    ("pointer", "parameters", "value"),
    [
        ("/p50", {}, "140.30"),
        ("/exp", {}, "1.40E2"),
        ("/big", {}, "12345678901234567890.12345678901234567890"),
        ("/neg", {}, "-0.0"),
        ("/text", {}, "a\u00e9/b"),
        ("/yes", {}, "true"),
        ("/list/0", {}, "1"),
        ("/p50", {"decimals": "1"}, "140.3"),
        ("/p50", {"decimals": "3"}, "140.300"),
        ("/exp", {"decimals": "0"}, "140"),
        ("/big", {"decimals": "2"}, "12345678901234567890.12"),
        ("/number text", {"decimals": "2"}, "0.12"),
    ],
)
def test_a_value_is_given_as_it_is_written(pointer: str, parameters: dict[str, str], value: str):
    assert _extract(pointer, **parameters) == value


@pytest.mark.parametrize(
    ("written", "decimals", "value"),
    [
        ("0.5", "0", "0"),
        ("1.5", "0", "2"),
        ("2.5", "0", "2"),
        ("2.675", "2", "2.68"),
        ("2.665", "2", "2.66"),
        ("-1.5", "0", "-2"),
    ],
)
def test_a_half_is_rounded_to_the_even_neighbour_in_decimal(written: str, decimals: str, value: str):
    raw = f"[{written}]".encode()
    assert EXTRACTOR.extract(raw, PointerLocator(pointer="/0"), (("decimals", decimals),)) == value


@pytest.mark.parametrize(
    ("pointer", "parameters"),
    [
        ("/null", {}),
        ("/list", {}),
        ("/object", {}),
        ("", {}),
        ("/empty", {}),
        ("/none", {}),
        ("/text", {"decimals": "1"}),
        ("/yes", {"decimals": "1"}),
        ("/huge", {"decimals": "1"}),
        ("/p50", {"decimals": "x"}),
        ("/p50", {"decimals": "-1"}),
        ("/p50", {"decimals": "16"}),
        ("/p50", {"decimals": "\u0661"}),
        ("/p50", {"digits": "1"}),
        ("/p50", {"decimals": "1", "unit": "ms"}),
    ],
)
def test_what_is_no_single_value_is_refused(pointer: str, parameters: dict[str, str]):
    with pytest.raises(EvidenceError):
        _extract(pointer, **parameters)


def test_a_file_as_a_whole_is_refused():
    with pytest.raises(EvidenceError):
        EXTRACTOR.extract(_RAW, WholeFile(), ())


def test_the_callers_decimal_context_does_not_matter():
    with localcontext() as context:
        context.prec = 1
        context.rounding = "ROUND_UP"
        assert _extract("/big", decimals="2") == "12345678901234567890.12"
    assert getcontext().prec > 1


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9),
    st.integers(0, 15),
)
def test_rounding_moves_a_number_by_at_most_half_a_unit(number, decimals: int):
    raw = f'{{"v": {number}}}'.encode()
    rounded = EXTRACTOR.extract(raw, PointerLocator(pointer="/v"), (("decimals", str(decimals)),))
    assert abs(Decimal(rounded) - number) <= Decimal(1).scaleb(-decimals) / 2
    assert len(rounded.partition(".")[2]) == decimals
