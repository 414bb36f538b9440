"""The scraper beside a run."""

import ctypes
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dayzero.adapters.measuring.server import servers_of
from dayzero.adapters.nvml import Gpus, GpusAbsentError
from dayzero.adapters.openai_http import Connection, Wording, parse_address
from dayzero.adapters.telemetry import Source, recording
from dayzero.bench.telemetry.exposition import series_names
from dayzero.bench.telemetry.model import Recording
from dayzero.bench.telemetry.window import read_recording

METRICS = b'# TYPE up gauge\nvllm:num_requests_running{m="x"} 3\nvllm:num_requests_running_by 9\nother 1\n'


@pytest.fixture
def serve() -> Iterator[Callable[[int, bytes], str]]:
    """Start a server whose /metrics answers as told."""
    with ExitStack() as stack:

        def start(status: int, body: bytes) -> str:
            class Handler(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    self.send_response(status)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

                def log_message(self, *_: object) -> None:
                    pass

            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            stack.callback(lambda: (server.shutdown(), thread.join(), server.server_close()))
            return f"http://127.0.0.1:{server.server_port}"

        yield start


def source(url: str) -> Source:
    (server,) = servers_of(Connection(url=url))
    wording = Wording(parse_address(url), api_key="")
    return Source(server=server, wording=wording, series=series_names({}), period_s=0.01)


def record(url: str, file: Path) -> Recording:
    with recording(source(url), file):
        until = time.monotonic() + 10
        while len(file.read_bytes().split(b"\n")) < 5 and time.monotonic() < until:
            time.sleep(0.01)
    with file.open("rb") as lines:
        return read_recording(lines)


def test_the_known_series_are_recorded_before_during_and_after(serve, tmp_path):
    before = time.monotonic_ns()
    recorded = record(serve(200, METRICS), tmp_path / "telemetry.jsonl")
    assert len(recorded.scrapes) >= 4
    assert {scrape.values["requests_running"] for scrape in recorded.scrapes} == {3.0}
    stamps = [scrape.at_ns for scrape in recorded.scrapes]
    in_order = [before, *stamps, time.monotonic_ns()]
    assert in_order == sorted(in_order)
    assert recorded.cost_s > 0


def test_lines_of_other_series_are_not_kept(serve, tmp_path):
    record(serve(200, METRICS), tmp_path / "telemetry.jsonl")
    kept = json.loads((tmp_path / "telemetry.jsonl").read_text().split("\n")[1])["metrics"]
    assert kept == 'vllm:num_requests_running{m="x"} 3'


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (501, b"", "/metrics answers HTTP 501 (a llama.cpp server needs --metrics, SGLang --enable-metrics)"),
        (200, b"other 1\n", "/metrics has none of the known series"),
    ],
)
def test_a_server_without_metrics_is_recorded_as_that(serve, tmp_path, status, body, expected):
    recorded = record(serve(status, body), tmp_path / "telemetry.jsonl")
    assert {scrape.error for scrape in recorded.scrapes} == {expected}


def test_a_server_that_is_gone_disturbs_nothing(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as free:
        url = f"http://127.0.0.1:{free.server_port}"
    recorded = record(url, tmp_path / "telemetry.jsonl")
    assert {scrape.error for scrape in recorded.scrapes} == {"/metrics: ConnectionRefusedError: ECONNREFUSED"}


def test_the_block_s_own_failure_comes_through_and_the_recording_is_whole(serve, tmp_path):
    file = tmp_path / "telemetry.jsonl"
    with pytest.raises(ValueError, match="mine"), recording(source(serve(200, METRICS)), file):
        raise ValueError("mine")
    assert "cost_s" in json.loads(file.read_text().split("\n")[-2])
    assert not [thread for thread in threading.enumerate() if thread.name == "telemetry"]


def test_a_machine_without_the_driver_s_library_says_so():
    with pytest.raises(GpusAbsentError, match=r"no libnothing-here.so.7 on this machine"):
        Gpus("libnothing-here.so.7")


def test_each_gpu_is_looked_at():
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        pytest.skip("needs a GPU")
    with Gpus() as gpus:
        looked = gpus.look()
        assert len(looked) == len(gpus.names)
        assert all(gpu.sm_mhz > 0 and gpu.power_w > 0 and gpu.memory_used_bytes > 0 for gpu in looked)
