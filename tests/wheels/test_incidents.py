"""Public incidents on the released wheels that they name, through the command line; run with ``-m wheels``.

With ``-s`` each row prints what was expected, what was said, and where.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.wheels.released import chosen

from dayzero.cli.main import run

pytestmark = pytest.mark.wheels

TABLE = tomllib.loads(Path(__file__).with_name("incidents.toml").read_text(encoding="utf-8"))
CODES = {"proven": 0, "refuted": 1, "undecided": 3}
SOURCES = 18


def words(incident: dict[str, Any], folder: Path) -> list[str]:
    """Write the command line of an incident."""
    said = ["--engine", incident["builds"][0], "--output-format", "json"]
    said += [word for one in incident["builds"][1:] for word in ("--with", one)]
    said += [word for key in ("system", "env") if key in incident for word in (f"--{key}", incident[key])]
    if "freeze" in incident:
        (folder / "freeze.txt").write_text(incident["freeze"] + "\n", encoding="utf-8")
        said += ["--freeze", str(folder / "freeze.txt")]
    if "model" in incident:
        (folder / "config.json").write_text(json.dumps(incident["model"]), encoding="utf-8")
        said.insert(0, str(folder / "config.json"))
    return [*said, *(["--", *incident["flags"]] if "flags" in incident else [])]


def stands_at(finding: dict[str, Any], place: str) -> bool:
    """Say whether either side of a finding is a place, which may leave the line out."""
    sides = [finding[side] for side in ("engine_location", "library_location") if finding[side] is not None]
    return any(f"{one['file']}:{one['line']}:".startswith(f"{place}:") for one in sides)


@pytest.mark.parametrize(
    "incident",
    chosen(TABLE["incident"], lambda one: one["builds"]),
    ids=lambda one: f"{one['source']}-{one['severity']}",
)
def test_a_public_incident_is_judged_at_its_place(tmp_path, capsys, incident):
    code = run(["audit", *words(incident, tmp_path)])
    said = json.loads(capsys.readouterr().out)
    at = [one for one in said["findings"] if one["rule"] == incident["rule"] and stands_at(one, incident["place"])]
    row = (
        f"{incident['source']} | {incident['expected']} | {said['verdict']} | {sorted({one['severity'] for one in at})}"
    )
    print(row)  # noqa: T201  (the table, with -s)
    found = [one for one in at if one["severity"] == incident["severity"]]
    assert found, at
    assert any(incident.get("says", "") in f"{one['message']} {one['resolution']}" for one in found), found
    assert any(one["applies"] == incident.get("applies", one["applies"]) for one in found)
    assert said["verdict"] == incident.get("verdict", said["verdict"])
    assert code == CODES[said["verdict"]]


def test_the_table_holds_every_incident():
    assert len({one["source"] for one in TABLE["incident"]}) == SOURCES
