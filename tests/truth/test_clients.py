"""What the comparison of clients takes for the truth, and which of its steps say something."""

from bench.load_generators import Load, Said
from bench.truth.server import Truth

from bench import clients

LOAD = {"url": "", "streams": 2, "requests": 3, "tokens": 4}


def served(number: int, ttft_ms: int, *, late_ms: float = 0.0, asked: int = 4) -> Truth:
    arrived = number * 100_000_000
    first = arrived + ttft_ms * 1_000_000
    return Truth(
        number=number,
        port=1,
        nth_on_connection=number,
        prompt_tokens=1,
        asked=asked,
        sent=asked,
        before_last=asked - 1,
        chunks=asked,
        failed=False,
        arrived=arrived,
        first_written=first,
        last_written=first + 3_000_000,
        late_max=round(late_ms * 1e6),
        chunk_written=(),
    )


def step(streams: int, *, late_ms: float = 0.0, lag_ms: float = 0.1) -> clients.Row:
    truth = {"requests": 3 * streams, "late_p99_ms": late_ms, "in_flight": streams, "chunks_per_s": 100.0 * streams}
    return clients.Row(client="dayzero", case=f"{streams} streams", truth=truth, said=Said(lag_p99_ms=lag_ms))


def test_the_truth_is_that_of_the_measured_requests_and_the_tokens_those_of_all(tmp_path):
    probe, warm_up, measured = (
        served(1, 500, asked=2),
        [served(2, 900), served(3, 800)],
        [served(n, 50) for n in (4, 5, 6)],
    )
    truth = clients.truth_of([*measured, probe, *warm_up], Load(folder=tmp_path, **LOAD))
    assert (truth["requests"], truth["ttft_p50"], truth["ttft_p99"], truth["tokens"]) == (3, 50.0, 50.0, 20)


def test_a_search_that_the_server_ended_says_so_and_gives_the_last_step_that_says_something():
    told = clients.events_table([step(256), step(307), step(368, late_ms=2.5)])
    assert told.splitlines()[-1] == (
        "dayzero kept up with 30700 events/s (307 streams); the server ended the search, not the client "
        "(368 streams: says nothing: the truth server itself was 2.50 ms late at p99)"
    )


def test_a_search_that_the_client_ended_says_what_it_could_not():
    told = clients.events_table([step(256), step(307, lag_ms=1.5)])
    assert told.splitlines()[-1] == (
        "dayzero kept up with 25600 events/s (256 streams); the client's limit (307 streams: lag p99 1.5 ms)"
    )
