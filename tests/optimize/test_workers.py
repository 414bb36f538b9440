"""Several workers of one study choose in turn: no combination is measured twice, and no start is one too many."""

import json
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.optimize.searching import plan, product_of, space
from tests.simulators.flag_bench import DrawingSampler, FlagBench

from dayzero.adapters.study_journal import StudyJournal
from dayzero.optimize.facts import Begun
from dayzero.optimize.plan import Plan, Tools, view
from dayzero.optimize.search import search


class SlowBench(FlagBench):
    """Takes its time to look and to measure, so that workers meet."""

    def look(self, flags):
        time.sleep(0.002)
        return super().look(flags)

    def measure(self, number, flags, watch):
        time.sleep(0.01)
        return super().measure(number, flags, watch)


class Numbers(DrawingSampler):
    """Numbers of one worker, apart from those of the others."""

    def __init__(self, asked: Plan, first: int) -> None:
        super().__init__({one.name: one.levels for one in asked.space.settings}, seed=first + 1)
        self.asked = first * 1000


def searched(folder: Path, *, workers: int, trials: int | None):
    space_ = space()

    def work(place: int) -> None:
        asked = plan(space_, worker=f"worker-{place}", trials=trials)
        bench = SlowBench(product_of)
        journal = StudyJournal(folder, asked.worker)
        tools = Tools(
            bench=bench, sampler=Numbers(asked, place), journal=journal, clock=time.time, told=lambda *_: None
        )
        search(asked, tools)

    # The package as it is stands before the workers begin.
    work_first = plan(space_, worker="main", trials=1)
    tools = Tools(
        bench=SlowBench(product_of),
        sampler=Numbers(work_first, 9),
        journal=StudyJournal(folder, "main"),
        clock=time.time,
        told=lambda *_: None,
    )
    search(work_first, tools)
    threads = [threading.Thread(target=work, args=(place,)) for place in range(workers)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    return view(plan(space_), StudyJournal(folder, "reader")).state.trials


def twice(trials) -> int:
    return sum(count - 1 for count in Counter(one.point for one in trials).values())


def test_workers_measure_no_combination_twice_and_all_of_them(tmp_path: Path) -> None:
    trials = searched(tmp_path, workers=3, trials=None)
    assert twice(trials) == 0
    assert len(trials) == 18
    assert len({one.worker for one in trials}) == 4


def test_workers_together_make_no_start_too_many(tmp_path: Path) -> None:
    assert len(searched(tmp_path, workers=3, trials=8)) == 8


def test_a_turn_ends_with_its_holder(tmp_path: Path) -> None:
    journal = StudyJournal(tmp_path, "main")
    with pytest.raises(KeyboardInterrupt), journal.turn():
        raise KeyboardInterrupt
    with StudyJournal(tmp_path, "other").turn():
        pass


def test_the_lock_of_the_turn_is_no_journal(tmp_path: Path) -> None:
    journal = StudyJournal(tmp_path, "main")
    with journal.turn():
        journal.write(Begun(at_s=1.0, worker="main", number=0, role="stock", point=()))
    assert len(journal.facts()) == 1
    assert json.loads((tmp_path / "main.jsonl").read_text())["type"] == "begun"
