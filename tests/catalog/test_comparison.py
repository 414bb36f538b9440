from dataclasses import replace

import pytest
from tests.catalog.sample import AT, ROWS, claim, edition_of, large, large_records, raw_file, tiny, tiny_records

from dayzero.catalog.comparison import NumberRow, compare
from dayzero.catalog.edition import Edition
from dayzero.catalog.release import Yank
from dayzero.core.package import Package
from dayzero.evidence.model import Record


def other(package: Package) -> Package:
    """Give the same recipe under another name and with other words, as somebody else would have packed it."""
    claims = tuple(replace(ref, id=f"x-{ref.id}", label=f"their {ref.label}") for ref in package.claims)
    cells = tuple(replace(cell, name=f"n{cell.name}") for cell in package.workload.cells)
    renamed = tuple(
        replace(ref, parameters=tuple((n, f"n{v}" if n == "cell" else v) for n, v in ref.parameters)) for ref in claims
    )
    return replace(
        package, name="theirs", title="Theirs", claims=renamed, workload=replace(package.workload, cells=cells)
    )


def numbers(left: Edition, right: Edition) -> dict[str, NumberRow]:
    return {row.label: row for row in compare(left, right).numbers}


RAW = raw_file("requests.jsonl", ROWS)


def theirs(*records: Record, package: Package | None = None) -> Edition:
    return edition_of(package or other(tiny()), RAW, *records)


MINE = edition_of(tiny(), *tiny_records())


def test_numbers_of_one_kind_and_load_stand_beside_each_other_whatever_they_are_called():
    package = other(tiny())
    made = theirs(claim(package, "x-c1-output-tok-s", "266.2"), claim(package, "x-c4-ttft-p90", "823.8"))
    rows = numbers(MINE, made)
    assert (rows["output rate, one stream"].right, rows["output rate, one stream"].ratio) == ("266.2 tok/s", "0.50")
    assert rows["time to first token, four streams"].ratio == "2.00"
    first = rows["time to first token, one stream"]
    assert (first.left, first.right_shown, first.why, first.ratio) == ("56.1 ms", False, "", "")
    assert first.right == "no number: The evidence ledger holds no claim theirs/x-c1-ttft-p50."


def test_numbers_under_another_load_are_shown_and_not_compared():
    package = other(tiny())
    cells = tuple(replace(cell, input_tokens=256) for cell in package.workload.cells)
    package = replace(package, workload=replace(package.workload, cells=cells))
    row = numbers(MINE, theirs(claim(package, "x-c1-output-tok-s", "266.2"), package=package))[
        "output rate, one stream"
    ]
    assert (row.left, row.right) == ("532.4 tok/s", "266.2 tok/s")
    assert (row.why, row.ratio) == ("not comparable: the load is another one", "")
    assert " / " in row.load


def test_a_number_that_has_no_counterpart_stands_alone():
    left, right = edition_of(tiny(), *tiny_records()), edition_of(large(), *large_records(), raw_file("r", ROWS))
    rows = compare(left, right).numbers
    alone = next(row for row in rows if row.left_slug.endswith("start-to-healthy"))
    assert (alone.right, alone.right_slug, alone.why) == ("not asked for", "", "")
    withdrawn = next(row for row in rows if row.right_slug.endswith("c1-output-tok-s"))
    assert withdrawn.right.startswith("withdrawn: The clock")
    assert not withdrawn.right_shown
    assert {row.left_slug for row in rows if row.left_slug} == {m.slug for m in left.card.measurements}
    assert {row.right_slug for row in rows if row.right_slug} == {m.slug for m in right.card.measurements}


@pytest.mark.parametrize(
    ("topic", "left", "right"),
    [
        ("version", "1.0.0", "draft"),
        ("published", AT[:10], "not released"),
        ("yanked", "Too small.", "no"),
        ("model: name", "tiny-kimi-k3-seed7", "Kimi-K3"),
        ("flags: --block-size", "", "128"),
        ("parallelism: tp", "1", "8"),
        ("environment: PYTORCH_CUDA_ALLOC_CONF", "", "expandable_segments:True"),
        ("does it fit", "Fit unknown. Nobody has tried it here.", "Fit unknown. Nobody has tried it here."),
        ("task gate", "skipped", "skipped"),
        ("deploy targets", "shell", "shell"),
    ],
)
def test_what_is_pinned_and_said_stands_side_by_side(topic: str, left: str, right: str):
    yank = Yank(package=tiny().name, version="1.0.0", at=AT, reason="Too small.")
    comparison = compare(edition_of(tiny(), at=AT, yank=yank), edition_of(large()))
    row = next(row for row in comparison.rows if row.topic == topic)
    assert (row.left, row.right) == (left, right)
    assert row.same == (left == right)


def test_what_has_to_be_known_first_is_said():
    assert compare(MINE, edition_of(large())).note == (
        "The models are not the same; tokens are each model's own. The systems are not the same."
    )
    assert compare(MINE, theirs()).note == "The model and the system are the same."


def test_a_version_beside_itself_is_the_same_in_everything():
    comparison = compare(MINE, MINE)
    assert all(row.same for row in comparison.rows)
    assert {row.ratio for row in comparison.numbers} == {"1.00"}
