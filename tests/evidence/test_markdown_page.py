import pytest
from tests.evidence.samples import COMPARISON

from dayzero.core.pins import Sha256
from dayzero.evidence.citation import Page, Reading
from dayzero.evidence.markdown_page import read_markdown
from dayzero.evidence.pages import quote_markdown

_DIGEST = Sha256("ab" * 32)


def _read(text: str) -> Reading:
    return read_markdown(Page(path="README.md", content=text.encode()))


def _bare(text: str) -> list[tuple[str, str]]:
    return [(number.text, str(number.place).removeprefix("README.md:")) for number in _read(text).bare]


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("12.3 ms", [("12.3 ms", "1")]),
        ("a\n\nb 12 ms and 1,234.5 tok/s\n", [("12 ms", "3"), ("1,234.5 tok/s", "3")]),
        (
            "65.94%, ~2.5 GB, x8GiB, +3 MiB, 1e3 ms, 1.5 TB",
            [(t, "1") for t in ("65.94%", "2.5 GB", "8GiB", "3 MiB", "1e3 ms", "1.5 TB")],
        ),
        ("**12.3** ms, *12.3* ms, 12.3&nbsp;ms, 12.3\u00a0ms", [("12.3 ms", "1")] * 4),
        ("it took 12.3\nms in all", [("12.3 ms", "1")]),
        ("12 ms/token at 5 GB/s", [("12 ms", "1"), ("5 GB", "1")]),
        ("| a | 12 ms |", [("12 ms", "1")]),
        ("12\n\nms", []),
        ("12 msgs, 3 mscore, 3 sec, version 0.12, 8x B300, 2x the pages, 5 percentiles, 2 x slow, in the 1990s", []),
        ("12 s, 0.5s, 2000 s", [("12 s", "1"), ("0.5s", "1"), ("2000 s", "1")]),
        ("8 KiB, 8 MB, 8 kB, 2 TiB", [(t, "1") for t in ("8 KiB", "8 MB", "8 kB", "2 TiB")]),
        ("8 GPUs, 96 shards, 100 percent", [(t, "1") for t in ("8 GPUs", "96 shards", "100 percent")]),
        (
            "2x faster, 1.5 x\nfaster, 2\u00d7 faster, 3 times slower",
            [("2x faster", "1"), ("1.5 x faster", "1"), ("2\u00d7 faster", "2"), ("3 times slower", "2")],
        ),
        ("![p50 12 ms](x.png)", [("12 ms", "1")]),
        ("`12 ms` and ``12 ` ms``", []),
        ("`12 ms", [("12 ms", "1")]),
        ("\\`12 ms\\`", [("12 ms", "1")]),
        ("8 <!-- x --> GiB", []),
        ("<!-- 12 ms -->", []),
        ("a <!-- 12 ms\n13 ms\n--> 14 ms", [("14 ms", "3")]),
        ("<!--claim a/b-->12 ms<!--/claim--> 13 ms", [("13 ms", "1")]),
        ("1<!--claim a/b-->2<!--/claim--> ms", []),
        ("12 ms <!-- not-a-claim: a budget -->", []),
        ("<!-- not-a-claim: a budget -->\n12 ms", []),
        ("<!-- not-a-claim: a budget -->\n\n12 ms", [("12 ms", "3")]),
        ("<!-- not-a-claim: a budget -->\na\n12 ms", [("12 ms", "3")]),
        ("`<!-- not-a-claim: an example -->` 12 ms", [("12 ms", "1")]),
        ("```\n12 ms\n```\n13 ms", [("12 ms", "2"), ("13 ms", "4")]),
        ("```text\na `12 ms`\n```", [("12 ms", "2")]),
        ("<!-- not-a-claim: an example -->\n```\na\n\n12 ms\n```\n13 ms", [("13 ms", "7")]),
        ("- ~~~\n  12 ms\n  ~~~\n", [("12 ms", "2")]),
        ("```\n<!-- not-a-claim: no -->\n12 ms\n```", [("12 ms", "3")]),
        ("````\n```\n12 ms\n````\n", [("12 ms", "3")]),
    ],
)
def test_a_number_with_a_unit_is_found_unless_the_page_says_what_it_is(text: str, bare: list[tuple[str, str]]):
    reading = _read(text)
    assert _bare(text) == bare
    assert reading.malformed == ()


