"""Draw the memory of each GPU as a stacked bar: one SVG without scripts or outside files, for light and dark pages."""

from collections.abc import Iterator
from html import escape
from typing import Final

from dayzero.fit.bar import WORDS, Segment, full_width, segments
from dayzero.fit.memory_log import GIB
from dayzero.fit.model import Component, RankBudget, Report

_WIDTH: Final = 760
_LEFT: Final = 16
_BAR: Final = 30
_ROW: Final = 92
_TOP: Final = 74
_LEGEND: Final = 40
_NARROW: Final = 58  # pixels below which a label does not fit into its segment
_LETTER: Final = 7
_STYLE: Final = """
text{font:13px system-ui,sans-serif;fill:#1b1f24}.head{font-weight:600;font-size:15px}.small{font-size:12px;fill:#57606a}
.weights{fill:#1f6feb}.activations{fill:#bf5b00}.graphs{fill:#8250df}.other{fill:#6e7781}.kv_cache{fill:#1a7f37}
.in{fill:#fff;font-size:12px}.frame{fill:#eaeef2;stroke:#8c959f}.limit{stroke:#cf222e;stroke-width:2}.page{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9aa4af}.frame{fill:#21262d;stroke:#6e7681}.limit{stroke:#ff7b72}
.in{fill:#fff}.page{fill:#0d1117}}
"""


def draw(report: Report, title: str) -> str:
    """Draw an answer.

    Args:
        report: What is drawn, one bar for each kind of rank.
        title: What was sized, in one line.
    """
    height = _TOP + _ROW * len(report.ranks) + _LEGEND
    full = full_width(report.ranks) if report.ranks else 1
    body = [_rank(rank, _TOP + _ROW * place, full) for place, rank in enumerate(report.ranks)]
    head = report.verdict.reason
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="t d">',
            f'<title id="t">{escape(title)}</title>',
            f'<desc id="d">{escape(_described(report))}</desc>',
            f"<style>{_STYLE}</style>",
            f'<rect class="page" width="{_WIDTH}" height="{height}"/>',
            f'<text class="head" x="{_LEFT}" y="28">{escape(_clipped(title, 8.4))}</text>',
            f'<text x="{_LEFT}" y="50">{escape(_clipped(f"{report.state.value}: {head}", _LETTER))}</text>',
            *body,
            _legend(height - 16),
            "</svg>",
            "",
        ]
    )


def _rank(rank: RankBudget, top: int, full: int) -> str:
    many = f"{rank.rank}, {rank.count} GPUs" if rank.count > 1 else rank.rank
    y = top + 18
    limit = _x(rank.limit.count, full)
    lines = [
        f'<text x="{_LEFT}" y="{top + 8}">{escape(many)}</text>',
        f'<text class="small" x="{_WIDTH - _LEFT}" y="{top + 8}" text-anchor="end">{_margin(rank)}</text>',
        f'<rect class="frame" x="{_LEFT}" y="{y}" width="{_x(rank.free.count, full) - _LEFT:.1f}" height="{_BAR}"/>',
        *(_segment(segment, y, full) for segment in segments(rank)),
        f'<line class="limit" x1="{limit:.1f}" x2="{limit:.1f}" y1="{y - 5}" y2="{y + _BAR + 5}"/>',
        _limit_label(rank, limit, y + _BAR + 20),
    ]
    return "\n".join(lines)


def _limit_label(rank: RankBudget, x: float, y: float) -> str:
    text = f"{_gib(rank.limit.count)} GiB may be used, {_gib(rank.free.count)} GiB free at the start"
    anchor = "end" if x > _WIDTH / 2 else "start"
    return f'<text class="small" x="{x:.1f}" y="{y}" text-anchor="{anchor}">{text}</text>'


def _segment(segment: Segment, y: int, full: int) -> str:
    left, right = _x(segment.start, full), _x(segment.start + segment.size, full)
    name = WORDS[segment.component]
    label = f"{name} {_gib(segment.size)}"
    shape = (
        f'<rect class="{segment.component.value}" x="{left:.1f}" y="{y}" width="{max(right - left, 1):.1f}" height="{_BAR}">'
        f"<title>{label} GiB</title></rect>"
    )
    room = right - left
    text = label if room > _LETTER * len(label) + 8 else _gib(segment.size) if room > _NARROW else ""
    if not text:
        return shape
    middle = (left + right) / 2
    return f'{shape}\n<text class="in" x="{middle:.1f}" y="{y + 20}" text-anchor="middle">{text}</text>'


def _legend(y: int) -> str:
    parts, x = [], _LEFT
    for component in Component:
        word = WORDS[component]
        parts.append(f'<rect class="{component.value}" x="{x}" y="{y - 10}" width="11" height="11"/>')
        parts.append(f'<text class="small" x="{x + 16}" y="{y}">{word}</text>')
        x += 34 + _LETTER * len(word)
    parts.append(f'<line class="limit" x1="{x + 5}" x2="{x + 5}" y1="{y - 12}" y2="{y + 3}"/>')
    parts.append(f'<text class="small" x="{x + 14}" y="{y}">what the engine may use</text>')
    return "\n".join(parts)


def _described(report: Report) -> str:
    return f"{report.state.value}: {report.verdict.reason}. " + " ".join(_sentences(report))


def _sentences(report: Report) -> Iterator[str]:
    for rank in report.ranks:
        parts = ", ".join(f"{WORDS[part.component]} {_gib(part.size)} GiB" for part in segments(rank))
        yield f"{rank.rank} ({rank.count}): {parts}; {_gib(rank.limit.count)} GiB may be used; {_margin(rank)}."


def _margin(rank: RankBudget) -> str:
    word = "to spare" if rank.headroom >= 0 else "short"
    return f"{_gib(abs(rank.headroom))} GiB {word} with one request"


def _x(size: int, full: int) -> float:
    return _LEFT + size / full * (_WIDTH - 2 * _LEFT)


def _gib(size: int) -> str:
    return f"{size / GIB:.2f}"


def _clipped(text: str, letter: float) -> str:
    most = int((_WIDTH - 2 * _LEFT) / letter)
    return text if len(text) <= most else text[: most - 4] + " ..."
