"""Scrapes as they are recorded, and what a window over them says."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.bench.telemetry.exposition import KNOWN, exposition, pick, series_names
from dayzero.bench.telemetry.findings import document, findings
from dayzero.bench.telemetry.model import ClientSide, Gpu, Recording, Scrape, Unknown, Window
from dayzero.bench.telemetry.rules import judge
from dayzero.bench.telemetry.window import over, read_recording
from dayzero.core.verdict import verdict_word

ANSWERS = Path(__file__).parents[2] / "engines"
CLIENT = ClientSide(in_flight=8, cached_tokens=0, generated_tokens=None, declares_reuse=False)


def scrape(at_s: float, error: str = "", gpus: tuple[Gpu, ...] = (), **values: float) -> Scrape:
    return Scrape(at_ns=int(at_s * 1e9), took_ns=1, values=values, gpus=gpus, error=error)


def recorded(*scrapes: Scrape) -> Recording:
    return Recording(scrapes=scrapes, gpu_names=(), gpus_absent="", cost_s=0.0, set_aside=0)


def window(*scrapes: Scrape, from_s: float = 1, to_s: float = 3) -> Window:
    found = over(recorded(*scrapes), int(from_s * 1e9), int(to_s * 1e9))
    assert isinstance(found, Window)
    return found


def gpu(throttle: int = 0, sm_mhz: int = 1980) -> Gpu:
    return Gpu(
        index=0,
        sm_mhz=sm_mhz,
        memory_mhz=2619,
        power_w=600.5,
        temperature_c=61,
        memory_used_bytes=1,
        busy=0.9,
        throttle=throttle,
    )


def rules(found: Window | Unknown, client: ClientSide = CLIENT) -> dict[str, str]:
    return {finding.rule: finding.weight for finding in findings(found, client)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("up 1", [("up", (), 1.0)]),
        ('a:b{x="1",y="two"} 2.5 1700000000000', [("a:b", (("x", "1"), ("y", "two")), 2.5)]),
        (r'a{path="C:\\d\"q\"}\n"} 3', [("a", (("path", 'C:\\d"q"}\n'),), 3.0)]),
        ("a{} +Inf", [("a", (), float("inf"))]),
        ('a_total{le="1"} 7 # {trace_id="x"} 0.5 1.0', [("a_total", (("le", "1"),), 7.0)]),
        ("# HELP up is it up 1", []),
        ("up", []),
        ("up one", []),
        ("", []),
    ],
)
def test_a_line_of_an_exposition_is_read_or_passed_over(line, expected):
    assert [(s.name, s.labels, s.value) for s in exposition(line)] == expected


@given(
    labels=st.dictionaries(st.from_regex(r"[a-z_]\w{0,5}", fullmatch=True), st.text(max_size=12), max_size=3),
    value=st.floats(allow_nan=False),
)
def test_what_is_written_by_the_format_is_read_back(labels: Mapping[str, str], value: float):
    escaped = {key: text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for key, text in labels.items()}
    line = "name{" + ",".join(f'{key}="{text}"' for key, text in escaped.items()) + f"}} {value!r}"
    (sample,) = exposition(line)
    assert (dict(sample.labels), sample.value) == (labels, value)


def test_the_recorded_answer_of_llamacpp_gives_its_series():
    text = (ANSWERS / "llamacpp/answers/metrics.txt").read_text()
    assert pick(text, series_names({})) == {
        "requests_running": 0.0,
        "requests_waiting": 0.0,
        "prompt_tokens": 14.0,
        "generated_tokens": 6.0,
        "cached_tokens": 4.0,
    }


def test_every_name_of_vllm_is_one_that_it_was_recorded_with():
    stated = {line.split()[0] for line in (ANSWERS / "vllm/answers/metrics.txt").read_text().split("\n") if line}
    missing = [name for names in KNOWN.values() for name in names if name.startswith("vllm:") and name not in stated]
    assert missing == ["vllm:gpu_cache_usage_perc"]  # the name before 0.11


def test_a_series_is_summed_over_its_labels_and_the_dialects_name_comes_first():
    text = 'mine{e="0"} 3\nmine{e="1"} 4\nvllm:num_requests_running 9\nvllm:kv_cache_usage_perc NaN\n'
    assert pick(text, series_names({"requests_running": "mine"})) == {"requests_running": 7.0}


def test_a_part_of_a_total_that_stands_beside_it_is_not_added_to_it():
    text = (
        'sglang:num_running_reqs{tp_rank="0",priority=""} 5\nsglang:num_running_reqs{tp_rank="0",priority="1"} 3\n'
        'sglang:num_running_reqs{tp_rank="0",priority="2"} 2\n'
    )
    assert pick(text, series_names({})) == {"requests_running": 5.0}


def test_of_a_share_of_memory_that_several_ranks_state_the_largest_counts():
    text = 'sglang:token_usage{dp_rank="0"} 0.75\nsglang:token_usage{dp_rank="1"} 0.5\n'
    assert pick(text, series_names({})) == {"kv_used": 0.75}


def test_counters_hold_the_whole_window_and_gauges_only_what_lies_in_it():
    found = window(
        scrape(0, generated_tokens=100, requests_running=0),
        scrape(1.5, generated_tokens=150, requests_running=8),
        scrape(2.5, generated_tokens=260, requests_running=6),
        scrape(3.5, generated_tokens=300, requests_running=0),
        scrape(9, generated_tokens=900, requests_running=0),
    )
    assert found.counted == {"generated_tokens": 200}
    running = found.gauges["requests_running"]
    assert (running.mean, running.least, running.most, running.first, running.last) == (7, 6, 8, 8, 6)
    assert (found.from_ns, found.to_ns, found.scrapes) == (0, 3_500_000_000, 2)


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=20), st.data())
def test_a_counter_that_only_rises_is_counted_between_the_enclosing_scrapes(rises, data):
    total, scrapes = 0, []
    for second, rise in enumerate(rises):
        total += rise
        scrapes.append(scrape(second, generated_tokens=total))
    first = data.draw(st.integers(0, len(rises) - 2))
    last = data.draw(st.integers(first + 1, len(rises) - 1))
    assert window(*scrapes, from_s=first, to_s=last).counted["generated_tokens"] == sum(rises[first + 1 : last + 1])


def test_a_counter_that_went_back_is_a_restart():
    found = window(scrape(0, generated_tokens=50), scrape(2, generated_tokens=3), scrape(4, generated_tokens=10))
    assert (found.restarted, found.counted["generated_tokens"]) == (True, 7)
    assert rules(found)["server-restarted"] == "spoils"


@pytest.mark.parametrize(
    "recording",
    [
        recorded(),
        recorded(scrape(0, error="/metrics answers HTTP 404")),
        recorded(scrape(0, requests_running=1)),
        recorded(scrape(7, requests_running=1), scrape(7, requests_running=1)),
    ],
)
def test_without_two_scrapes_nothing_is_known_and_that_is_said(recording):
    found = over(recording, 10**9, 3 * 10**9)
    assert isinstance(found, Unknown)
    assert rules(found) == {"telemetry-absent": "note"}
    assert document(found) == {"absent": found.reason}


@pytest.mark.parametrize(
    ("hits", "told", "declared", "expected"),
    [
        (500, None, False, "the server took 500 prompt tokens out of its prefix cache and told the client nothing"),
        (500, 0, False, "the server took 500 prompt tokens out of its prefix cache and told the client 0"),
        (500, 0, True, ""),
        (10, 0, False, ""),
    ],
)
def test_cache_hits_that_only_the_server_saw_spoil_the_figures(hits, told, declared, expected):
    found = window(scrape(0, prompt_tokens=0, cached_tokens=0), scrape(4, prompt_tokens=1000, cached_tokens=hits))
    client = ClientSide(in_flight=8, cached_tokens=told, generated_tokens=None, declares_reuse=declared)
    assert [f.sentence for f in findings(found, client)] == ([expected] if expected else [])


@pytest.mark.parametrize(("received", "foreign"), [(None, False), (10_000, False), (9_800, False), (9_000, True)])
def test_tokens_that_another_client_received_spoil_the_figures(received, foreign):
    found = window(scrape(0, generated_tokens=0), scrape(4, generated_tokens=10_000))
    client = ClientSide(in_flight=8, cached_tokens=0, generated_tokens=received, declares_reuse=False)
    assert rules(found, client) == ({"foreign-load": "spoils"} if foreign else {})


def test_a_server_that_runs_fewer_than_asked_is_a_note():
    seconds = [scrape(t, requests_running=4, requests_waiting=4) for t in (0, 1, 2, 3, 4)]
    (finding,) = findings(window(*seconds), CLIENT)
    assert (finding.rule, finding.weight) == ("server-ran-fewer", "note")
    assert finding.sentence == "of 8 requests in flight the server ran 4.0 on average; 4.0 waited in its queue"
    assert findings(window(scrape(0, requests_running=4), scrape(2, requests_running=4), scrape(4)), CLIENT) == ()


def test_an_open_loop_keeps_no_number_in_flight():
    seconds = [scrape(t, requests_running=1) for t in range(5)]
    client = ClientSide(in_flight=0, cached_tokens=0, generated_tokens=None, declares_reuse=False)
    assert findings(window(*seconds), client) == ()


def test_preemptions_and_throttled_clocks_are_notes():
    found = window(
        scrape(0, preemptions=0),
        scrape(1, preemptions=1, gpus=(gpu(0x04),)),
        scrape(2, preemptions=2, gpus=(gpu(0x04 | 0x40, 1500),)),
        scrape(3, preemptions=3, gpus=(gpu(0x01), gpu())),
    )
    assert found.gpus["0.sm_mhz"].least == 1500
    assert [f.sentence for f in findings(found, CLIENT)] == [
        "the server took 2 requests back out of the batch for want of cache",
        "GPU clocks were held down: power cap in 50% of the looks, hardware thermal slowdown in 25% of the looks",
    ]


def test_a_recording_is_read_back_and_a_cut_line_is_set_aside():
    header = {
        "schema": "dayzero/telemetry/v1",
        "series": {"requests_running": ["up"]},
        "gpus": ["H"],
        "gpus_absent": "",
    }
    first = {"at_ns": 5, "took_ns": 2, "metrics": 'up{a="b"} 3', "gpus": []}
    second = {"at_ns": 9, "took_ns": 2, "error": "gone", "gpus": []}
    lines = [json.dumps(entry).encode() for entry in (header, first, second, {"cost_s": 0.25})]
    whole = read_recording([*lines, b'{"at_ns": 1'])
    assert [(s.at_ns, s.values, s.error) for s in whole.scrapes] == [
        (5, {"requests_running": 3.0}, ""),
        (9, {}, "gone"),
    ]
    assert (whole.gpu_names, whole.cost_s, whole.set_aside) == (("H",), 0.25, 1)


def test_a_window_is_written_with_all_that_it_says():
    found = window(scrape(0, kv_used=0.1), scrape(1, kv_used=0.2), scrape(2, kv_used=0.4), scrape(4, kv_used=0.1))
    assert document(found) == {
        "scrapes": 2,
        "seconds": 3.0,
        "counted": {},
        "gauges": {"kv_used": {"mean": 0.3, "min": 0.2, "max": 0.4, "first": 0.2, "last": 0.4}},
        "gpus": {},
        "throttled": {},
        "restarted": False,
    }


COUNTED = {"prompt_tokens": 1000.0, "cached_tokens": 5.0, "generated_tokens": 2100.0}


@pytest.mark.parametrize(
    ("more", "client", "expected"),
    [
        ({}, {"generated_tokens": 2000}, ("proven", "proven", "proven")),
        ({"cached_tokens": 11.0}, {"generated_tokens": 2000}, ("proven", "refuted", "proven")),
        ({"cached_tokens": 11.0}, {"generated_tokens": 2000, "declares_reuse": True}, ("proven", "proven")),
        ({"generated_tokens": 2141.0}, {"generated_tokens": 2000}, ("proven", "proven", "refuted")),
        ({}, {"generated_tokens": None}, ("proven", "proven", "undecided")),
    ],
)
def test_the_servers_own_counters_are_rules_that_hold_break_or_cannot_tell(more, client, expected):
    grown = {**COUNTED, **more}
    said = window(scrape(0, **dict.fromkeys(grown, 0.0)), scrape(4, **grown))
    judged = judge("c8", said, replace(CLIENT, **client))
    assert tuple(verdict_word(one.verdict) for one in judged) == expected
    assert all(one.bound and one.sentence and one.cell == "c8" for one in judged)


def test_a_server_without_counters_passes_no_rule():
    for said in (Unknown("no metrics"), window(scrape(0, requests_running=1.0), scrape(4, requests_running=1.0))):
        assert [verdict_word(one.verdict) for one in judge("c8", said, CLIENT)] == ["undecided"] * 3


def test_a_restart_is_refuted_with_its_sentence():
    said = window(scrape(0, **COUNTED), scrape(2, **dict.fromkeys(COUNTED, 0.0)), scrape(4, **COUNTED))
    first = judge("c8", said, CLIENT)[0]
    assert (first.rule, first.measured) == ("server-restarted", "one went back")
    assert first.reason == "c8: the server's counters went back: it restarted meanwhile"
