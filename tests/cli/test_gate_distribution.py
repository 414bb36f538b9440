"""``dayzero gate distribution`` as a user types it, between servers whose truth is known."""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.simulators.logprob_server import Model, Planted, log_softmax, serving

from dayzero.cli.gate_distribution import Sample
from dayzero.cli.main import run
from dayzero.gates.model import DistributionPlan
from dayzero.gates.size import needed

# The fewest prompts and places that can be judged; of so few places, none that differs bounds a share at 0.6 %.
SAMPLE = {
    "--prompts": 30,
    "--positions": 17,
    "--context": 12,
    "--looks": 1,
    "--seed": 5,
    "-k": 20,
    "--margin-flip": 1,
}
DEAD = "http://127.0.0.1:9"
SHORT = {"--arm": "decode"}


def command(a: str, b: str, out: Path, options: Mapping[str, object]) -> list[str]:
    words = [str(word) for option in {**SAMPLE, **options}.items() for word in option]
    return ["gate", "distribution", a, b, "-o", str(out), *words]


def gate(a: Planted, b: Planted, out: Path, **named: object) -> tuple[int, dict[str, Any]]:
    options = {("-k" if name == "k" else f"--{name}"): value for name, value in named.items()}
    with serving(a) as one, serving(b) as other:
        code = run(command(one.url, other.url, out, options))
    last = max(out.glob("attempt-*"))
    return code, json.loads((last / "gate.json").read_text())


def figures(found: dict[str, Any], arm: str) -> dict[str, Any]:
    return {one["name"]: one for one in found["found"]["arms"][arm]["figures"]}


@pytest.fixture(scope="module")
def same(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, dict[str, Any]]:
    """Compare one model with itself, in the words of two engines."""
    out = tmp_path_factory.mktemp("gate")
    return out, *gate(Planted(words="vllm"), Planted(words="sglang"), out)


def test_one_model_behind_two_engines_is_the_same_in_both_arms(same):
    _, code, found = same
    assert (code, found["verdict"]) == (0, "same"), found["because"]
    for arm in ("prefill", "decode"):
        named = figures(found, arm)
        assert named["A against itself"]["divergence_nat"]["value"] == 0
        assert named["A against B"]["divergence_nat"]["value"] == 0
        assert named["positive control"]["divergence_nat"]["value"] > 0.5


def test_the_receipt_binds_the_answer_the_plan_and_every_raw_file(same):
    out, _, found = same
    place = out / "attempt-01"
    receipt = json.loads((place / "receipt.json").read_text())
    assert (receipt["schema"], receipt["verdict"]) == ("dayzero/gate-receipt/v1", found["verdict"])
    named = {file["path"]: file["sha256"] for file in receipt["files"]}
    kept = {str(file.relative_to(place)) for file in place.rglob("*") if file.is_file()} - {"receipt.json"}
    assert set(named) == kept
    assert all(hashlib.sha256((place / path).read_bytes()).hexdigest() == digest for path, digest in named.items())
    raw = {f"{arm}-{name}" for arm in ("prefill", "decode") for name in ("A1", "A2", "B1", "B2", "positive")}
    assert {Path(path).stem for path in named if path.startswith("raw/")} == {*raw, "probe"}


def test_a_planted_difference_is_found_and_measured_as_what_it_is(tmp_path):
    """The truth is the divergence over the whole vocabulary at the very places that were compared."""
    shift = 0.15
    a, b = Planted(words="llamacpp"), Planted(words="vllm", shift=shift)
    code, found = gate(a, b, tmp_path, arm="prefill", k=72)
    assert (code, found["verdict"]) == (1, "different")
    lines = (tmp_path / "attempt-01" / "raw" / "prefill-A1.jsonl").read_text().splitlines()
    contexts = [json.loads(line)["request"]["prompt"] for line in lines]
    assert len(contexts) == 30 * 17
    assert {context[0] for context in contexts} == {1}  # what the model expects in front
    one, other = Model(7), Model(7, shift)
    truth = [_divergence(one, other, context) for context in contexts]
    measured = figures(found, "prefill")["A against B"]["divergence_nat"]["value"]
    assert measured == pytest.approx(math.fsum(truth) / len(truth), rel=1e-5)


