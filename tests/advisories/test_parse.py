import re
from pathlib import Path

import pytest

from dayzero.advisories.parse import applies, parse_advisory
from dayzero.core.errors import InputError
from dayzero.wiring import audit, definitions

TEXT = """
id = "DZA-2026-900"
title = "a wall"
distribution = "engine"
check = "architecture"
value = "new"
affected = "<2.0"
first_build = "2.0"
resolution = "Re-pin."
reproduce = "dayzero audit PACKAGE"

[[evidence]]
build = "1.9"
wheel_sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
file = "engine.so"
finding = "absent"
"""


def test_an_advisory_applies_to_the_builds_it_names_and_to_no_other():
    advisory = parse_advisory(TEXT, "a.toml")
    cases = [("1.9", True), ("2.0rc1", False), ("2.0", False), ("1.9.post1", True)]
    assert [
        (version, applies(advisory, distribution="engine", version=version, check="architecture", value="new"))
        for version, _ in cases
    ] == cases


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('affected = "<2.0"', 'affected = "<3.0"', "is itself affected"),
        ('affected = "<2.0"', 'affected = "two"', "Invalid specifier"),
        ('title = "a wall"', "", "missing required field `title`"),
        ('title = "a wall"', 'title = "a wall"\ncolour = "red"', "unknown field `colour`"),
        ("0123456789abcdef0123", "zzz", "not a SHA-256 digest"),
        ("[[evidence]]", "[evidence]", "Expected `array`"),
        ('value = "new"', "", "check and value belong together"),
        ('value = "new"', 'value = "new"\nsays = "new"', "also and says belong to a rule that shows it"),
        ('value = "new"', 'value = "new"\nalso = ["other"]', "also and says belong to a rule that shows it"),
        ('reproduce = "dayzero audit PACKAGE"', "", "nothing shows it, and not_shown does not say so"),
        ('affected = "<2.0"', "", "no released version is affected, and not_shown does not say where"),
        ('finding = "absent"', 'finding = "absent"\nline = 3', "a line without its quote"),
    ],
)
def test_a_flawed_advisory_is_refused_with_its_file_or_its_flaw(old, new, complaint):
    with pytest.raises(InputError, match=complaint):
        parse_advisory(TEXT.replace(old, new), "a.toml")


def test_an_advisory_of_no_released_version_applies_to_none() -> None:
    source_build = TEXT.replace('affected = "<2.0"', 'not_shown = "Met on a source build."').replace('"2.0"', '""')
    advisory = parse_advisory(source_build, "a.toml")
    assert (advisory.affected, advisory.first_build) == ("", "")
    assert not applies(advisory, distribution="engine", version="1.9", check="architecture", value="new")


def test_an_advisory_without_a_check_of_packages_matches_none() -> None:
    advisory = parse_advisory(re.sub(r"(?m)^(check|value) = .*$", "", TEXT), "a.toml")
    assert not applies(advisory, distribution="engine", version="1.9", check="", value="")


def test_every_advisory_names_rules_that_exist() -> None:
    rules = {rule.id for rule in audit.rules()}
    walls = {wall.id for wall in definitions.walls()}
    for advisory in definitions.advisories():
        assert rules.issuperset({advisory.rule, *advisory.also} - {""}), advisory.id
        assert walls.issuperset(advisory.walls), advisory.id


def test_every_wall_that_a_package_names_is_an_advisory_or_a_wall_of_the_triage() -> None:
    known = {advisory.id for advisory in definitions.advisories()} | {wall.id for wall in definitions.walls()}
    named = {(package.name, wall.advisory) for package in definitions.packages() for wall in package.walls}
    assert named
    assert {(package, wall) for package, wall in named if wall not in known} == set()


def test_the_reference_page_lists_every_advisory_with_its_title() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "advisories.md").read_text(encoding="utf-8")
    for advisory in definitions.advisories():
        assert f"| `{advisory.id}` | {advisory.title} |" in page


def test_every_advisory_that_travels_with_dayzero_parses_and_has_an_id_of_its_own():
    known = definitions.advisories()
    assert known
    assert len({advisory.id for advisory in known}) == len(known)