@pytest.mark.parametrize(
    ("text", "citations"),
    [
        ("<!--claim a-->1 ms<!--/claim-->", [("a", "1 ms", "1")]),
        (
            "x\ny <!--claim p/c4.ttft-p50 -->1 ms<!--/claim--> <!--claim b-->2 %<!--/claim-->",
            [("p/c4.ttft-p50", "1 ms", "2"), ("b", "2 %", "2")],
        ),
        ("`<!--claim a-->1 ms<!--/claim-->`", []),
        ("```\n<!--claim a-->1<!--/claim-->\n```", []),
        ("<!--claim a-->cause is `x`<!--/claim-->", [("a", "cause is `x`", "1")]),
        ("<!--\n<!--claim a-->1 ms<!--/claim-->", []),
    ],
)
def test_citations_are_found_where_they_are_rendered(text: str, citations: list[tuple[str, str, str]]):
    found = [(c.slug, c.text, str(c.place).removeprefix("README.md:")) for c in _read(text).citations]
    assert found == citations


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("<!--claim a-->1 ms", ["1: a citation is written"]),
        ("x\n<!--claim a-->1\nms<!--/claim-->", ["2: a citation is written", "3: a citation is written"]),
        ("1 ms<!--/claim--> <!-- not-a-claim: x -->", ["1: a citation is written"]),
        ("<!--claim-->1 ms<!--/claim-->", ["1: a citation is written", "1: a citation is written"]),
        ("12 ms <!-- not-a-claim -->", ["1: 'not-a-claim' does not say why"]),
        ("12 ms <!-- not-a-claim:  -->", ["1: 'not-a-claim' does not say why"]),
        ("a\n```\nb", ["2: a fence is not closed"]),
        ("a\n<!-- b", ["2: a comment is not closed"]),
        (f"<!--raw {_DIGEST} lines 1-2-->\ntext", ["1: raw lines are quoted as"]),
        (
            "<!--raw 12 lines 1-2-->\n```\na\n```\n<!--/raw-->",
            ["1: raw lines are quoted as", "5: a citation is written"],
        ),
        (
            f"<!--raw {_DIGEST} lines 1-2-->\n```\na\n```\n\n<!--/raw-->",
            ["1: quoted raw lines do not end", "6: a citation is written"],
        ),
        (f"<!--raw {_DIGEST} lines 1-2-->\n```\na", ["1: quoted raw lines do not end", "2: a fence is not closed"]),
    ],
)
def test_broken_markup_is_said_instead_of_passed_over(text: str, reasons: list[str]):
    found = [f"{str(m.place).removeprefix('README.md:')}: {m.reason}" for m in _read(text).malformed]
    assert len(found) == len(reasons), found
    assert all(reason.startswith(start) for reason, start in zip(found, reasons, strict=True)), found


def test_a_quote_of_raw_lines_keeps_every_byte_of_them():
    text = "before\n\n" + quote_markdown(_DIGEST, COMPARISON, 2, 3) + "\nafter 1 ms"
    (block,) = _read(text).blocks
    assert (block.raw, block.first, block.last, str(block.place)) == (_DIGEST, 2, 3, "README.md:3")
    assert block.lines == tuple(COMPARISON.split(b"\n")[1:3])
    assert _bare(text) == [("1 ms", "9")]


def test_a_quote_may_hold_fences_and_carriage_returns():
    raw = b"a\r\n```\n````\nb 5 ms \n"
    (block,) = _read(quote_markdown(_DIGEST, raw, 1, 4)).blocks
    assert block.lines == (b"a\r", b"```", b"````", b"b 5 ms ")


def test_a_repository_says_what_its_units_are():
    page = Page(path="README.md", content=b"12 ms, 9 req/s, 8 GPUs", units=("req/s", "GPUs"))
    assert [number.text for number in read_markdown(page).bare] == ["9 req/s", "8 GPUs"]