def _divergence(one: Model, other: Model, context: list[int]) -> float:
    p, q = log_softmax(one.logits(context)), log_softmax(other.logits(context))
    return float(((math.e**p - math.e**q) * (p - q)).sum()) / 2


def test_a_fault_of_the_prefill_kernels_alone_shows_in_their_arm(tmp_path):
    _, found = gate(Planted(), Planted(prefill_shift=0.5), tmp_path)
    apart = {arm: figures(found, arm)["A against B"]["forward_nat"] for arm in ("prefill", "decode")}
    assert found["found"]["arms"]["prefill"]["verdict"] == "different"
    assert 0 < apart["decode"] < apart["prefill"] / 5  # the first token that is written comes from the prompt's kernels


def test_servers_that_are_as_far_from_themselves_as_from_each_other_are_unsound(tmp_path, capsys):
    code, found = gate(Planted(noise=0.3), Planted(noise=0.3), tmp_path, arm="prefill")
    assert (code, found["verdict"]) == (3, "unsound")
    out = capsys.readouterr().out
    assert "unsound: look 1 of 1" in out
    assert "floor of A" in out


@pytest.mark.parametrize(
    ("planted", "arm", "because"),
    [
        ((Planted(), Planted(logprobs=False)), "both", "B: the answer carries no log-probabilities"),
        (
            (Planted(words="sglang", logprobs=False), Planted()),
            "both",
            "A: the answer carries no output_token_logprobs",
        ),
        ((Planted(nan_at=1), Planted()), "both", "A: a candidate's log-probability is NaN"),
        ((Planted(most=1), Planted()), "both", "A: asked for 20 candidates a position, it gives 1"),
        (
            (Planted(), Planted(collapses=True)),
            "both",
            "B: at temperature 0 its log-probabilities are those after sampling",
        ),
        ((Planted(), Planted(tokenizer=1)), "both", "A and B have different tokenizers"),
        (
            (Planted(words="openai", echoes=False, takes_ids=False), Planted()),
            "both",
            "A: gives no log-probabilities of a prompt",
        ),
        ((Planted(tokens=2), Planted()), "decode", "17 tokens were asked for, 2 came"),
        ((Planted(), Planted(nan_at=499)), "prefill", "a candidate's log-probability is NaN"),
        ((Planted(), Planted(fails_after=60)), "prefill", "answered 503: "),
    ],
)
def test_what_cannot_be_compared_is_undecided_with_its_reason(planted, arm, because, tmp_path, capsys):
    code, found = gate(*planted, tmp_path, arm=arm)
    assert (code, found["verdict"]) == (3, "undecided")
    assert any(because in reason for reason in found["because"]), found["because"]
    assert because in capsys.readouterr().out


def test_a_dead_endpoint_is_undecided_and_counts_as_an_attempt(tmp_path, capsys):
    code = run(command(DEAD, DEAD, tmp_path, {}))
    assert code == 3
    assert "undecided: A: http://127.0.0.1:9 cannot be reached" in capsys.readouterr().out
    events = [json.loads(line)["event"] for line in (tmp_path / "attempts.jsonl").read_text().splitlines()]
    assert events == ["begun", "ended"]


def test_repeating_until_it_passes_shows_in_the_answer_the_receipt_and_on_paper(tmp_path, capsys):
    with serving(Planted()) as a, serving(Planted(shift=0.5)) as b:
        first, second = (run(command(a.url, b.url, tmp_path, SHORT)) for _ in range(2))
    assert first == second
    said = capsys.readouterr().out
    place = tmp_path / "attempt-02"
    verdict = json.loads((tmp_path / "attempt-01" / "gate.json").read_text())["verdict"]
    assert f"attempt    2, in {place}; before it: {verdict}" in said
    assert json.loads((place / "gate.json").read_text())["earlier_attempts"] == [verdict]
    attempts = json.loads((place / "receipt.json").read_text())["attempts"]
    assert [each["attempt"] for each in attempts] == [1, 2]
    digests = [hashlib.sha256((tmp_path / f"attempt-0{n}" / "gate.json").read_bytes()).hexdigest() for n in (1, 2)]
    assert [each["gate_sha256"] for each in attempts] == digests
    plans = [json.loads((tmp_path / f"attempt-0{n}" / "plan.json").read_text()) for n in (1, 2)]
    assert [plan["plan"]["alpha"] for plan in plans] == [0.05, 0.025]


