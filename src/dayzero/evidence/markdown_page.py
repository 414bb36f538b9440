"""Read citations, quoted raw lines and bare numbers out of Markdown.

A citation stands on one line: ``<!--claim SLUG-->12.3 ms<!--/claim-->``. Raw lines are quoted in a fence between
``<!--raw SHA256 lines A-B-->`` and ``<!--/raw-->``. ``<!-- not-a-claim: why -->`` excuses the numbers of its own line and of the
next one, or of the fence that opens there. Code spans and comments are not looked into; fences are, for numbers only.
"""

import re
from dataclasses import dataclass, field

from dayzero.core.pins import Sha256
from dayzero.evidence.citation import (
    BREAK,
    Citation,
    Malformed,
    Page,
    RawBlock,
    Reading,
    Stretch,
    bare_numbers,
    on_line,
)

_FENCE = re.compile(r"[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(?P<mark>`{3,}(?=[^`]*$)|~{3,})")
_RAW = re.compile(r"<!--raw\s+(?P<sha256>[0-9a-f]{64})\s+lines\s+(?P<first>\d+)-(?P<last>\d+)\s*-->\s*")
_RAW_END = "<!--/raw-->"
_EXCUSE = re.compile(r"<!--\s*not-a-claim\b:?\s*(?P<why>.*?)\s*-->")
_INLINE = re.compile(
    r"\\[\\`<]"
    r"|(?P<code>(?P<ticks>(?<!`)`+(?!`)).+?(?<!`)(?P=ticks)(?!`))"
    r"|<!--claim\s+(?P<slug>[^\s>]+?)\s*-->(?P<text>.*?)<!--/claim-->"
    r"|(?P<broken><!--/?(?:claim|raw)\b)"
    r"|(?P<comment><!--.*?-->)"
    r"|(?P<open><!--)"
)


@dataclass(slots=True)
class _Walk:
    path: str
    lines: list[str]
    at: int = 0
    in_comment: bool = False
    citations: list[Citation] = field(default_factory=list)
    blocks: list[RawBlock] = field(default_factory=list)
    malformed: list[Malformed] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    excuses: set[int] = field(default_factory=set)

    def excused(self) -> bool:
        """Say whether this line, or the one before it, says why its numbers are no claims."""
        return not self.excuses.isdisjoint((self.at - 1, self.at))

    def broken(self, reason: str) -> None:
        self.malformed.append(Malformed(reason=reason, place=on_line(self.path, self.at + 1)))


def read_markdown(page: Page) -> Reading:
    """Read a Markdown page.

    Raises:
        UnicodeDecodeError: It is not UTF-8.
    """
    walk = _Walk(page.path, page.content.decode("utf-8").split("\n"))
    while walk.at < len(walk.lines):
        line = walk.lines[walk.at]
        if not walk.in_comment and line.startswith("<!--raw"):
            _raw_block(walk)
        elif not walk.in_comment and (fence := _FENCE.match(line)):
            _fence(walk, fence["mark"])
        else:
            _text(walk, line)
        walk.at += 1
    if walk.in_comment:
        walk.at = len(walk.lines) - 1
        walk.broken("a comment is not closed")
    return Reading(
        citations=tuple(walk.citations),
        blocks=tuple(walk.blocks),
        bare=bare_numbers(page, walk.stretches),
        malformed=tuple(walk.malformed),
    )


def _fence(walk: _Walk, mark: str) -> None:
    """Read a fence: its numbers count, its markup does not."""
    excused, opened = walk.excused(), walk.at
    end = _fence_end(walk, mark)
    if end == len(walk.lines):
        walk.broken("a fence is not closed")
    body = "".join(f"{line}\n" for line in walk.lines[opened + 1 : end])
    walk.stretches.append(Stretch(text=f"{BREAK}{body}{BREAK}", line=opened + 2, excused=excused))
    walk.at = end


def _fence_end(walk: _Walk, mark: str) -> int:
    close = re.compile(rf"[\s>]*{re.escape(mark[0])}{{{len(mark)},}}\s*")
    inside = range(walk.at + 1, len(walk.lines))
    return next((at for at in inside if close.fullmatch(walk.lines[at])), len(walk.lines))


def _raw_block(walk: _Walk) -> None:
    opened = walk.at
    head = _RAW.fullmatch(walk.lines[opened])
    fence = _FENCE.match(walk.lines[opened + 1]) if opened + 1 < len(walk.lines) else None
    if head is None or fence is None:
        walk.broken(
            "raw lines are quoted as '<!--raw SHA256 lines A-B-->', a fence, '<!--/raw-->', each on its own line"
        )
        return
    walk.at = opened + 1
    end = _fence_end(walk, fence["mark"])
    if end + 1 >= len(walk.lines) or walk.lines[end + 1].rstrip() != _RAW_END:
        walk.at = opened
        walk.broken(f"quoted raw lines do not end with a closed fence and '{_RAW_END}'")
        return
    walk.blocks.append(
        RawBlock(
            raw=Sha256(head["sha256"]),
            first=int(head["first"]),
            last=int(head["last"]),
            lines=tuple(line.encode() for line in walk.lines[opened + 2 : end]),
            place=on_line(walk.path, opened + 1),
        )
    )
    walk.stretches.append(Stretch(text=BREAK, line=opened + 1))
    walk.at = end + 1


def _text(walk: _Walk, line: str) -> None:
    """Read an ordinary line: what is left after citations, code spans and comments are taken out is prose."""
    prose = _after_comment(walk, line)
    prose = BREAK if not prose.strip(" \t\r>") else _INLINE.sub(lambda found: _inline(walk, found), prose)
    if walk.in_comment:
        prose = prose.partition("<!--")[0]
    walk.stretches.append(Stretch(text=f"{prose}\n", line=walk.at + 1, excused=walk.excused()))


def _after_comment(walk: _Walk, line: str) -> str:
    if not walk.in_comment:
        return line
    _, end, rest = line.partition("-->")
    walk.in_comment = not end
    return rest


def _inline(walk: _Walk, found: re.Match[str]) -> str:
    if found["code"] or found["comment"]:
        _note_excuse(walk, found.group())
        return BREAK
    if found["slug"]:
        place = on_line(walk.path, walk.at + 1)
        walk.citations.append(Citation(slug=found["slug"], text=found["text"], value="", place=place))
        return BREAK
    if found["broken"]:
        walk.broken("a citation is written '<!--claim SLUG-->text<!--/claim-->', on one line")
    walk.in_comment = walk.in_comment or bool(found["open"])
    return found.group()


def _note_excuse(walk: _Walk, comment: str) -> None:
    excuse = _EXCUSE.fullmatch(comment)
    if excuse and excuse["why"]:
        walk.excuses.add(walk.at)
    elif excuse:
        walk.broken("'not-a-claim' does not say why: write '<!-- not-a-claim: why -->'")
