"""The stand-ins that the tests of scripts look through."""

import os

from tests.targets.launches import HOSTILE_WORDS
from tests.targets.recorder import Recorder


def test_words_environment_and_folder_are_written_down_as_they_were(recorder: Recorder) -> None:
    hostile = {f"H{index}": word for index, word in enumerate(HOSTILE_WORDS)}
    recorder.run("env", "-u", "LC_ALL", "docker", *HOSTILE_WORDS, **hostile)
    call = recorder.only()
    assert call.argv == ("docker", *HOSTILE_WORDS)
    assert call.env == {"PATH": f"{recorder.programs}:/usr/bin:/bin", **hostile}
    assert (call.program, call.cwd) == (str(recorder.programs / "docker"), str(recorder.folder))


def test_bytes_that_are_no_text_come_through(recorder: Recorder) -> None:
    recorder.run("env", "-u", "LC_ALL", "vllm", "\udcff", A="\udcfe")
    call = recorder.only("vllm")
    assert os.fsencode(call.argv[1]) == b"\xff"
    assert os.fsencode(call.env["A"]) == b"\xfe"


def test_the_most_exact_answer_holds(recorder: Recorder) -> None:
    recorder.answer("docker", "image", returncode=1)
    recorder.answer("docker", "image", "inspect", returncode=7, stdout="told")
    assert recorder.run("env", "docker", "run").returncode == 0
    assert recorder.run("env", "docker", "image", "ls").returncode == 1
    done = recorder.run("env", "docker", "image", "inspect", "x")
    assert (done.returncode, done.stdout) == (7, "told")
    recorder.answer("docker", "image", "inspect")
    assert recorder.run("env", "docker", "image", "inspect", "x").returncode == 0
    assert [call.argv[1] for call in recorder.calls("docker")] == ["run", "image", "image", "image"]
    recorder.forget()
    assert recorder.calls() == ()


def test_an_environment_that_is_made_holds_the_stand_ins(recorder: Recorder) -> None:
    recorder.run("env", "python3", "-m", "venv", "made")
    recorder.run(str(recorder.folder / "made" / "bin" / "python3"), "-c", "pass")
    assert recorder.calls("python3", "-c")[0].program == str(recorder.folder / "made" / "bin" / "python3")