def test_a_killed_attempt_goes_on_and_asks_again_only_what_had_no_answer(tmp_path):
    with serving(Planted()) as a, serving(Planted()) as b:
        whole = run(command(a.url, b.url, tmp_path, SHORT))
        place = tmp_path / "attempt-01"
        answer = json.loads((place / "gate.json").read_text())
        _kill(tmp_path, place)
        before = sum(path == "/v1/completions" for path, _ in b.requests)
        probes = len((place / "raw" / "probe.jsonl").read_text().splitlines())
        assert run(["gate", "distribution", a.url, b.url, "-o", str(tmp_path), "--resume"]) == whole
        again = [body for path, body in b.requests if path == "/v1/completions"][before:]
    captured = [body for body in again if not body["cache_salt"].startswith("probe")]
    assert probes > 0
    assert len(captured) == 3
    resumed = json.loads((place / "gate.json").read_text())
    assert resumed["found"] == answer["found"]


def _kill(folder: Path, place: Path) -> None:
    """Leave what a kill leaves: no end, two answers missing, and half a line of a third."""
    (place / "gate.json").unlink()
    (place / "receipt.json").unlink()
    book = folder / "attempts.jsonl"
    book.write_text(book.read_text().splitlines(keepends=True)[0])
    raw = place / "raw" / "decode-B2.jsonl"
    lines = raw.read_bytes().splitlines(keepends=True)
    raw.write_bytes(b"".join(lines[:-3]) + lines[-3][:100])


def test_there_is_nothing_to_resume_where_nothing_was_interrupted(tmp_path, capsys):
    assert run(["gate", "distribution", DEAD, DEAD, "-o", str(tmp_path), "--resume"]) == 2
    assert "error: there is no interrupted attempt to go on with" in capsys.readouterr().err


def test_an_attempt_that_was_taken_out_of_the_file_is_an_integrity_error(tmp_path, capsys):
    dead = command(DEAD, DEAD, tmp_path, {})
    run(dead)
    book = tmp_path / "attempts.jsonl"
    book.write_text(book.read_text().splitlines(keepends=True)[1])
    assert run(dead) == 4
    assert "attempts were changed or taken out" in capsys.readouterr().err


def test_fewer_candidates_than_asked_for_are_taken_and_said(tmp_path, capsys):
    _, found = gate(Planted(words="openai", refuses_above=5), Planted(words="openai"), tmp_path, arm="decode")
    assert found["found"]["plan"]["k"] == 5
    assert (
        "note       20 candidates a position were asked for; 5 is what both endpoints give" in capsys.readouterr().out
    )


def test_log_probabilities_after_the_temperature_are_recognised(tmp_path):
    with serving(Planted(scales=True)) as a, serving(Planted()) as b:
        run(command(a.url, b.url, tmp_path, {"--prompts": 2, "--arm": "prefill"}))
    seen = json.loads((tmp_path / "attempt-01" / "gate.json").read_text())["endpoints"]
    assert (seen["A"]["logprobs"], seen["B"]["logprobs"]) == ("processed", "raw")


def test_both_endpoints_have_as_many_in_flight_as_planned_and_no_more(tmp_path):
    with serving(Planted(pause_s=0.02)) as a, serving(Planted(pause_s=0.02)) as b:
        run(command(a.url, b.url, tmp_path, {**SHORT, "--concurrency": 3}))
    assert (a.most_in_flight, b.most_in_flight) == (3, 3)


def test_json_is_the_document_that_is_kept(tmp_path, capsys):
    with serving(Planted()) as a, serving(Planted(tokenizer=3)) as b:
        assert run(command(a.url, b.url, tmp_path, {"--output-format": "json"})) == 3
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "attempt-01" / "gate.json").read_text())
    assert printed["schema"] == "dayzero/gate/v1"


def test_the_default_sample_is_as_large_as_the_default_margins_need():
    sample = Sample()
    plan = DistributionPlan(
        prompts=sample.prompts,
        positions=sample.positions,
        margin_nat=sample.margin,
        margin_flip=sample.margin_flip / 100,
    )
    assert needed(plan).prompts <= sample.prompts
