"""What surveys came to, on disk: a file is believed only for what it was written for, and only whole."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dayzero.adapters.survey_file import SurveyFolder
from dayzero.audit.model import KeptSurvey

SURVEY = KeptSurvey(lacking=("eng.bad",), probing=(), unread=("eng.torn",), found="ab", within={"eng.bad": (3, 9)})


def folder(path: Path, said: list[str], reader: str = "reader") -> SurveyFolder:
    return SurveyFolder(path, reader, said.append)


def test_what_is_kept_is_recalled(tmp_path: Path) -> None:
    said: list[str] = []
    folder(tmp_path, said).keep("key", SURVEY)
    assert folder(tmp_path, said).recall("key") == SURVEY
    assert folder(tmp_path, said).recall("other") is None
    assert folder(tmp_path, said, "another reader").recall("key") is None
    assert not said


def flipped(content: bytes) -> bytes:
    return content.replace(b"eng.bad", b"eng.bat")


def torn(content: bytes) -> bytes:
    return content[:-5]


@pytest.mark.parametrize(
    "damage", [flipped, torn, lambda _: b"", lambda _: b"\xff\n{}"], ids=["flipped", "torn", "empty", "no JSON"]
)
def test_a_damaged_file_is_said_to_be_and_not_believed(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    said: list[str] = []
    folder(tmp_path, said).keep("key", SURVEY)
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert folder(tmp_path, said).recall("key") is None
    assert len(said) == 1


def test_a_file_that_was_written_for_other_files_is_not_believed(tmp_path: Path) -> None:
    said: list[str] = []
    folder(tmp_path, said).keep("key", SURVEY)
    (one,) = tmp_path.iterdir()
    folder(tmp_path, said).keep("other", SURVEY)
    (other,) = set(tmp_path.iterdir()) - {one}
    other.write_bytes(one.read_bytes())
    assert folder(tmp_path, said).recall("other") is None
    assert len(said) == 1


def test_a_folder_that_cannot_be_written_to_keeps_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "file").write_bytes(b"")
    folder(tmp_path / "file" / "surveys", said).keep("key", SURVEY)
    assert len(said) == 1
