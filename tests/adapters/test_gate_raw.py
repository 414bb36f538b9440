import pytest

from dayzero.adapters.gate_raw import RawFolder, Record
from dayzero.core.errors import InputError
from dayzero.gates.exchange import Job, Key, Question, Reply

JOB = Job(Key("A1", "decode", 3), Question("/v1/completions", {"prompt": [1, 2]}))
OTHER = Job(Key("A1", "decode", 4), Question("/v1/completions", {"prompt": [3]}))


def kept(job: Job, reply: Reply) -> Record:
    return Record(side="A", job=job, reply=reply, sent_at="2026-11-30T12:00:00.000+00:00", seconds=0.25)


def test_what_was_kept_is_found_again_and_half_a_line_is_cut_off(tmp_path):
    with RawFolder(tmp_path) as raw:
        raw.keep(kept(JOB, Reply(status=200, body='{"a": NaN}\n"x"')))
        raw.keep(kept(OTHER, Reply(status=200, body="{}")))
    (file,) = RawFolder(tmp_path).paths()
    content = file.read_bytes()
    file.write_bytes(content[:-9])
    with RawFolder(tmp_path) as raw:
        assert raw.answered(JOB) == Reply(status=200, body='{"a": NaN}\n"x"')
        assert raw.answered(OTHER) is None
        raw.keep(kept(OTHER, Reply(status=200, body="{}")))
    assert file.read_bytes() == content


@pytest.mark.parametrize("reply", [Reply(error="reset"), Reply(status=503, body="later")])
def test_a_question_that_failed_is_asked_again(tmp_path, reply):
    with RawFolder(tmp_path) as raw:
        raw.keep(kept(JOB, reply))
    assert RawFolder(tmp_path).answered(JOB) is None


def test_another_question_under_the_same_key_is_refused(tmp_path):
    with RawFolder(tmp_path) as raw:
        raw.keep(kept(JOB, Reply(status=200, body="{}")))
    with pytest.raises(InputError, match="another question was asked before the interruption"):
        RawFolder(tmp_path).answered(Job(JOB.key, OTHER.question))


def test_a_line_that_is_no_exchange_is_refused_with_its_place(tmp_path):
    (tmp_path / "decode-A1.jsonl").write_text('{"capture": "A1"}\n')
    with pytest.raises(InputError, match=r"decode-A1\.jsonl:1 is not an exchange"):
        RawFolder(tmp_path)
