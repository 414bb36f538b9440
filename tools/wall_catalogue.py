#!/usr/bin/env python3
"""Write docs/reference/walls.md from the wall data: ``tools/wall_catalogue.py`` prints it, ``--write`` puts it in place."""

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from dayzero.advisories.walls.model import WallRule
from dayzero.evidence.citation import Page
from dayzero.evidence.markdown_page import read_markdown
from dayzero.wiring.definitions import walls

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "walls.md"
_NOT_A_CLAIM = "<!-- not-a-claim: quoted from the wall's data -->"

_PREAMBLE = """# Reference: walls

What `dayzero triage` can name. Written from the data by `tools/wall_catalogue.py --write`; do not edit it here. A rule is
*confirmed* where somebody was seen to resolve the wall this way; elsewhere the resolution is a proposal and is printed as
unconfirmed. [How to add a wall](../how-to/add-a-wall.md).

## The keys of a rule

One TOML file a wall, `src/dayzero/advisories/walls/<wall>.toml`: `wall = "<wall>"`, then one `[[rule]]` a way to meet it.

| key | meaning |
|---|---|
| `id` | a name that never changes |
| `version` | raised when the rule's meaning changes, so that an old diagnosis can be replayed |
| `category` | the finer name below the wall |
| `title` | the wall in one sentence |
| `line` | regular expression, searched in an exception with its message or in a line's message |
| its named groups | become the answer's `numbers`; a group `x_unit` gives the unit of the group `x` |
| `on` | where it looks: `exception`, `line`, or `any` (the default) |
| `exception` | regular expression that the exception's type must match |
| `frame` | regular expression that one frame, `path/file.py:function`, must match |
| `priority` | rules of higher priority are asked first; 0 unless given |
| `evidence` | lines elsewhere in the log that are read with it: `line`, and `required` where the rule needs it |
| `when` | conditions on the values, such as `budget < 0` |
| `units` | unit of a named group whose unit the log does not write beside it |
| `explains` | messages that this line is the cause of: an earlier warning beats a later exception only where it explains it |
| `refuses` | true where the line shows only that the cause is not in this log |
| `decisive` | true where a line is a root though its level is low |
| `engines` | whose words these are: silent in a log that names another engine; empty means any |
| `resolution` | `text`, `confirmed_by` (empty: nobody was seen to confirm it), `reference` |
| `would_confirm` | what would confirm the diagnosis |
"""


def page(rules: tuple[WallRule, ...]) -> str:
    """Write the catalogue of all rules, by wall and then in the order in which they are asked."""
    lines = [_PREAMBLE]
    by_wall = sorted(rules, key=lambda rule: rule.wall)
    lines += [f"## The {len({rule.wall for rule in rules})} walls and their {len(rules)} rules", ""]
    for wall, members in groupby(by_wall, key=lambda rule: rule.wall):
        lines += [f"### {wall}", ""]
        for rule in members:
            lines += [*map(_excused, _rule(rule)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _excused(line: str) -> str:
    """Say of a line with a number and a unit that it quotes data; the project's own check decides what is one."""
    return f"{line} {_NOT_A_CLAIM}" if read_markdown(Page(path="", content=line.encode())).bare else line


def _rule(rule: WallRule) -> Iterator[str]:
    finer = f", {rule.category}" if rule.category != rule.wall else ""
    engines = f", only in {', '.join(rule.engines)}" if rule.engines else ""
    yield f"**`{rule.id}`** (version {rule.version}{finer}{engines}). {_text(rule.title)}"
    yield ""
    standing = f"confirmed by {rule.remedy.confirmed_by}" if rule.remedy.confirmed_by else "unconfirmed"
    reference = f"; {rule.remedy.reference}" if rule.remedy.reference else ""
    yield f"- {'collect' if rule.refuses else 'resolution'}: {_text(rule.remedy.text)} ({_text(standing + reference)})"
    if rule.would_confirm:
        yield f"- would confirm: {_text(rule.would_confirm)}"
    if names := _carried(rule):
        yield f"- carries: {', '.join(f'`{name}`' for name in names)}"


def _carried(rule: WallRule) -> list[str]:
    patterns = (rule.line, *(evidence.line for evidence in rule.evidence))
    return [name for pattern in patterns for name in pattern.groupindex if not name.endswith("_unit")]


def _text(text: str) -> str:
    """Keep Markdown from reading the data's text as markup."""
    for mark in "*_<[`":
        text = text.replace(mark, f"\\{mark}")
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(walls()), encoding="utf-8")
    else:
        print(page(walls()), end="")
