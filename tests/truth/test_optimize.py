"""The comparison of searchers: one space for all, starts that are counted by somebody else, and a table that hides nobody."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.optimize import Recommended, table
from bench.optimize_engine import SPACE, STOCK, TRIALS, flags_of, name_of, point_of, points
from bench.optimize_searchers import ABSENT, Tools, noted, sampled, searchers


def recommended(name: str, point, **changes: Any) -> Recommended:
    facts = {"searches": "somehow", "starts": 6, "met_at": 2, "seconds": 10.0, "why": "", **changes}
    return Recommended(name=name, point=point, **facts)


def test_the_stock_is_one_combination_of_the_space() -> None:
    assert points().count(STOCK) == 1
    assert len(points()) >= TRIALS * 3


@pytest.mark.parametrize("point", points(), ids=name_of)
def test_a_combination_is_read_back_from_its_flags(point) -> None:
    assert point_of(flags_of(point)) == point


def test_a_flag_that_is_left_out_is_at_its_stock() -> None:
    assert point_of(("--n-ubatch", "8")) == {**STOCK, "n-ubatch": "8"}


def test_every_plain_baseline_has_as_many_starts_and_repeats_none() -> None:
    for one in sampled():
        names = [name_of(point) for point in one.chosen]
        assert len(set(names)) == len(names) == TRIALS


def test_starts_are_read_from_what_the_stand_in_noted(tmp_path: Path) -> None:
    lines = [{"at": 1.0, "flags": ["--host", "127.0.0.1", "--n-ubatch", "8"]}, {"at": 2.0, "flags": []}]
    (tmp_path / "starts.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert noted(tmp_path) == [{**STOCK, "n-ubatch": "8"}, STOCK]


def test_the_smallest_regret_stands_first_and_it_is_held_against_the_best_measured_again() -> None:
    best, other = dict(zip(SPACE, ("2", "4", "512"), strict=True)), dict(zip(SPACE, ("1", "1", "8"), strict=True))
    confirmed = {name_of(best): 400.0, name_of(other): 100.0, name_of(STOCK): 300.0}
    lines = table([recommended("slow", other), recommended("quick", best)], confirmed)
    rows = [line for line in lines if line.startswith("| ")]
    assert rows[1].startswith("| quick ")
    assert rows[1].endswith("| 400.0 | 0.0% |")
    assert rows[2].endswith("| 100.0 | 75.0% |")


def test_who_recommends_nothing_or_cannot_be_run_stands_in_the_table_with_the_reason() -> None:
    confirmed = {name_of(STOCK): 300.0}
    text = "\n".join(table([recommended("mute", None, why="it accepts none of its trials")], confirmed))
    assert "nothing: it accepts none of its trials" in text
    for one in ABSENT:
        assert f"not run: {one.why}" in text


def test_a_searcher_that_is_not_installed_is_found_out_before_it_is_run(tmp_path: Path) -> None:
    missing = [one.name for one in searchers(Tools(peers=tmp_path, vllm=tmp_path)) if not one.program.exists()]
    assert len(missing) == 3
    assert "dayzero optimize" not in missing
