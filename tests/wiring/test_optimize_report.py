"""The report of a study is written from what the study kept."""

import json
from pathlib import Path

import pytest
from tests.optimize.study_document import result

from dayzero.adapters.file_digest import digest_of
from dayzero.core.errors import InputError
from dayzero.wiring.optimize_report import write_report


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "result.json").write_text(json.dumps(result()))
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "main.jsonl").write_text("{}\n")
    (tmp_path / "trials" / "0001").mkdir(parents=True)
    (tmp_path / "trials" / "0001" / "requests.jsonl").write_text("{}\n")
    return tmp_path


def test_the_report_names_every_file_that_it_stands_on(study: Path) -> None:
    content = write_report(study).read_text()
    for name in ("result.json", "journal/main.jsonl", "trials/0001/requests.jsonl"):
        assert f"<code>{name}</code>" in content
        assert digest_of(study / name).hex in content


def test_a_study_that_cannot_be_explained_here_has_a_report_all_the_same(study: Path) -> None:
    content = write_report(study).read_text()
    assert "No two trials differ in one flag alone" in content


def test_a_second_report_replaces_the_first_and_is_the_same(study: Path) -> None:
    first = write_report(study).read_bytes()
    assert write_report(study).read_bytes() == first


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "holds no result.json"),
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"schema": "x"}', "is no result"),
    ],
)
def test_what_is_no_result_of_a_study_is_bad_input(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    with pytest.raises(InputError, match=said):
        write_report(tmp_path)
