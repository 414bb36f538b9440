"""The options of a load: what each combination measures, and which ones contradict each other."""

from pathlib import Path

import cyclopts
import pytest

from dayzero.bench.plans.knee import Search
from dayzero.cli.bench_knee import knee_search
from dayzero.cli.bench_load import Load, asks_for_knee, step_workload, workload
from dayzero.core.errors import InputError
from dayzero.core.workload import Cell, ClosedLoop, Constant, Poisson, Ramp, Replay, Slo


def parsed(*words: str) -> Load:
    app = cyclopts.App(result_action="return_value")

    @app.default
    def command(*, load: Load | None = None) -> Load:
        return load or Load()

    result = app(list(words), exit_on_error=False, print_error=False)
    assert isinstance(result, Load)
    return result


def cells(*words: str) -> tuple[Cell, ...]:
    return workload(parsed(*words)).cells


def test_without_options_it_is_one_stream():
    (cell,) = cells()
    assert cell == Cell(
        name="c1", concurrency=1, requests=32, warmup_requests=1, input_tokens=128, output_tokens=64, load=ClosedLoop()
    )


@pytest.mark.parametrize(
    ("words", "load", "concurrency", "requests", "warmup"),
    [
        (["--concurrency", "64"], ClosedLoop(), 64, 256, 64),
        (["--concurrency", "64", "--requests", "64", "--warmup", "0"], ClosedLoop(), 64, 64, 0),
        (["--rate", "20"], Poisson(20), 512, 200, 20),
        (["--rate", "2.5", "--arrivals", "constant", "--max-in-flight", "9"], Constant(2.5), 9, 32, 3),
        (
            ["--rate", "0", "--ramp-to", "10", "--ramp-over", "3"],
            Ramp(start_per_s=0, end_per_s=10, over_s=3, arrivals="poisson"),
            512,
            15,
            0,
        ),
        (["--turns", "5", "--think-time", "0.5", "--concurrency", "2"], ClosedLoop(), 2, 40, 10),
    ],
)
def test_options_become_a_load(words: list[str], load: object, concurrency: int, requests: int, warmup: int):
    (cell,) = cells(*words)
    assert cell.load == load
    assert (cell.concurrency, cell.requests, cell.warmup_requests) == (concurrency, requests, warmup)


@pytest.mark.parametrize(
    "words", [["--concurrency", "10", "--requests", "9"], ["--sweep", "1,10", "--requests", "9"]], ids=" ".join
)
def test_fewer_requests_than_streams_are_refused(words: list[str]):
    with pytest.raises(InputError, match="9 requests never keep 10 streams busy"):
        cells(*words)


@pytest.mark.parametrize(
    "words",
    [
        ["--concurrency", "10", "--requests", "10"],
        ["--concurrency", "10", "--turns", "5", "--warmup", "0", "--requests", "5"],
        ["--rate", "1", "--requests", "9"],
    ],
    ids=" ".join,
)
def test_where_no_stream_waits_for_a_second_request_few_are_enough(words: list[str]):
    assert cells(*words)


def test_a_sweep_has_a_cell_for_each_level():
    assert [(cell.name, cell.concurrency) for cell in cells("--sweep", "1,2,16")] == [("c1", 1), ("c2", 2), ("c16", 16)]
    rates = cells("--sweep", "0.5,20", "--arrivals", "poisson")
    assert [(cell.name, cell.load) for cell in rates] == [("r0.5", Poisson(0.5)), ("r20", Poisson(20.0))]


def test_a_trace_is_replayed_with_its_own_lengths(tmp_path: Path):
    file = tmp_path / "trace.csv"
    rows = "".join(f"2023-11-16 18:17:0{second},{10 * second + 10},{second + 1}\n" for second in range(5))
    file.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + rows, encoding="utf-8")
    words = ["--trace", str(file), "--trace-format", "azure", "--speed", "2", "--warmup", "1"]
    (cell,) = cells(*words)
    assert isinstance(cell.load, Replay)
    assert cell.load.speed == 2
    assert (cell.warmup_requests, cell.requests, cell.input_tokens, cell.output_tokens) == (1, 4, 30, 3)
    (short,) = cells(*words, "--requests", "2")
    assert (short.warmup_requests, short.requests) == (1, 2)


