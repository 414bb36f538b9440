"""Read citations and bare numbers out of HTML.

A citation is ``<data data-claim="SLUG" value="12.3">12.3 ms</data>``. An element with ``data-not-a-claim="why"`` excuses the
numbers in its attributes and inside it. Code, preformatted text, scripts and styles are not looked into; of the attributes,
those that a reader is shown or told are: they cannot cite, so a number in them is excused or left out. A ``<data>`` element whose
value is a number cites a claim or is excused: its value is typed otherwise, whatever its text says.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

from dayzero.evidence.citation import BREAK, Citation, Malformed, Page, Reading, Stretch, bare_numbers, on_line

_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_SHOWN = ("title", "alt", "aria-label", "aria-description", "placeholder", "label", "summary")
_DESCRIBING = frozenset(
    (
        "description",
        "og:title",
        "og:description",
        "twitter:title",
        "twitter:description",
        "twitter:data1",
        "twitter:data2",
    )
)
_NUMERIC = re.compile(r"\s*[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?\s*")
_QUIET = frozenset(("code", "pre", "kbd", "samp", "script", "style", "template"))
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "cite",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "label",
        "mark",
        "q",
        "s",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "tspan",
        "u",
        "var",
        "wbr",
    ]
)


@dataclass(slots=True)
class _Element:
    tag: str
    line: int
    why: str
    slug: str
    value: str
    text: list[str] = field(default_factory=list)

    @property
    def quiet(self) -> bool:
        return self.tag in _QUIET

    @property
    def covers(self) -> bool:
        """Say whether its end matters, because what is inside is treated differently."""
        return self.quiet or bool(self.why) or bool(self.slug)


def read_html(page: Page) -> Reading:
    """Read an HTML page.

    Raises:
        UnicodeDecodeError: It is not UTF-8.
    """
    reader = _Reader(page.path)
    reader.feed(page.content.decode("utf-8"))
    reader.close()
    reader.close_down_to(0)
    return Reading(
        citations=tuple(reader.citations),
        bare=bare_numbers(page, reader.stretches),
        malformed=tuple(reader.malformed),
    )


class _Reader(HTMLParser):
    def __init__(self, path: str) -> None:
        super().__init__(convert_charrefs=True)
        self.path = path
        self.open: list[_Element] = []
        self.citations: list[Citation] = []
        self.malformed: list[Malformed] = []
        self.stretches: list[Stretch] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element; the first of two equal attributes counts, as in browsers."""
        given = {name: value or "" for name, value in reversed(attrs)}
        if tag not in _INLINE:
            self._break()
        if "data-not-a-claim" in given and not given["data-not-a-claim"].strip():
            self._broken("data-not-a-claim does not say why")
        if "data-claim" in given and not self._may_cite(tag, given):
            given["data-claim"] = ""
        elif tag == "data" and "data-claim" not in given:
            self._typed(given)
        self._shown(tag, given)
        if tag not in _VOID:
            why, slug = given.get("data-not-a-claim", "").strip(), given.get("data-claim", "")
            self.open.append(_Element(tag=tag, line=self.getpos()[0], why=why, slug=slug, value=given.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element of this name; an end without a beginning closes nothing."""
        for depth in range(len(self.open) - 1, -1, -1):
            if self.open[depth].tag == tag:
                self.close_down_to(depth + 1)
                self._close(self.open.pop())
                break
        if tag not in _INLINE:
            self._break()

    def handle_data(self, data: str) -> None:
        """Give text to the citation that it belongs to, else to the page's prose."""
        citing = next((element for element in self.open if element.slug), None)
        if citing:
            citing.text.append(data)
        elif not any(element.quiet for element in self.open):
            excused = any(element.why for element in self.open)
            self.stretches.append(Stretch(text=data.replace("\0", " "), line=self.getpos()[0], excused=excused))

    def close_down_to(self, depth: int) -> None:
        """Close elements whose end tag is missing, and say so where the reader could not tell what they cover."""
        while len(self.open) > depth:
            element = self.open.pop()
            if element.covers:
                place = on_line(self.path, element.line)
                self.malformed.append(Malformed(reason=f"<{element.tag}> is not closed", place=place))

    def _may_cite(self, tag: str, given: dict[str, str]) -> bool:
        if tag != "data" or not given["data-claim"] or not given.get("value"):
            self._broken('a citation is written <data data-claim="SLUG" value="12.3">12.3 ms</data>')
            return False
        if any(element.slug for element in self.open):
            self._broken("a citation stands inside a citation")
            return False
        return True

    def _excused(self, given: Mapping[str, str]) -> bool:
        return bool(given.get("data-not-a-claim", "").strip()) or any(element.why for element in self.open)

    def _typed(self, given: Mapping[str, str]) -> None:
        if _NUMERIC.fullmatch(given.get("value", "")) and not self._excused(given):
            self._broken(f"the value {given['value']!r} is typed: a <data> element with a number cites a claim")

    def _shown(self, tag: str, given: Mapping[str, str]) -> None:
        """Read what attributes show or tell to a reader, each on its own."""
        line, excused = self.getpos()[0], self._excused(given)
        for text in _told(tag, given):
            self.stretches.append(Stretch(text=f"{BREAK}{text.replace(BREAK, ' ')}{BREAK}", line=line, excused=excused))

    def _close(self, element: _Element) -> None:
        if element.slug:
            place = on_line(self.path, element.line)
            text = " ".join("".join(element.text).split())
            self.citations.append(Citation(slug=element.slug, text=text, value=element.value, place=place))

    def _break(self) -> None:
        self.stretches.append(Stretch(text=BREAK, line=self.getpos()[0]))

    def _broken(self, reason: str) -> None:
        self.malformed.append(Malformed(reason=reason, place=on_line(self.path, self.getpos()[0])))


def _told(tag: str, given: Mapping[str, str]) -> Iterator[str]:
    if tag == "meta" and (given.get("name") or given.get("property", "")).lower() in _DESCRIBING:
        yield given.get("content", "")
    yield from (given[name] for name in _SHOWN if given.get(name))
