"""Journals on a real disk: torn lines, several workers."""

import pytest

from dayzero.adapters.study_journal import StudyJournal
from dayzero.core.errors import InputError, IntegrityError
from dayzero.optimize.facts import Begun

FACT = Begun(at_s=1.0, worker="main", number=0, role="stock", point=(("n", "1"),))


def test_every_worker_reads_what_all_have_written(tmp_path):
    a, b = StudyJournal(tmp_path / "j", "a"), StudyJournal(tmp_path / "j", "b-1.x")
    assert a.facts() == ()
    a.write(FACT)
    b.write(FACT)
    assert len(a.facts()) == len(b.facts()) == 2
    assert sorted(file.name for file in (tmp_path / "j").iterdir()) == ["a.jsonl", "b-1.x.jsonl"]


def test_a_line_that_a_crash_cut_off_is_closed_before_the_next_one(tmp_path):
    journal = StudyJournal(tmp_path, "main")
    journal.write(FACT)
    with (tmp_path / "main.jsonl").open("ab") as stream:
        stream.write(b'{"type":"ended","at_s":2.0,"wor')
    assert journal.facts() == (FACT,)
    journal.write(FACT)
    assert journal.facts() == (FACT, FACT)


def test_a_changed_line_is_an_integrity_error(tmp_path):
    (tmp_path / "main.jsonl").write_text('{"type":"begun"}\n')
    with pytest.raises(IntegrityError, match="is no fact of a study"):
        StudyJournal(tmp_path, "main").facts()


@pytest.mark.parametrize("name", ["", "a/b", "..", ".x", "a b"])
def test_a_name_that_is_no_file_name_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="not a worker's name"):
        StudyJournal(tmp_path, name)