def test_a_trace_that_cannot_be_read_is_an_input_error(tmp_path: Path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xff")
    for name in ("absent", "binary"):
        with pytest.raises(InputError, match=name):
            cells("--trace", str(tmp_path / name), "--trace-format", "jsonl")


def test_objectives_and_a_shared_prefix_reach_every_cell():
    for cell in cells("--sweep", "1,2", "--slo", "ttft_ms=200", "--slo", "tpot_ms=50", "--shared-prefix-tokens", "64"):
        assert cell.slos == (Slo("ttft_ms", 200.0), Slo("tpot_ms", 50.0))
        assert cell.shared_prefix_tokens == 64


def test_the_seed_is_the_one_given_or_a_new_one():
    assert workload(parsed("--seed", "5")).seed == 5
    assert workload(parsed()).seed != workload(parsed()).seed


def test_a_search_for_the_knee_starts_where_it_is_told():
    assert not asks_for_knee(parsed())
    assert asks_for_knee(parsed("--sweep", "knee"))
    assert knee_search(parsed("--sweep", "knee")) == Search(start=1, limit=1024, whole=True, objective=False)
    rate = knee_search(parsed("--sweep", "knee", "--rate", "3", "--slo", "ttft_ms=90"))
    assert (rate.start, rate.whole, rate.objective) == (3, False, True)
    with pytest.raises(InputError, match="needs an objective"):
        knee_search(parsed("--sweep", "knee", "--rate", "3"))


def test_steps_towards_the_knee_send_the_same_lengths_with_other_prompts():
    sent = parsed("--sweep", "knee", "--seed", "5")
    one, again = (step_workload(sent, 8, number) for number in (0, 1))
    assert one.cells == again.cells
    assert one.nonce != again.nonce
    assert one.cells[0].concurrency == 8


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--concurrency 4 --rate 5", "--concurrency and --rate contradict each other"),
        ("--concurrency 4 --sweep 1,2", "--sweep and --concurrency contradict each other"),
        ("--rate 4 --sweep 1,2", "--sweep and --rate contradict each other"),
        ("--turns 3 --rate 5", "--turns and --rate contradict each other"),
        ("--trace f --rate 5", "--trace and --rate contradict each other"),
        ("--trace f --trace-format azure --input-tokens 5", "--trace and --input-tokens contradict each other"),
        ("--trace f", "--trace says nothing on its own"),
        ("--trace-format azure", "--trace-format says nothing on its own"),
        ("--speed 2", "--speed says nothing on its own"),
        ("--arrivals poisson", "--arrivals says nothing on its own"),
        ("--max-in-flight 5", "--max-in-flight says nothing on its own"),
        ("--rate 1 --ramp-to 5", "--ramp-to says nothing on its own"),
        ("--rate 1 --ramp-over 5", "--ramp-over says nothing on its own"),
        ("--ramp-to 5 --ramp-over 5", "--ramp-to says nothing on its own"),
        ("--rate 1 --ramp-to 5 --ramp-over 5 --sweep knee", "--sweep and --ramp-to contradict each other"),
        ("--think-time 5", "--think-time says nothing on its own"),
        ("--sweep 1,x", "--sweep 1,x is no list of whole numbers"),
        ("--sweep 1.5", "--sweep 1.5 is no list of whole numbers"),
        ("--sweep 4,2", "--sweep 4,2 does not rise"),
        ("--concurrency 0", "concurrency must be at least 1"),
        ("--sweep 0", "concurrency must be at least 1"),
        ("--sweep knee", "levels are not known before the knee"),
        ("--slo ttft_ms", "--slo ttft_ms is no objective"),
        ("--slo speed=3", "no objective for 'speed'"),
        ("--rate -1", "rate_per_s must be above 0"),
        ("--turns 3 --requests 4", "requests is no multiple of 3 turns"),
    ],
)
def test_options_that_contradict_each_other_are_refused(words: str, complaint: str):
    with pytest.raises(InputError, match=complaint) as raised:
        workload(parsed(*words.split()))
    assert raised.value.hint
