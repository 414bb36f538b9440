import pytest
from tests.evidence.samples import cause_claim, off_claim

from dayzero.evidence.citation import Page, Reading
from dayzero.evidence.html_page import read_html
from dayzero.evidence.pages import cite_html


def _read(text: str) -> Reading:
    return read_html(Page(path="index.html", content=text.encode()))


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("<p>12.3 ms</p>", [("12.3 ms", "1")]),
        ("<title>a\n12 ms</title>", [("12 ms", "2")]),
        ("<p>\n<b>12.3</b> <i>ms</i></p>", [("12.3 ms", "2")]),
        ("<p>12.3&nbsp;ms and 5&#37;", [("12.3 ms", "1"), ("5%", "1")]),
        ("<td>12</td><td>ms</td>", []),
        ("<p>12<br>ms</p>", []),
        ("<p><code>12 ms</code> <pre>13 ms</pre><kbd>1 GB</kbd></p>", []),
        ("<style>a{width:50%}</style><script>x = '50%'</script>", []),
        ('<p style="width: 50%" class="12 ms">x</p>', []),
        ('<p title="12 ms"\nid=a>x</p>13 ms', [("12 ms", "1"), ("13 ms", "2")]),
        ('<img alt="took 12&nbsp;ms"><a aria-label="5 GB">x</a>', [("12 ms", "1"), ("5 GB", "1")]),
        ('12 <img alt="x"> ms, <img alt="12"> ms', []),
        (
            '<meta name="Description" content="12 ms"><meta property="og:description" content="13 ms">',
            [("12 ms", "1"), ("13 ms", "1")],
        ),
        ('<meta name="viewport" content="width=50%"><option value="12 ms">', []),
        ('<p title="12 ms" data-not-a-claim="a budget">x</p>', []),
        ('<div data-not-a-claim="a budget"><img alt="12 ms"></div><img alt="13 ms">', [("13 ms", "1")]),
        ("<!-- 12 ms -->", []),
        ('<div data-not-a-claim="a budget"><p>12 ms</p></div>13 ms', [("13 ms", "1")]),
        ('<div data-not-a-claim="a" data-not-a-claim="">12 ms</div>', []),
        ('<data value="p50">12 ms</data>', [("12 ms", "1")]),
        ('<div data-not-a-claim="a budget"><data value="12">12 ms</data></div>', []),
        ("<svg><text>12 <tspan>ms</tspan></text></svg>", [("12 ms", "1")]),
        ('1<data data-claim="a" value="2">2</data> ms', []),
        ("</div></p>12 ms", [("12 ms", "1")]),
        ("<p>12 ms", [("12 ms", "1")]),
        ("12 ms", [("12 ms", "1")]),
    ],
)
def test_a_number_with_a_unit_is_found_unless_the_page_says_what_it_is(text: str, bare: list[tuple[str, str]]):
    reading = _read(text)
    assert [(b.text, str(b.place).removeprefix("index.html:")) for b in reading.bare] == bare
    assert reading.malformed == ()


@pytest.mark.parametrize(
    ("text", "citations"),
    [
        ('<data data-claim="a/b" value="1">1 ms</data>', [("a/b", "1 ms", "1", "1")]),
        ('\n<DATA VALUE="1" DATA-CLAIM="a">\n <b>1</b>\n&#109;s </DATA>', [("a", "1 ms", "1", "2")]),
        ('<code><data data-claim="a" value="1">1 ms</data></code>', [("a", "1 ms", "1", "1")]),
        ('<!-- <data data-claim="a" value="1">1 ms</data> -->', []),
        ('<data data-claim="a" data-claim="b" value="1">1 ms</data>', [("a", "1 ms", "1", "1")]),
    ],
)
def test_citations_are_found(text: str, citations: list[tuple[str, str, str, str]]):
    found = [(c.slug, c.text, c.value, str(c.place).removeprefix("index.html:")) for c in _read(text).citations]
    assert found == citations


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('<data data-claim="a" value="1">1 ms', "<data> is not closed"),
        ('<p><data data-claim="a" value="1">1 ms</p></data>', "<data> is not closed"),
        ('<div><p data-not-a-claim="why">1 ms</div>', "<p> is not closed"),
        ("<div><code>1 ms</div>", "<code> is not closed"),
        ('<td><data value="12.3">12.3</data></td>', "the value '12.3' is typed"),
        ('<td><data value="-1e3">fast</data></td>', "the value '-1e3' is typed"),
        ('<p data-not-a-claim="">1 ms</p>', "data-not-a-claim does not say why"),
        ("<p data-not-a-claim>1 ms</p>", "data-not-a-claim does not say why"),
        ('<span data-claim="a" value="1">1 ms</span>', "a citation is written"),
        ('<data data-claim="a">1 ms</data>', "a citation is written"),
        ('<data data-claim="" value="1">1 ms</data>', "a citation is written"),
        (
            '<data data-claim="a" value="1"><data data-claim="b" value="1">1 ms</data></data>',
            "a citation stands inside a citation",
        ),
    ],
)
def test_broken_markup_is_said_instead_of_passed_over(text: str, reason: str):
    (broken,) = _read(text).malformed
    assert broken.reason.startswith(reason)


def test_what_a_broken_citation_shows_counts_as_a_bare_number():
    assert [b.text for b in _read('<span data-claim="a" value="1">1 ms</span>').bare] == ["1 ms"]


@pytest.mark.parametrize("claim", [off_claim(), cause_claim()], ids=lambda claim: claim.slug)
def test_a_written_citation_is_read_back(claim):
    (citation,) = _read(f"<p>{cite_html(claim)}</p>").citations
    assert (citation.slug, citation.text, citation.value) == (claim.slug, claim.text, claim.value)
