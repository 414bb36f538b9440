from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.errors import InputError
from dayzero.engines.llamacpp.logprobs import DIALECT as LLAMACPP
from dayzero.engines.vllm.logprobs import DIALECT as VLLM
from dayzero.gates.exchange import Side
from dayzero.gates.model import Arm, DistributionPlan
from dayzero.gates.ports import LogprobDialect
from dayzero.gates.probe import Scoring, Seen
from dayzero.gates.prompts import Layout, of_ids, of_text, texts
from dayzero.gates.setting import SIDES, Setting, schedule

LAYOUT = Layout(context=8, tail=5)
SENTENCES = ("The mill stands by the river.", "Nobody asked the miller.", "It rained on the third day of the fair.")


def seen(side: Side, dialect: LogprobDialect, scoring: Scoring) -> Seen:
    return Seen(
        side=side,
        url=f"http://{side}",
        model="m",
        engine="",
        build="",
        dialect=dialect,
        takes_ids=True,
        names_ids=True,
        k=20,
        scoring=scoring,
        meaning="raw",
        tokenizer=None,
    )


def setting(prompts: int = 40, seed: int = 3) -> Setting:
    ids = [tuple(range(100 * number, 100 * number + 20)) for number in range(prompts)]
    return Setting(
        plan=DistributionPlan(prompts=prompts, positions=5, seed=seed, looks=1),
        layout=LAYOUT,
        seen={"A": seen("A", VLLM, "prompt"), "B": seen("B", LLAMACPP, "prefix")},
        sheets=tuple(of_ids(each, LAYOUT, first=(1,)) for each in ids),
        tokenizers={"A": "t", "B": "t"},
        notes=(),
    )


@pytest.mark.parametrize("arm", list(Arm))
def test_each_half_of_the_requests_sees_each_prompt_once_and_captures_are_drawn_into_both(arm):
    fixed = setting()
    for side, names in (("A", ("A1", "A2")), ("B", ("B1", "B2"))):
        order = list(dict.fromkeys((job.key.capture, job.key.prompt) for job in schedule(fixed, arm, 0)[side]))
        order = [each for each in order if each[0] != "positive"]
        first, second = order[:40], order[40:]
        assert {prompt for _, prompt in first} == {prompt for _, prompt in second} == set(range(40))
        counts = Counter(name for name, _ in first)
        assert set(counts) == set(names)
        assert min(counts.values()) > 8
        assert [prompt for _, prompt in first] != [prompt for _, prompt in second]


def test_the_order_is_the_seeds_and_nothing_elses():
    assert schedule(setting(), Arm.DECODE, 0) == schedule(setting(), Arm.DECODE, 0)
    assert schedule(setting(), Arm.DECODE, 0) != schedule(setting(seed=4), Arm.DECODE, 0)


def test_every_question_has_a_key_of_its_own_and_the_plan_counts_them():
    fixed = setting()
    jobs = [job for arm in Arm for side in SIDES for job in schedule(fixed, arm, 0)[side]]
    assert len({job.key for job in jobs}) == len(jobs) == sum(fixed.requests().values())
    assert fixed.requests() == {"A": 40 * 3 * 2, "B": 40 * 2 * (5 + 1)}


def test_a_prompt_is_scored_by_its_prefixes_where_there_is_no_other_way():
    jobs = [job for job in schedule(setting(), Arm.PREFILL, 0)["B"] if (job.key.capture, job.key.prompt) == ("B1", 2)]
    asked = [job.question.body["prompt"] for job in jobs]
    assert asked == [[1, *range(200, 200 + end)] for end in range(8, 13)]
    assert {job.question.body["max_tokens"] for job in jobs} == {1}


def test_two_captures_of_one_prompt_are_the_same_question_but_for_what_keeps_it_out_of_the_cache():
    jobs = {
        job.key.capture: job.question.body for job in schedule(setting(), Arm.DECODE, 0)["A"] if job.key.prompt == 7
    }
    a1, a2 = dict(jobs["A1"]), dict(jobs["A2"])
    assert a1.pop("cache_salt") != a2.pop("cache_salt")
    assert a1 == a2


def test_the_positive_control_lacks_most_of_the_context_and_keeps_what_stands_in_front_and_the_tail():
    sheet = of_ids(tuple(range(100, 120)), LAYOUT, first=(1,))
    assert sheet.whole == (1, *range(100, 113))
    assert sheet.whole_dropped == (1, *range(106, 113))
    assert sheet.context == (1, *range(100, 108))
    assert sheet.context_dropped == (1, 106, 107)


def test_text_is_cut_by_words_where_ids_are_not_taken():
    sheet = of_text("a b c d e f g h i j k l m n o", LAYOUT)
    assert (sheet.whole, sheet.whole_dropped) == ("a b c d e f g h i j k l m", "g h i j k l m")
    assert (sheet.context, sheet.context_dropped) == ("a b c d e f g h", "g h")


def test_a_text_with_too_few_tokens_is_refused_with_what_mends_it():
    with pytest.raises(InputError, match="a prompt of 13 tokens was asked for, and its text has 12"):
        of_ids(tuple(range(12)), LAYOUT)


@given(st.integers(0, 2**32), st.integers(2, 90), st.integers(1, 90))
def test_prompts_are_the_seeds_alone_begin_apart_and_are_long_enough(seed, context, tail):
    layout = Layout(context=context, tail=tail)
    written = texts(SENTENCES, layout, seed=seed, prompts=3)
    assert written == texts(SENTENCES, layout, seed=seed, prompts=3)
    assert len({text.split()[1] for text in (*written, *texts(SENTENCES, layout, seed=seed + 1, prompts=3))}) == 6
    assert min(map(len, written)) >= 8 * (context + tail)
    assert 1 <= layout.dropped < context


def test_a_context_that_leaves_nothing_to_drop_is_refused():
    with pytest.raises(InputError, match="leaves none to drop"):
        replace(LAYOUT, context=1)
