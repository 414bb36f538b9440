import pytest
from tests.evidence.archives import WHEEL, archive

from dayzero.core.errors import EvidenceError
from dayzero.evidence.locate import line_locator, member_locator, range_locator, span_locator
from dayzero.evidence.locator import CsvLocator, JsonlLocator, Locator, WholeFile
from dayzero.extractors.csv_value import CsvValue
from dayzero.extractors.json_value import JsonValue
from dayzero.extractors.jsonl_quantile import JsonlQuantile
from dayzero.extractors.text import Text
from dayzero.extractors.text_absence import TextAbsence
from dayzero.extractors.text_count import TextCount

LISTING = b"vllm/models/qwen3.py\nvllm/models/deepseek_v3.py\nvllm/version.py\n"
LOG = b"start\n  Failed: Cuda error 700  \n\nFailed: again\n"
TABLE = b"cell,p50,note\nc1,140.305,\nc4, 12.50 ,x\n"
ROWS = b"".join(b'{"ms": %d, "cell": "c1"}\n' % (100 + number) for number in range(21))


def _asked(**parameters: str) -> tuple[tuple[str, str], ...]:
    return tuple(parameters.items())


@pytest.mark.parametrize(
    ("raw", "locator", "parameters"),
    [
        (LISTING, WholeFile(), _asked(pattern="kimi_k3", control=r"deepseek_v3\.py$")),
        (LISTING, range_locator(LISTING, 1, 2), _asked(pattern="version", control="qwen3")),
        (WHEEL, WholeFile(), _asked(pattern="(?i)kimi_?k3", control=r"models/qwen3\.py$", of="members")),
        (WHEEL, member_locator(WHEEL, "vllm/models/qwen3.py"), _asked(control="Qwen3", pattern="Kimi")),
        (b"\xff\nabc\n", WholeFile(), _asked(pattern="xyz", control="abc")),
    ],
)
def test_what_is_absent_is_zero(raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]):
    assert TextAbsence().extract(raw, locator, parameters) == "0"


@pytest.mark.parametrize(
    ("raw", "locator", "parameters", "message"),
    [
        (
            LISTING, WholeFile(), _asked(pattern="kimi_k3", control="kimi_k2"),
            "the control 'kimi_k2' is found in none of 3 lines: the scan shows nothing",
        ),
        (LISTING, WholeFile(), _asked(pattern="qwen", control="deepseek"), "'qwen' is found in lines, first in number 1"),
        (LISTING, WholeFile(), _asked(pattern="kimi_k3"), "text-absence takes pattern, control, of (may be left out)"),
        (
            LISTING, WholeFile(), (("pattern", "a"), ("pattern", "b"), ("control", "v")),
            "text-absence takes pattern, control, of (may be left out)",
        ),
        (b"", WholeFile(), _asked(pattern="kimi_k3", control=""), "there are no lines to look through"),
        (b"\n\n", WholeFile(), _asked(pattern="kimi_k3", control=""), "there are no lines to look through"),
        (archive({}), WholeFile(), _asked(pattern="k", control="", of="members"), "there are no members to look through"),
        (LISTING, WholeFile(), _asked(pattern="(k)", control="v"), "'(k)' has 1 groups, not none"),
        (LISTING, WholeFile(), _asked(pattern="k3", control="v", of="files"), "'of' is lines or members, not 'files'"),
        (
            LISTING, line_locator(LISTING, 1), _asked(pattern="k3", control="v"),
            "lines are looked for in a file, in lines of it, in a member of it",
        ),
        (
            WHEEL, member_locator(WHEEL, "vllm/__init__.py"), _asked(pattern="k3", control="v", of="members"),
            "members are looked for in a file, as a whole",
        ),
    ],
)  # fmt: skip
def test_an_absence_that_is_not_shown_is_refused(
    raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...], message: str
):
    with pytest.raises(EvidenceError) as caught:
        TextAbsence().extract(raw, locator, parameters)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("raw", "locator", "parameters", "value"),
    [
        (LOG, WholeFile(), _asked(pattern="Failed"), "2"),
        (b"Failed Failed\nFailed", WholeFile(), _asked(pattern="Failed"), "2"),
        (LOG, range_locator(LOG, 1, 2), _asked(pattern="Failed", of="lines"), "1"),
        (LOG, WholeFile(), _asked(pattern="^$"), "1"),
        (WHEEL, WholeFile(), _asked(pattern=r"^vllm/models/.*\.py$", of="members"), "2"),
        (WHEEL, member_locator(WHEEL, "vllm/models/qwen3.py"), _asked(pattern="."), "2"),
    ],
)
def test_matching_entries_are_counted_once_each(
    raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...], value: str
):
    assert TextCount().extract(raw, locator, parameters) == value


def test_a_count_of_zero_is_an_absence_and_needs_its_control():
    with pytest.raises(EvidenceError) as caught:
        TextCount().extract(LISTING, WholeFile(), _asked(pattern="kimi_k3"))
    assert "text-absence@1" in caught.value.hint


