"""Each promise of the contract, broken one at a time by a simulated server, is found by its check and by no other."""

import json

import pytest
from tests.simulators.contract_server import MODEL, ContractServer, InProcess

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.document import document, lines
from dayzero.gates.contract.model import Answer, Broken, Call, Holds, Kept, NotOffered, Report
from dayzero.gates.contract.registry import CHECKS
from dayzero.gates.contract.run import run
from dayzero.gates.contract.talk import CHAT, COMPLETIONS

WITHOUT_REASONING = {"reasoning"}


def looked(server: ContractServer, *, known: tuple[str, ...] = ()) -> Report:
    return run(InProcess(server), MODEL, CHECKS, known=known)


def named(report: Report, kind: type) -> set[str]:
    return {one.check for one in report.found if isinstance(one.outcome, kind)}


def test_a_server_that_keeps_every_promise_breaks_none_and_leaves_none_open():
    report = looked(ContractServer(reasons=True))
    assert named(report, Holds) == {check.name for check in CHECKS}
    assert (report.route, report.verdict) == (CHAT, Kept.KEPT)


def test_a_model_that_does_not_reason_offers_no_reasoning_and_keeps_the_rest():
    report = looked(ContractServer())
    assert named(report, NotOffered) == WITHOUT_REASONING
    assert report.verdict is Kept.KEPT


@pytest.mark.parametrize(
    ("fault", "broken"),
    [
        ("greedy", {"greedy-repeats"}),
        ("temperature", {"temperature"}),
        ("seed", {"seed"}),
        ("top-k", {"top-k"}),
        ("n", {"n"}),
        ("logprobs", {"logprobs"}),
        ("logprobs-unasked", {"logprobs"}),
        ("logprobs-nan", {"logprobs"}),
        ("logprobs-short", {"logprobs"}),
        ("ranges", {"ranges"}),
        ("usage-prompt", {"usage-prompt"}),
        ("usage-completion", {"usage-completion"}),
        ("total", {"usage-completion"}),
        ("stream-usage", {"usage-completion"}),
        ("max-tokens", {"max-tokens"}),
        ("finish", {"max-tokens"}),
        ("stop", {"stop", "stop-across-chunks"}),
        ("stop-kept", {"stop", "stop-across-chunks"}),
        ("stop-early", {"stop", "stop-across-chunks"}),
        ("stop-finish", {"stop", "stop-across-chunks"}),
        ("stop-across", {"stop-across-chunks"}),
        ("stream-text", {"streaming"}),
        ("done", {"streaming"}),
        ("tools", {"tool-call", "tool-call-streamed"}),
        ("tool-json", {"tool-call", "tool-call-streamed"}),
        ("tool-schema", {"tool-call", "tool-call-streamed"}),
        ("tool-name", {"tool-call", "tool-call-streamed"}),
        ("tool-finish", {"tool-call", "tool-call-streamed"}),
        ("tool-streamed", {"tool-call-streamed"}),
        ("tool-none", {"tool-choice-none"}),
        ("json-schema", {"json-schema"}),
        ("json-values", {"json-schema"}),
        ("context", {"context-limit"}),
        ("unknown-model", {"unknown-model"}),
        ("unknown-parameter", {"unknown-parameter"}),
        ("malformed", {"malformed"}),
        ("concurrent", {"concurrent"}),
        ("concurrent-texts", {"concurrent", "usage-prompt"}),
        ("ids", {"concurrent"}),
    ],
)
def test_a_broken_promise_is_found_by_its_check(fault, broken):
    report = looked(ContractServer(fault=fault))
    also = {
        # What cannot be true or false while something under it is broken.
        "greedy": {"top-k", "seed", "stop", "stop-across-chunks", "concurrent"},
        "usage-completion": {"max-tokens", "logprobs"},
        "max-tokens": {"usage-completion"},
        "stream-text": {"tool-call-streamed"},
    }
    assert broken <= named(report, Broken) <= broken | also.get(fault, set())
    assert report.verdict is Kept.BROKEN


@pytest.mark.parametrize("fault", ["reasoning", "reasoning-streamed"])
def test_reasoning_in_the_content_is_found(fault):
    report = looked(ContractServer(fault=fault, reasons=True))
    assert "reasoning" in named(report, Broken)


@pytest.mark.parametrize(
    ("refuses", "check"),
    [
        ("seed", "seed"),
        ("n", "n"),
        ("logprobs", "logprobs"),
        ("tools", "tool-call"),
        ("response_format", "json-schema"),
        ("top_k", "top-k"),
    ],
)
def test_what_a_server_says_it_does_not_do_is_not_offered(refuses, check):
    report = looked(ContractServer(refuses=refuses))
    assert check in named(report, NotOffered)
    assert named(report, Broken) == set()


def test_without_usage_nothing_that_counts_holds():
    report = looked(ContractServer(fault="no-usage"))
    assert {"usage-prompt", "usage-completion", "max-tokens", "concurrent"} <= named(report, Broken)


def test_a_server_without_chat_is_asked_for_completions():
    report = looked(ContractServer(routes=("/v1/completions",)))
    assert report.route == COMPLETIONS
    assert named(report, Broken) == set()
    assert {"tool-call", "tool-choice-none", "reasoning"} <= named(report, NotOffered)


class Silent:
    """Never answers."""

    def begin(self, check: str) -> None: ...

    def send(self, *calls: Call) -> tuple[Answer, ...]:
        return tuple(Answer(number=1, status=0, error="connection refused") for _ in calls)


def test_an_endpoint_that_does_not_answer_leaves_every_check_undecided():
    report = run(Silent(), MODEL, CHECKS)
    assert named(report, Undecided) == {check.name for check in CHECKS}
    assert "connection refused" in report.found[0].outcome.reason
    assert report.verdict is Kept.UNDECIDED


class Failing(InProcess):
    """Loses the connection after the first answers."""

    def send(self, *calls: Call) -> tuple[Answer, ...]:
        if len(self.calls) > 3:
            return tuple(Answer(number=9, status=0, error="reset") for _ in calls)
        return super().send(*calls)


def test_a_check_whose_answers_do_not_come_is_undecided_and_not_broken():
    report = run(Failing(ContractServer()), MODEL, CHECKS)
    assert named(report, Broken) == set()
    assert report.verdict is Kept.UNDECIDED


def test_a_known_break_does_not_fail_the_contract_and_one_that_is_mended_is_said():
    report = looked(ContractServer(fault="unknown-model"), known=("unknown-model", "seed"))
    assert report.verdict is Kept.KEPT
    assert report.unknown == ("seed",)
    text = list(lines(report))
    assert any(line.startswith("unknown-model") and line.endswith("(known)") for line in text)
    assert "note: seed was said to be broken, and is not" in text


def test_no_check_at_all_is_no_pass():
    assert run(InProcess(ContractServer()), MODEL, ()).verdict is Kept.UNDECIDED


def test_the_document_names_the_requests_under_each_check():
    endpoint = InProcess(ContractServer(reasons=True))
    report = run(endpoint, MODEL, CHECKS)
    written = document(report, url="http://h", engine="", exchanges={"file": "exchanges.jsonl", "sha256": "0"})
    json.dumps(written)
    assert written["schema"] == "dayzero/gate-contract/v1"
    by_check = {check["check"]: check["exchanges"] for check in written["checks"]}
    for name, numbers in by_check.items():
        assert numbers
        assert {endpoint.calls[number - 1][0] for number in numbers} == {name}


def test_each_check_has_a_name_of_its_own_and_stands_in_a_file():
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names) == 23
    assert all(isinstance(check, Check) and check.promise for check in CHECKS)
