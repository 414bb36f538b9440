"""Each advisory held to the released files that it names; run with ``-m wheels``."""

import json
import shlex
from typing import Any

import pytest
from tests.wheels.released import chosen, wheel

from dayzero.advisories.model import Advisory, Finding
from dayzero.cli.main import run
from dayzero.wiring import definitions

pytestmark = pytest.mark.wheels

ROWS = [
    (advisory.id, row) for advisory in definitions.advisories() for row in advisory.evidence if row.quote or row.lacks
]
# Advisories that a rule of the audit shows from released files; a package's own audit is held in tests/e2e.
SHOWN = [advisory for advisory in definitions.advisories() if advisory.rule and advisory.reproduce]


def pinned(command: str) -> list[str]:
    """Name the builds that a command audits."""
    return [word for word in shlex.split(command) if "==" in word]


@pytest.mark.parametrize(
    ("advisory", "row"),
    chosen(ROWS, lambda one: [one[1].build.replace(" ", "==")]),
    ids=lambda one: f"{one.build}-{one.file}" if isinstance(one, Finding) else str(one),
)
def test_what_an_advisory_says_of_a_file_stands_there(advisory: str, row: Finding) -> None:
    files = wheel(*row.build.split()).files
    content = files.read(row.file)
    assert not row.lacks or row.lacks.encode() not in content
    if row.line:
        assert content.decode().splitlines()[row.line - 1].strip() == row.quote
    else:
        assert row.quote.encode() in content, advisory


def stands_at(row: Finding, side: dict[str, Any]) -> bool:
    """Say whether a finding's place is that of an evidence row; a finding of a whole folder has the build alone."""
    at = (side["file"], side["line"])
    return row.build == side["artifact"] and (side["line"] is None or at == (row.file, row.line))


@pytest.mark.parametrize("advisory", chosen(SHOWN, lambda one: pinned(one.reproduce)), ids=lambda one: one.id)
def test_the_command_of_an_advisory_shows_it_at_a_place_of_its_evidence(
    capsys: pytest.CaptureFixture[str], advisory: Advisory
) -> None:
    _, *words = shlex.split(advisory.reproduce)
    at = words.index("--") if "--" in words else len(words)
    run([*words[:at], "--all", "--output-format", "json", *words[at:]])
    findings = json.loads(capsys.readouterr().out)["findings"]
    sides = [
        side
        for one in findings
        if one["rule"] == advisory.rule and advisory.id in one["advisories"]
        for side in (one["engine_location"], one["library_location"])
        if side is not None
    ]
    assert any(stands_at(row, side) for row in advisory.evidence for side in sides), sides