@pytest.mark.parametrize(
    ("raw", "locator", "parameters", "value"),
    [
        (LOG, line_locator(LOG, 4), (), "Failed: again"),
        (b"a b\r\n", line_locator(b"a b\r\n", 1), (), "a b"),
        (LOG, range_locator(LOG, 2, 4), _asked(pattern=r"error (\d+)"), "700"),
        (LOG, span_locator(LOG, 8, 6), (), "Failed"),
        (WHEEL, member_locator(WHEEL, "vllm-0.26.0.dist-info/METADATA"), _asked(pattern="Version: (.+)"), "0.26.0"),
    ],
)
def test_a_text_is_given_as_it_stands_there(
    raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...], value: str
):
    assert Text().extract(raw, locator, parameters) == value


@pytest.mark.parametrize(
    ("raw", "locator", "parameters"),
    [
        (LOG, line_locator(LOG, 2), ()),
        (LOG, line_locator(LOG, 3), ()),
        (LOG, range_locator(LOG, 2, 4), ()),
        (LOG, range_locator(LOG, 2, 4), _asked(pattern="(Failed)")),
        (LOG, range_locator(LOG, 2, 4), _asked(pattern="Failed")),
        (LOG, range_locator(LOG, 2, 4), _asked(pattern="(x)?start")),
        (LOG, WholeFile(), ()),
        (b"\xff", span_locator(b"\xff", 0, 1), ()),
    ],
)
def test_a_text_that_is_no_single_line_is_refused(
    raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]
):
    with pytest.raises(EvidenceError):
        Text().extract(raw, locator, parameters)


@pytest.mark.parametrize(
    ("key", "column", "parameters", "value"),
    [
        ("c1", "p50", (), "140.305"),
        ("c1", "p50", _asked(decimals="2"), "140.30"),
        ("c4", "p50", (), "12.50"),
        ("c4", "p50", _asked(decimals="0"), "12"),
        ("c4", "note", (), "x"),
    ],
)
def test_a_cell_is_given_as_it_is_written_or_rounded(
    key: str, column: str, parameters: tuple[tuple[str, str], ...], value: str
):
    assert CsvValue().extract(TABLE, CsvLocator(key_column="cell", key=key, column=column), parameters) == value


@pytest.mark.parametrize(
    ("locator", "parameters"),
    [
        (CsvLocator(key_column="cell", key="c1", column="note"), ()),
        (CsvLocator(key_column="cell", key="c4", column="note"), _asked(decimals="1")),
        (CsvLocator(key_column="cell", key="c4", column="p50"), _asked(decimals="16")),
        (CsvLocator(key_column="cell", key="c4", column="p50"), _asked(round="1")),
        (WholeFile(), ()),
    ],
)
def test_a_cell_that_says_nothing_is_refused(locator: Locator, parameters: tuple[tuple[str, str], ...]):
    with pytest.raises(EvidenceError):
        CsvValue().extract(TABLE, locator, parameters)


def test_a_json_line_is_read_like_a_json_file():
    assert JsonValue().extract(ROWS, JsonlLocator(line=3, pointer="/ms"), ()) == "102"
    assert JsonValue().extract(ROWS, JsonlLocator(line=3, pointer="/ms"), _asked(decimals="1")) == "102.0"
    assert JsonValue().extract(ROWS, JsonlLocator(line=3, pointer="/cell"), ()) == "c1"


@pytest.mark.parametrize(
    ("locator", "quantile", "value"),
    [
        (WholeFile(), "p50", "110.0"),
        (WholeFile(), "p25", "105.0"),
        (range_locator(ROWS, 11, 21), "p50", "115.0"),
    ],
)
def test_a_quantile_is_taken_over_all_lines(locator: Locator, quantile: str, value: str):
    assert JsonlQuantile().extract(ROWS, locator, _asked(pointer="/ms", quantile=quantile, decimals="1")) == value


@pytest.mark.parametrize(
    ("raw", "locator", "changes", "message"),
    [
        (ROWS, WholeFile(), {"quantile": "p99"}, "n too small: p99 needs 662 lines, there are 21"),
        (ROWS, WholeFile(), {"quantile": "p0"}, "no quantile 'p0' at '/ms'"),
        (ROWS, WholeFile(), {"pointer": "ms"}, "no quantile 'p50' at 'ms'"),
        (ROWS, WholeFile(), {"pointer": "/cell"}, "line 1: \"c1\" stands at '/cell', not a number"),
        (ROWS + b"{}\n", WholeFile(), {}, "line 22: there is no value at '/ms': nothing is called 'ms' there"),
        (
            ROWS + b"\n",
            WholeFile(),
            {},
            "line 22: not JSON with one meaning: Expecting value: line 1 column 1 (char 0)",
        ),
        (ROWS + b'{"ms": 1e999}\n', WholeFile(), {}, "line 22: 1e999 stands at '/ms', not a number"),
        (ROWS, WholeFile(), {"decimals": "7"}, "decimals must be 0 to 6, not '7'"),
        (ROWS, line_locator(ROWS, 1), {}, "jsonl-quantile reads lines"),
    ],
)
def test_a_quantile_that_lines_do_not_carry_is_refused(
    raw: bytes, locator: Locator, changes: dict[str, str], message: str
):
    with pytest.raises(EvidenceError) as caught:
        JsonlQuantile().extract(
            raw, locator, _asked(**{"pointer": "/ms", "quantile": "p50", "decimals": "1"} | changes)
        )
    assert caught.value.message == message
