"""dayzero's measuring client beside its peers, all against one server that knows the truth, each on one core, paired in one run.

    python -m bench.clients                what each says of 256 streams, minus the truth, and what it costs
    python -m bench.clients --stalls       the same while the client is stopped 40 ms every half second
    python -m bench.clients --saturated    the same while other processes keep its core busy
    python -m bench.clients --events       the most server-sent events a second that one core takes in
    python -m bench.clients --awkward      the four streams on which clients disagree

Peers are installed by bench/peers.sh; one that is missing is a row that says so. The server runs on the first core that this
process may use, the client on the last. Raw results go into a JSON file beside the table (-o FOLDER). Run it on a quiet machine.
"""

import argparse
import compileall
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.load_generators import Load, LoadGenerator, Said, clients
from bench.truth.server import Truth, TruthServer

import dayzero
from bench import measured

SCHEMA = "dayzero/clients/v1"
STREAMS, WAVES, TOKENS = 256, 4, 128
TTFT_MS, ITL_MS = 50.0, 10.0
CHAT_ONLY = {"completions": 0, "role": 1, "ttft_ms": TTFT_MS, "itl_ms": ITL_MS}
TIME_LIMIT_S = 110
STALL_EVERY_S, STALL_S = 0.5, 0.040
BUSY_LOOPS = 3
EVENTS_STEP, EVENTS_START, EVENTS_MOST, EVENTS_PEERS, EVENTS_TRIES = 1.2, 128, 2000, 512, 3
LAG_LIMIT_MS, LATE_LIMIT_MS, IN_FLIGHT_SHARE = 1.0, 1.0, 0.95
AWKWARD: Mapping[str, Mapping[str, float]] = {
    "early role chunk": {"role": 2, "role_ms": 5},
    "4 tokens a chunk": {"tokens_per_chunk": 4},
    "64 reasoning tokens": {"reasoning": 64},
    "no usage": {"usage": 0},
}
AWKWARD_STREAMS, AWKWARD_REQUESTS = 8, 32

Disturbance = Callable[[Callable[[], list[int]]], Callable[[], None]]


def undisturbed(_: Callable[[], list[int]]) -> Callable[[], None]:
    """Leave a run alone."""
    return lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where things run: the server's core, the client's, and the folder for what clients write."""

    server_core: int
    client_core: int
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a client is run against.

    Attributes:
        name: Its name.
        streams, requests, tokens: The load.
        options: Of the truth server, on top of those of every case.
        beside: What disturbs the run.
    """

    name: str
    streams: int
    requests: int
    tokens: int = TOKENS
    options: Mapping[str, float] = field(default_factory=dict)
    beside: Disturbance = undisturbed


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One client's run beside the truth.

    Attributes:
        client: Its name.
        case: What it was run against.
        missing: Why there is no run, ``""`` where there is one.
        said: Its own figures.
        truth: What the server wrote down, in the same units.
        cost: What the run cost.
        failure: Why its figures cannot be read, ``""`` where they can.
    """

    client: str
    case: str
    missing: str = ""
    said: Said | None = None
    truth: Mapping[str, float] | None = None
    cost: measured.Cost | None = None
    failure: str = ""


def quantile(values: Sequence[float], share: float) -> float:
    """Interpolate linearly between order statistics."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def truth_of(entries: Sequence[Truth], load: Load) -> Mapping[str, float]:
    """Sum up what the server wrote down, over the measured requests of the load.

    Probes ask for other lengths. Warm-up requests come before the measured ones, and only ``tokens`` counts them: they cost too.
    """
    every = [entry for entry in entries if entry.asked == load.tokens and entry.chunks and not entry.failed]
    served = sorted(every, key=lambda entry: entry.arrived)[-load.requests :]
    if not served:
        return {"requests": 0}
    ttft = [entry.ttft_ms for entry in served]
    tokens = sum(entry.sent for entry in served)
    seconds = (max(e.last_written for e in served) - min(e.arrived for e in served)) / 1e9
    return {
        "requests": len(served),
        "tokens": sum(entry.sent for entry in every),
        "ttft_mean": sum(ttft) / len(ttft),
        "ttft_p50": quantile(ttft, 0.5),
        "ttft_p99": quantile(ttft, 0.99),
        "itl_mean": sum(entry.itl_ms for entry in served) / len(served),
        "in_flight": in_flight(served, load.streams),
        "tokens_per_s": tokens / seconds,
        "chunks_per_s": sum(entry.chunks for entry in served) / seconds,
        "late_p99_ms": quantile([entry.late_max / 1e6 for entry in served], 0.99),
    }


