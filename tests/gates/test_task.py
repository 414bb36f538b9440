"""What the task gate says of two arms, and when it says nothing."""

from dataclasses import replace

import pytest

from dayzero.core.verdict import Undecided
from dayzero.gates.model import Different, GateVerdict, Inconclusive, NoInstrument, Same
from dayzero.gates.report import reasons, word
from dayzero.gates.task import Item, TaskArm, TaskPlan, judge_task
from dayzero.gates.task_document import document, sentences, skipped_document

PLAN = TaskPlan(task="t", margin=0.1)


def arm(right: str, **changes: object) -> TaskArm:
    """Make an arm of a row of 1, 0 and x (nothing extracted)."""
    items = tuple(
        Item(
            key=f"t/{number}",
            asked=str(number),
            score=float(mark == "1"),
            extracted=mark != "x",
            target=f"{number % 20}",
        )
        for number, mark in enumerate(right)
    )
    return replace(TaskArm(items=items, truncated=0, failed=(), rule="r"), **changes)


def said(a: TaskArm, b: TaskArm, plan: TaskPlan = PLAN) -> GateVerdict:
    return judge_task(plan, a, b).verdict


HALF = "10" * 100


def test_equal_answers_are_the_same_at_a_margin_that_their_number_can_show():
    assert isinstance(said(arm(HALF), arm(HALF)), Same)


def test_equal_answers_of_few_items_are_inconclusive_at_a_small_margin():
    verdict = said(arm(HALF[:60]), arm(HALF[:60]), replace(PLAN, margin=0.02))
    assert isinstance(verdict, Inconclusive)
    assert "need" in reasons(verdict)[0]


def test_a_large_loss_and_a_large_gain_are_different():
    assert isinstance(said(arm("1" * 150 + "0" * 50), arm("1" * 100 + "0" * 100)), Different)
    assert isinstance(said(arm("1" * 100 + "0" * 100), arm("1" * 150 + "0" * 50)), Different)


def test_a_difference_that_is_shown_to_lie_within_the_margin_is_the_same():
    a, b = arm("1" * 520 + "0" * 480), arm("1" * 505 + "0" * 495)
    judged = judge_task(PLAN, a, b)
    assert judged.compared is not None
    assert judged.compared.exact_p < 0.001
    assert isinstance(judged.verdict, Same)


def test_equal_shares_of_different_items_are_not_taken_for_equal_answers():
    judged = judge_task(PLAN, arm("10" * 30), arm("01" * 30))
    assert judged.compared is not None
    assert (judged.compared.table.only_a, judged.compared.table.only_b) == (30, 30)
    assert isinstance(judged.verdict, Inconclusive)


def test_a_task_that_the_reference_cannot_do_is_no_instrument():
    verdict = said(arm("0" * 200), arm("0" * 200))
    assert isinstance(verdict, NoInstrument)
    assert word(verdict) == "unsound"


def test_a_task_whose_items_one_answer_gets_right_as_often_is_no_instrument_either():
    items = tuple(replace(item, target=str(number % 2)) for number, item in enumerate(arm(HALF).items))
    both = replace(arm(HALF), items=items)
    assert isinstance(said(both, both), NoInstrument)


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        (arm(HALF), arm(HALF, rule="other"), "different rules"),
        (arm(HALF), arm(HALF[:-1]), "not asked the same"),
        (arm(HALF[:10]), arm(HALF[:10]), "too few"),
        (arm(HALF, failed=("502: refused",)), arm(HALF), "502: refused"),
        (arm(HALF), arm("", failed=("lm-eval ended",)), "lm-eval ended"),
        (arm("x" * 20 + HALF), arm("1" * 20 + HALF), "no answer could be extracted"),
        (arm(HALF, truncated=20), arm(HALF), "the limit of tokens ended 20"),
        (arm(HALF), arm(HALF, truncated=20), "B: the limit of tokens"),
        (arm(HALF, items=(*arm(HALF).items, arm(HALF).items[0])), arm(HALF), "twice"),
        (arm(HALF, items=(replace(arm(HALF).items[0], score=0.5), *arm(HALF).items[1:])), arm(HALF), "neither right"),
        (arm(HALF, items=(replace(arm(HALF).items[0], score=float("nan")), *arm(HALF).items[1:])), arm(HALF), "nan"),
    ],
)
def test_what_cannot_be_compared_is_undecided_with_the_reason(a, b, why):
    verdict = said(a, b)
    assert isinstance(verdict, Undecided)
    assert why in verdict.reason


def test_other_questions_under_the_same_numbers_are_no_pairs():
    a = arm(HALF)
    b = replace(a, items=tuple(replace(item, asked="?") for item in a.items))
    assert isinstance(said(a, b), Undecided)


def test_answers_of_b_from_which_nothing_comes_are_wrong_and_never_the_same():
    judged = judge_task(PLAN, arm("1" * 200), arm("1" * 120 + "x" * 80))
    assert isinstance(judged.verdict, Different)
    assert "no answer could be extracted from 80" in judged.notes[0]
    assert isinstance(said(arm("1" * 200), arm("1" * 195 + "x" * 5)), Undecided)


def test_the_document_and_the_sentences_give_both_ways_of_discordance():
    judged = judge_task(PLAN, arm("1" * 150 + "0" * 50), arm("1" * 100 + "0" * 95 + "1" * 5))
    written = document(judged, served={}, files=(("plan.json", "00"),), rules=("t: exact_match of number",))
    assert written["schema"] == "dayzero/gate-task/v1"
    assert (written["compared"]["only_a_right"], written["compared"]["only_b_right"]) == (50, 5)
    text = "\n".join(sentences(judged))
    assert text.startswith("different: ")
    assert "discordant: 50 right in A alone, 5 in B alone, of 200 items" in text


def test_a_gate_that_was_not_run_says_skipped_and_why():
    written = skipped_document(PLAN, "no task fits this model")
    assert (written["verdict"], written["reasons"]) == ("skipped", ["no task fits this model"])
    assert "compared" not in written
