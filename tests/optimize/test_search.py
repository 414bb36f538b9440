"""A whole search over engines that are arithmetic: what is started, what never is, and what is remembered."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.optimize.searching import ATTENTION, BATCH, SPEEDS, STOCK, THREADS, plan, product_of, run, space
from tests.simulators.flag_bench import FlagBench, MemoryJournal, died

from dayzero.core.errors import RemoteError
from dayzero.optimize.document import About, Found, of_result
from dayzero.optimize.model import Outcome, Refusal, Setting, changed
from dayzero.optimize.objective import Goal, parse_limits, parse_objectives
from dayzero.optimize.plan import view
from dayzero.optimize.space import points
from dayzero.optimize.stop import Watch


def best_of(now):
    return dict(now.standing.best.trial.point)


def test_a_third_of_the_grid_finds_the_best_of_flags_that_act_alone():
    """18 combinations; the search has 6 starts, the package itself among them."""
    end, now, _ = run(plan(space(), trials=6), FlagBench(product_of))
    assert end == "trials"
    assert best_of(now) == {"threads": "2", "batch": "512", "attention": "plain"}


@pytest.mark.parametrize("seed", range(20))
def test_a_third_of_the_grid_is_within_three_percent_of_the_best_under_noise(seed):
    """Effects are drawn: each flag helps or hurts by up to threefold, as threads and batches do; noise of a block 1 %."""
    draws = random.Random(seed)  # noqa: S311  (not a secret)
    effects = {name: {level: draws.uniform(1, 3) for level in levels} for name, levels in SPEEDS.items()}
    for name in ("threads", "batch"):  # along numbers, speed has one peak
        order = sorted(effects[name].values())
        levels = list(effects[name])
        peak = draws.choice([order, order[::-1], [order[0], order[2], order[1]], [order[1], order[2], order[0]]])
        effects[name] = dict(zip(levels, peak, strict=True))

    def speed(flags: Mapping[str, str]) -> float:
        found = 1.0
        for name, level in flags.items():
            found *= effects[name][level]
        return found

    bench = FlagBench(speed, noise=0.01, draws=random.Random(seed))  # noqa: S311  (not a secret)
    _, now, _ = run(plan(space(), trials=6), bench)
    truth = max(speed(dict(point)) for point in points(space()))
    assert speed(best_of(now)) >= 0.97 * truth


def test_a_flag_that_changes_nothing_is_left_as_the_package_has_it():
    """By noise alone its other level is better half of the time."""
    for seed in range(8):
        settings = (Setting(flag="--idle", levels=("a", "b")), BATCH)
        flags = ("--idle", "a", "--batch", "8")
        bench = FlagBench(lambda given: SPEEDS["batch"][given["batch"]], noise=0.001, draws=random.Random(seed))  # noqa: S311  (not a secret)
        _, now, _ = run(plan(space(*settings, flags=flags)), bench)
        assert best_of(now) == {"idle": "a", "batch": "512"}


def test_no_combination_is_started_twice_and_the_search_ends_when_all_were():
    bench = FlagBench(product_of)
    end, now, _ = run(plan(space()), bench)
    assert end == "exhausted"
    assert len(bench.started) == len(set(bench.started)) == 18
    assert [one.role for one in now.state.trials][:2] == ["stock", "step"]


def test_an_illegal_combination_is_never_started():
    def refuses(flags: tuple[str, ...]) -> Refusal | None:
        return Refusal("audit", "takes no 512") if "512" in flags else None

    bench = FlagBench(product_of, refuses=refuses)
    _, now, _ = run(plan(space()), bench)
    assert len(bench.started) == 12
    assert not any("512" in flags for flags in bench.started)
    assert all(one.by == "audit" for one in now.state.pruned)


def test_a_search_that_did_not_look_would_start_it():
    """Plant the fault: a bench that refuses nothing starts what the one above never does."""
    bench = FlagBench(product_of)
    run(plan(space()), bench)
    assert any("512" in flags for flags in bench.started)


def test_a_crash_is_kept_out_by_the_setting_that_its_log_names():
    bench = FlagBench(product_of, falls=lambda given: died("died", "--batch") if given["batch"] == "512" else None)
    _, now, sampler = run(plan(space()), bench)
    assert sum("512" in flags for flags in bench.started) == 1
    (wall,) = now.walls(space().stock)
    assert (wall.point, wall.named) == ((("batch", "512"),), True)
    kept_out = [one for one in now.state.pruned if one.by == "wall"]
    assert len(kept_out) == 5
    assert kept_out[0].why.startswith(f"trial {wall.trial} with batch 512 died")
    assert sampler.told[wall.trial].how == "bad"


def test_a_crash_that_names_nothing_keeps_out_what_contains_all_that_was_changed():
    def falls(given: Mapping[str, str]) -> Outcome | None:
        return died() if given["batch"] == "512" and given["threads"] == "2" else None

    bench = FlagBench(product_of, falls=falls)
    _, now, _ = run(plan(space()), bench)
    (wall,) = now.walls(space().stock)
    assert wall.named is False
    assert set(wall.point) >= {("threads", "2"), ("batch", "512")}
    assert sum("512" in flags and "2" in flags for flags in bench.started) <= 2


def test_the_log_is_not_believed_where_what_it_names_was_seen_to_serve():
    def falls(given: Mapping[str, str]) -> Outcome | None:
        return died("died", "batch") if given["batch"] == "64" and given["threads"] == "2" else None

    batch_first = space(BATCH, THREADS, flags=("--batch", "8", "--threads", "1"))
    bench = FlagBench(product_of, falls=falls)
    _, now, _ = run(plan(batch_first), bench)
    assert any("64" in flags and "2" not in flags for flags in bench.started)
    walls = now.walls(batch_first.stock)
    assert [(set(wall.point), wall.named) for wall in walls] == [({("batch", "64"), ("threads", "2")}, False)]


@pytest.mark.parametrize("kind", ["died-at-start", "never-healthy", "died-under-load"])
def test_a_package_that_does_not_serve_ends_the_study(kind):
    bench = FlagBench(product_of, falls=lambda _: replace(died(), kind=kind))
    end, now, _ = run(plan(space()), bench)
    assert (end, len(bench.started)) == ("stock", 1)
    assert now.standing.best is None


def test_a_package_that_is_never_measured_validly_is_tried_twice():
    invalid = Outcome(kind="invalid", reason="the client lagged", seconds=1.0, figures={}, missing={})
    bench = FlagBench(product_of, falls=lambda _: invalid)
    end, _, _ = run(plan(space()), bench)
    assert (end, len(bench.started)) == ("stock", 2)


def test_a_run_that_is_not_valid_is_tried_once_more_and_then_left():
    invalid = Outcome(kind="invalid", reason="the client lagged", seconds=1.0, figures={}, missing={})
    bench = FlagBench(product_of, falls=lambda given: invalid if given["threads"] == "2" else None)
    run(plan(space(THREADS, flags=("--threads", "1"))), bench)
    assert Counter(bench.started)[("--threads", "2")] == 2


def test_a_hopeless_trial_ends_early_and_what_it_saved_is_counted():
    bench = FlagBench(product_of, noise=0.01)
    _, now, sampler = run(plan(space(ATTENTION, flags=("--attention", "plain"))), bench)
    stopped = [one for one in now.state.trials if one.kind == "stopped"]
    assert [dict(one.point) for one in stopped] == [{"attention": "fused"}]
    assert stopped[0].outcome.seconds < now.expected_s
    told = sampler.told[stopped[0].number]
    assert told.how == "partly"
    assert told.values[0] == pytest.approx(0.7 * now.standing.best.values[0], rel=0.05)
    result = document_of(now, plan(space(ATTENTION, flags=("--attention", "plain"))), devices=4)
    assert result["saved"]["stopped_trials"] == 1
    seconds = now.expected_s - stopped[0].outcome.seconds
    assert result["saved"]["device_seconds"] == pytest.approx(4 * seconds, abs=0.2)


def test_a_search_by_latency_or_for_a_front_ends_no_trial_early():
    for objective in ("ttft_ms.p50", "output_tok_s,ttft_ms.p50"):
        goal = Goal(objectives=parse_objectives(objective, devices=1, price_per_hour=None))
        _, now, _ = run(plan(space(), goal=goal), FlagBench(product_of))
        assert {one.kind for one in now.state.trials} == {"measured"}


def test_a_limit_makes_the_fastest_one_that_breaks_it_ineligible():
    goal = Goal(
        objectives=parse_objectives("output_tok_s", devices=1, price_per_hour=None),
        limits=parse_limits("ttft_ms.p50=200"),
    )

    class Slow(FlagBench):
        def measure(self, number: int, flags: tuple[str, ...], watch: Watch) -> Outcome:
            found = super().measure(number, flags, watch)
            late = 900.0 if "512" in flags else 100.0
            return replace(found, figures={**found.figures, "ttft_ms.p50": late})

    _, now, sampler = run(plan(space(), goal=goal), Slow(product_of))
    assert best_of(now) == {"threads": "2", "batch": "64", "attention": "plain"}
    broken = [one for one in now.standing.placed if one.values and not one.eligible]
    assert broken
    assert all(sampler.told[one.trial.number].violations == (3.5,) for one in broken)


def test_a_front_holds_what_no_other_one_beats_in_everything():
    goal = Goal(objectives=parse_objectives("output_tok_s,ttft_ms.p50", devices=1, price_per_hour=None))

    class Traded(FlagBench):
        def measure(self, number: int, flags: tuple[str, ...], watch: Watch) -> Outcome:
            found = super().measure(number, flags, watch)
            return replace(found, figures={**found.figures, "ttft_ms.p50": found.figures["output_tok_s"]})

    _, now, _ = run(plan(space(), goal=goal), Traded(product_of))
    values = [one.values for one in now.standing.placed if one.values]
    assert len(now.standing.front) == len(values) == 18


def test_a_machine_that_slows_down_does_not_make_the_first_trials_winners():
    """From the fourth trial on everything takes twice as long: without baselines an early loser would be best."""

    def moves(now_s: float) -> float:
        return 1.0 if now_s < 80 else 0.5

    settings = (Setting(flag="--attention", levels=("plain", "fused")), BATCH)
    flags = ("--attention", "plain", "--batch", "8")
    quiet, drifting = FlagBench(product_of), FlagBench(product_of, moves=moves)
    _, truth, _ = run(plan(space(*settings, flags=flags)), quiet)
    _, now, _ = run(plan(space(*settings, flags=flags), baseline_every=1), drifting)
    assert best_of(now) == best_of(truth)
    moved = [one for one in now.standing.baselines if one.drifted]
    assert len(moved) == 1
    assert now.standing.baselines[-1].level[0] == pytest.approx(-0.69, abs=0.05)
    assert {round(one.scale[0], 1) for one in now.standing.placed[-3:]} == {0.5}


def test_without_baselines_the_same_drift_goes_unseen():
    """Plant the fault: the best one is then told from when it ran."""
    bench = FlagBench(product_of, moves=lambda now_s: 1.0 if now_s < 30 else 0.1)
    _, now, _ = run(plan(space(BATCH, flags=("--batch", "8"))), bench)
    assert best_of(now) == {"batch": "8"}
    again = FlagBench(product_of, moves=lambda now_s: 1.0 if now_s < 30 else 0.1)
    _, held, _ = run(plan(space(BATCH, flags=("--batch", "8")), baseline_every=1), again)
    assert best_of(held) != {"batch": "8"}


def test_baselines_come_after_as_many_trials_as_was_said():
    _, now, _ = run(plan(space(), baseline_every=3, trials=9), FlagBench(product_of))
    assert [index for index, one in enumerate(now.state.trials) if one.role == "baseline"] == [4, 8]


def test_no_trial_is_begun_that_would_end_after_the_budget():
    bench = FlagBench(product_of)
    end, now, _ = run(plan(space(), budget_s=120.0), bench)
    assert end == "budget"
    assert now.state.spent_s <= 120.0
    assert len(bench.started) >= 2


def test_an_interrupted_search_marks_its_trial_and_goes_on_where_it_was():
    journal, bench = MemoryJournal(), FlagBench(product_of, interrupt_at=2)
    with pytest.raises(KeyboardInterrupt):
        run(plan(space()), bench, journal)
    assert view(plan(space()), journal).state.trials[-1].kind == "interrupted"
    again = FlagBench(product_of, now_s=bench.now_s)
    end, now, _ = run(plan(space()), again, journal)
    assert end == "exhausted"
    assert again.started[0] == bench.started[-1]
    assert len(set(bench.started) | set(again.started)) == 18
    assert len(set(bench.started) & set(again.started)) == 1
    assert best_of(now) == {"threads": "2", "batch": "512", "attention": "plain"}


def test_a_killed_worker_loses_the_trial_in_flight_and_no_other():
    journal, bench = MemoryJournal(), FlagBench(product_of)
    run(plan(space(), trials=4), bench, journal)
    journal.kept.pop()  # its last fact never came to the disk
    again = FlagBench(product_of, now_s=bench.now_s)
    _, now, _ = run(plan(space(), trials=5), again, journal)
    assert Counter(one.kind for one in now.state.trials)["interrupted"] == 1
    assert again.started[0] == bench.started[-1]


def test_another_workers_trial_in_flight_is_left_alone():
    journal, bench = MemoryJournal(), FlagBench(product_of)
    run(plan(space(), trials=4, worker="other"), bench, journal)
    journal.kept.pop()
    again = FlagBench(product_of, now_s=bench.now_s)
    _, now, _ = run(plan(space(), trials=5), again, journal)
    assert [one.kind for one in now.state.trials][3] == "running"
    assert again.started[0] != bench.started[-1]


def test_what_the_machine_refuses_ends_the_search_and_is_written_down():
    class Broken(FlagBench):
        def measure(self, number: int, flags: tuple[str, ...], watch: Watch) -> Outcome:
            if number == 1:
                raise RemoteError("the disk is full", hint="Free some space.")
            return super().measure(number, flags, watch)

    journal = MemoryJournal()
    with pytest.raises(RemoteError, match="the disk is full"):
        run(plan(space()), Broken(product_of), journal)
    last = view(plan(space()), journal).state.trials[-1]
    assert (last.kind, last.outcome.reason) == ("failed", "the disk is full")


def test_seeds_come_right_after_the_package():
    seed = (("threads", "4"), ("batch", "64"), ("attention", "fused"))
    bench = FlagBench(product_of)
    _, now, _ = run(plan(space(), seeds=(seed,), trials=3), bench)
    assert [(one.role, one.point == seed) for one in now.state.trials[:2]] == [("stock", False), ("seed", True)]
    # The walk goes on from the better of the two.
    assert dict(now.state.trials[2].point)["attention"] == "fused"


def test_a_search_says_what_it_starts_and_what_came_of_it():
    said: list[str] = []
    run(plan(space(), trials=2), FlagBench(product_of), said=said.append)
    assert said == [
        "trial 0, stock: the package as it is",
        "trial 0 measured",
        "trial 1, step: threads 2",
        "trial 1 measured",
    ]


def document_of(now, asked, devices=1):
    from dayzero.core.workload import Cell  # noqa: PLC0415

    about = About(
        package="p",
        build="e==1",
        system="s",
        devices=devices,
        cell=Cell(name="c", concurrency=1, requests=48, warmup_requests=4, input_tokens=8, output_tokens=8),
        workload_seed=1,
        points_before=18,
        excluded=(),
        budget_s=asked.budget_s,
        notes=(),
    )
    found = Found(verdict="UNCONFIRMED", because=("x",), confirmation=None, gate={"asked": False}, winner=None)
    return of_result(about, asked.goal, asked.space, now, found)


def test_the_document_says_of_every_trial_what_changed_and_what_it_brought():
    def falls(given: Mapping[str, str]) -> Outcome | None:
        return died("died", "batch") if given["batch"] == "512" else None

    asked = plan(space(), baseline_every=4)
    _, now, _ = run(asked, FlagBench(product_of, falls=falls))
    result = document_of(now, asked)
    assert result["schema"] == "dayzero/optimize/v1"
    assert [one["number"] for one in result["trials"]] == [one.number for one in now.state.trials]
    assert result["trials"][0]["changed"] == {}
    assert result["best"]["changed"] == {"threads": "2", "batch": "64"}
    assert result["best"]["flags"] == ["--threads", "2", "--batch", "64", "--attention", "plain"]
    assert result["best"]["over_stock"] == pytest.approx(2.6, abs=0.01)
    (wall,) = result["walls"]
    assert (wall["never_again"], wall["by"], wall["kept_out"]) == ({"batch": "512"}, "named", 5)
    assert len(result["pruned"]) == result["saved"]["pruned_points"] == 5
    assert result["baselines"][1]["against_first"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert result["front"] == [result["best"]["trial"]]
    assert changed(tuple(result["best"]["point"].items()), space().stock) == (("threads", "2"), ("batch", "64"))
    assert asked.space.flags == STOCK