def in_flight(served: Sequence[Truth], streams: int) -> float:
    """Average the requests that the server had at once, from the arrival that starts the last stream to the last arrival."""
    arrivals = sorted(entry.arrived for entry in served)
    begin, end = arrivals[min(streams, len(arrivals)) - 1], arrivals[-1]
    if end <= begin:
        return float(len(served))
    held = sum(max(0, min(entry.last_written, end) - max(entry.arrived, begin)) for entry in served)
    return held / (end - begin)


def attempt(client: LoadGenerator, case: Case, place: Place) -> Row:
    """Run a client against a truth server of its own, if it is installed."""
    if client.missing:
        return Row(client=client.name, case=case.name, missing=client.missing)
    progress(f"{client.name}: {case.name}")
    name = "".join(letter if letter.isalnum() else "-" for letter in f"{client.name}-{case.name}")
    with TruthServer({**CHAT_ONLY, **case.options}, core=place.server_core) as server:
        measured.keep(server.pid)
        folder = place.folder / name
        load = Load(url=server.url, streams=case.streams, requests=case.requests, tokens=case.tokens, folder=folder)
        log = folder.with_suffix(".log")
        cost = measured.run(
            [str(client.program), *client.words(load)],
            core=place.client_core,
            timeout_s=TIME_LIMIT_S,
            log=log,
            environment=client.environment,
            beside=case.beside,
        )
        truth = truth_of(server.truth(), load)
    printed = log.read_text(errors="replace")
    try:
        said, failure = client.figures(load, printed), ""
    except (OSError, ValueError, LookupError, TypeError) as error:
        last = printed.strip().split("\n")[-1][-200:]
        said, failure = None, f"no figures ({type(error).__name__}: {error}); exit code {cost.exit_code}; {last}"
    return Row(client=client.name, case=case.name, said=said, truth=truth, cost=cost, failure=failure)


def progress(text: str) -> None:
    """Say what is run now."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


# ---- what is run


def beside_truth(place: Place, beside: Disturbance, *, with_start: bool) -> list[Row]:
    """Run every client at 256 streams, and once for one request of two tokens."""
    wide = Case(name=f"{STREAMS} streams", streams=STREAMS, requests=STREAMS * WAVES, beside=beside)
    start = Case(name="start", streams=1, requests=1, tokens=2)
    cases = (wide, start) if with_start else (wide,)
    return [attempt(client, case, place) for client in clients() for case in cases]


def awkward(place: Place) -> list[Row]:
    """Run every client on each of the streams on which they disagree."""
    size = {"streams": AWKWARD_STREAMS, "requests": AWKWARD_REQUESTS}
    cases = [Case(name=name, options=options, **size) for name, options in AWKWARD.items()]
    return [attempt(client, case, place) for case in cases for client in clients()]


def limited(row: Row) -> str:
    """Say that the truth server itself was late, so that the step says nothing of the client; ``""`` when it was not."""
    late_ms = (row.truth or {}).get("late_p99_ms", 0.0)
    return f"says nothing: the truth server itself was {late_ms:.2f} ms late at p99" if late_ms > LATE_LIMIT_MS else ""


def not_sustained(row: Row, streams: int) -> str:
    """Say why a run did not keep up, or that the step cannot tell; ``""`` when it did."""
    truth, said = row.truth or {}, row.said or Said()
    if row.failure or not truth.get("requests"):
        return row.failure or "no request was served"
    if late := limited(row):
        return late
    if said.lag_p99_ms is None or said.lag_p99_ms > LAG_LIMIT_MS:
        return f"lag p99 {said.lag_p99_ms} ms"
    if truth["in_flight"] < IN_FLIGHT_SHARE * streams:
        return f"{truth['in_flight']:.0f} of {streams} in flight"
    return ""


def events(place: Place) -> list[Row]:
    """Raise dayzero's streams until it does not keep up; run the peers once, with more than they can take.

    A step in which the truth server itself was late says nothing of the client, and is taken again, a few times.
    """
    ours, *peers = clients()
    rows: list[Row] = []
    streams = EVENTS_START
    while streams <= EVENTS_MOST:
        for again in range(EVENTS_TRIES):
            name = f"{streams} streams{', again' * again}"
            rows.append(attempt(ours, Case(name=name, streams=streams, requests=3 * streams), place))
            if not limited(rows[-1]):
                break
        if not_sustained(rows[-1], streams):
            break
        streams = round(streams * EVENTS_STEP)
    wide = Case(name=f"{EVENTS_PEERS} streams", streams=EVENTS_PEERS, requests=2 * EVENTS_PEERS)
    return [*rows, *(attempt(client, wide, place) for client in peers)]


# ---- how it is printed


def error(said: float | None, true: float | None) -> str:
    """Write a client's figure minus the truth."""
    return "-" if said is None or true is None else f"{said - true:+.3f}"


