import pytest

from dayzero.advisories.parse import applies, parse_advisory
from dayzero.core.errors import InputError
from dayzero.wiring import definitions

TEXT = """
id = "DZA-2026-900"
title = "a wall"
distribution = "engine"
check = "architecture"
value = "new"
affected = "<2.0"
first_build = "2.0"
resolution = "Re-pin."

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
    ],
)
def test_a_flawed_advisory_is_refused_with_its_file_or_its_flaw(old, new, complaint):
    with pytest.raises(InputError, match=complaint):
        parse_advisory(TEXT.replace(old, new), "a.toml")


def test_every_advisory_that_travels_with_dayzero_parses_and_has_an_id_of_its_own():
    known = definitions.advisories()
    assert known
    assert len({advisory.id for advisory in known}) == len(known)
