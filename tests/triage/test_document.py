import json
from dataclasses import replace

import pytest
from tests.triage.samples import LOG, root_found

from dayzero.triage.document import of_diagnosis, verdict
from dayzero.triage.model import CauseNotInLog, Exit, Frame, Link, Role, Stage, Started, UnknownWall

REFUSED = CauseNotInLog(
    last=None,
    chain=(Link(role=Role.API_SERVER, line=9, text="RuntimeError: see above"),),
    reason="Killed.",
    collect=("dmesg",),
    wall=UnknownWall(),
    log=LOG,
)
STARTED = Started(
    marker=Link(role=Role.SERVER, line=9, text="listening"),
    later=Link(role=Role.ENGINE_CORE, line=11, text="RuntimeError: died"),
    log=LOG,
)
ANSWERS = (root_found(), replace(root_found(), wall=UnknownWall()), REFUSED, STARTED)


def test_each_answer_has_the_same_keys_and_is_json():
    documents = [of_diagnosis(answer, "engine.log") for answer in ANSWERS]
    assert len({tuple(document) for document in documents}) == 1
    assert json.loads(json.dumps(documents)) == documents
    assert {document["log"] for document in documents} == {"engine.log"}


def test_a_root_is_written_with_its_line_its_chain_its_wall_and_its_numbers():
    found = replace(
        root_found(numbers=(("needed", "2.0", "GiB"),)), frames=(Frame(file="vllm/a.py", line=7, function="load"),)
    )
    document = of_diagnosis(found, "engine.log")
    assert document["root"] == {"role": "root", "line": 3, "text": "E unknown model architecture"}
    assert document["same_as"] == [4, 5]
    assert document["wall"] == "model-unrecognized"
    assert document["rule"] == {
        "id": "unknown-architecture",
        "version": 1,
        "title": "This build does not know the architecture.",
    }
    assert document["resolution"] == {
        "text": "Re-pin.",
        "confirmed": True,
        "confirmed_by": "a maintainer",
        "reference": "a page",
    }
    assert [(link["role"], link["line"]) for link in document["chain"]] == [("root", 3), ("api_server", 9)]
    assert document["numbers"] == [{"name": "needed", "value": "2.0", "unit": "GiB", "line": 3}]
    assert document["frames"] == ["vllm/a.py:7:load"]


def test_an_unknown_wall_is_empty_and_has_no_resolution():
    document = of_diagnosis(ANSWERS[1], "engine.log")
    assert (document["wall"], document["rule"], document["resolution"]) == ("", None, None)
    assert document["fingerprint"] == {"exception": "ValueError", "frame": "vllm/config.py:verify"}


def test_a_refusal_has_no_root_and_says_what_to_collect():
    document = of_diagnosis(REFUSED, "engine.log")
    assert (document["root"], document["reason"], document["collect"]) == (None, "Killed.", ["dmesg"])


def test_a_start_names_the_line_that_says_so_and_what_came_later():
    chain = of_diagnosis(STARTED, "engine.log")["chain"]
    assert [(link["line"], link["text"]) for link in chain] == [(9, "listening"), (11, "RuntimeError: died")]


def test_what_was_read_stands_beside_the_answer():
    log = replace(
        LOG,
        attempts=3,
        exits=(Exit(process="engine core", status="-9", line=8),),
        stages=(Stage(process="engine core", stage="loading", line=5),),
    )
    document = of_diagnosis(replace(REFUSED, log=log), "engine.log")
    assert (document["log_sha256"], document["lines"], document["attempts"]) == ("ab" * 32, 12, 3)
    assert document["exits"] == [{"process": "engine core", "status": "-9", "line": 8}]
    assert document["stages"] == [{"process": "engine core", "stage": "loading", "line": 5}]


@pytest.mark.parametrize(
    ("answer", "word"), [(ANSWERS[0], "root-found"), (REFUSED, "cause-not-in-log"), (STARTED, "started")]
)
def test_the_three_answers_have_words(answer, word):
    assert verdict(answer) == word