def number(value: float | None, digits: int = 2) -> str:
    """Write a figure, ``-`` where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def verdict(row: Row) -> str:
    """Write whether the client calls its figures valid."""
    if row.said is None or row.said.valid is None:
        return "does not say"
    return "valid" if row.said.valid else "INVALID: " + "; ".join(row.said.reasons)[:100]


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Write rows in columns."""
    widths = [max(len(cells[column]) for cells in (head, *body)) for column in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        for cells in (head, *body)
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def main_table(rows: Sequence[Row]) -> str:
    """Print one line a client: errors, cost, start."""
    starts = {row.client: row.cost.wall_s for row in rows if row.case == "start" and row.cost}
    head = (
        "client",
        "TTFT p50",
        "p99",
        "ITL",
        "in flight",
        "CPU-s/1k tok",
        "in window",
        "peak MiB",
        "start s",
        "its verdict",
    )
    body = []
    for row in (each for each in rows if each.case != "start"):
        if row.missing or row.cost is None or row.truth is None:
            body.append((row.client, *["-"] * 8, row.missing))
            continue
        said, thousands = row.said or Said(), row.truth.get("tokens", 0) / 1000
        body.append(
            (
                row.client,
                error(said.ttft_p50, row.truth.get("ttft_p50")),
                error(said.ttft_p99, row.truth.get("ttft_p99")),
                error(said.itl_mean, row.truth.get("itl_mean")),
                number(row.truth.get("in_flight"), 1),
                number(row.cost.cpu_s / thousands, 4) if thousands else "-",
                number(said.window_cpu_s_per_1k, 4),
                number(row.cost.peak_rss_bytes / 2**20, 0),
                number(starts.get(row.client)),
                row.failure or verdict(row),
            )
        )
    true = next((row.truth for row in rows if row.case != "start" and row.truth), {})
    note = (
        f"Errors are the client's figure minus the server's, in ms; truth of the first: TTFT p50 {true.get('ttft_p50', 0):.3f}, "
        f"p99 {true.get('ttft_p99', 0):.3f}, ITL {true.get('itl_mean', 0):.4f}, late p99 {true.get('late_p99_ms', 0):.3f}"
    )
    return f"{table(head, body)}\n{note}"


def awkward_table(rows: Sequence[Row]) -> str:
    """Print what each client says of each stream, beside the truth."""
    head = ("stream", "client", "TTFT", "first answer", "ITL a token", "chunk gap", "tok/s", "its verdict")
    body: list[tuple[str, ...]] = []
    for case in AWKWARD:
        mine = [row for row in rows if row.case == case]
        true = next((row.truth for row in mine if row.truth), None)
        if true:
            gap = true["itl_mean"] * AWKWARD[case].get("tokens_per_chunk", 1)
            thought = AWKWARD[case].get("reasoning", 0)
            answer = true["ttft_mean"] + true["itl_mean"] * thought if thought else None
            figures = (number(true["ttft_mean"]), number(answer), number(true["itl_mean"]), number(gap))
            body.append((case, "truth", *figures, number(true["tokens_per_s"], 0), ""))
        for row in mine:
            said = row.said or Said()
            figures = (number(said.ttft_mean), number(said.answer_mean), number(said.itl_mean), number(said.gap_mean))
            body.append(
                ("", row.client, *figures, number(said.output_tok_s, 0), row.missing or row.failure or verdict(row))
            )
    return table(head, body)


def events_table(rows: Sequence[Row]) -> str:
    """Print the events a second of each run, and whether it kept up."""
    head = ("client", "streams", "events/s", "in flight", "lag p99 ms", "kept up")
    body = []
    for row in rows:
        true, said = row.truth or {}, row.said or Said()
        streams = int(row.case.split()[0])
        why = row.missing or (not_sustained(row, streams) if row.client == "dayzero" else row.failure or "does not say")
        rate, held = true.get("chunks_per_s"), true.get("in_flight")
        body.append(
            (row.client, str(streams), number(rate, 0), number(held, 0), number(said.lag_p99_ms, 3), why or "yes")
        )
    return f"{table(head, body)}\n{most_events(rows)}"


def most_events(rows: Sequence[Row]) -> str:
    """Say what the last step shows at which dayzero kept up, and who ended the search."""
    ours = [(row, int(row.case.split()[0])) for row in rows if row.client == "dayzero" and not row.missing]
    kept = [(row, streams) for row, streams in ours if not not_sustained(row, streams)]
    last = [f"{streams} streams: {why}" for row, streams in ours[-1:] if (why := not_sustained(row, streams))]
    ended = "".join(last)
    who = "the server ended the search, not the client" if ours and limited(ours[-1][0]) else "the client's limit"
    if not kept:
        return f"dayzero kept up at no step; {ended}"
    row, streams = kept[-1]
    rate = (row.truth or {}).get("chunks_per_s", 0.0)
    end = f"{who} ({ended})" if ended else f"more than {EVENTS_MOST} streams were not tried"
    return f"dayzero kept up with {rate:.0f} events/s ({streams} streams); {end}"


def plain(value: object) -> object:
    """Give a row as JSON has it."""
    return asdict(value) if isinstance(value, (Said, measured.Cost)) else value


def main() -> None:
    """Run what the command line names, print one table, and keep the raw results."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.clients", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    choice = parser.add_mutually_exclusive_group()
    for mode in ("stalls", "saturated", "events", "awkward"):
        choice.add_argument(f"--{mode}", dest="mode", action="store_const", const=mode)
    parser.add_argument(
        "-o", dest="folder", type=Path, default=Path("clients"), help="where the table and the raw results go"
    )
    options = parser.parse_args()
    mode = options.mode or "clients"
    cores = sorted(os.sched_getaffinity(0))
    compile_dayzero()
    measured.adopt_orphans()
    os.sched_setaffinity(0, {cores[0]})
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(server_core=cores[0], client_core=cores[-1], folder=Path(scratch))
        rows, text = results(mode, place)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "mode": mode,
        "server_core": cores[0],
        "client_core": cores[-1],
        "load_average": os.getloadavg(),
        "rows": [{name: plain(getattr(row, name)) for name in Row.__slots__} for row in rows],
    }
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / f"{mode}.json").write_text(json.dumps(document, indent=1) + "\n")
    (options.folder / f"{mode}.txt").write_text(text + "\n")
    print(text)


def compile_dayzero() -> None:
    """Compile dayzero's own files to bytecode, as pip does with the peers' and not with an editable install."""
    compileall.compile_dir(Path(dayzero.__file__).parent, quiet=2)


def results(mode: str, place: Place) -> tuple[list[Row], str]:
    """Run a mode; gives its rows and its table."""
    match mode:
        case "awkward":
            rows = awkward(place)
            return rows, awkward_table(rows)
        case "events":
            rows = events(place)
            return rows, events_table(rows)
        case "stalls":
            rows = beside_truth(place, measured.stalls(STALL_EVERY_S, STALL_S), with_start=False)
        case "saturated":
            rows = beside_truth(place, measured.busy_loops(BUSY_LOOPS, place.client_core), with_start=False)
        case _:
            rows = beside_truth(place, undisturbed, with_start=True)
    return rows, main_table(rows)


if __name__ == "__main__":
    main()
