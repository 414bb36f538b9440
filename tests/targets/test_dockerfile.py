"""The image that is built where none is pinned."""

from pathlib import Path

import pytest
from tests.targets.foreign import ask, program
from tests.targets.launches import launch, plain

from dayzero.targets import compose, kubernetes
from dayzero.targets.dockerfile import FILE_NAME, dockerfile
from dayzero.targets.interface import Target

CONTAINERS: tuple[Target, ...] = (compose.TARGET, kubernetes.TARGET)


def test_hadolint_accepts_it(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    file.write_text(dockerfile(plain()))
    done = ask(program("hadolint"), "--no-color", str(file))
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("target", CONTAINERS, ids=lambda target: target.name)
def test_it_stands_beside_a_file_that_builds_its_image(target: Target) -> None:
    assert target.companions(plain()) == ((FILE_NAME, dockerfile(plain())),)
    assert "localhost/demo:built-from-this-kit" in target.render(plain())


def test_it_installs_nothing_but_the_locked_wheels_and_runs_as_nobody_in_particular() -> None:
    lines = dockerfile(plain()).splitlines()
    (install,) = [line for line in lines if "pip install" in line]
    assert {"--require-hashes", "--no-deps"} <= set(install.split())
    assert lines[-1] == "USER 10001:10001"


def test_it_says_that_the_base_is_not_pinned() -> None:
    text = dockerfile(launch())
    assert "no digest was resolved" in text
    assert "\nFROM python:3.11-slim-bookworm\n" in text


def test_the_dockerfile_of_the_plain_launch_is_the_one_on_record() -> None:
    assert dockerfile(plain()) == (Path(__file__).parent / "rendered" / FILE_NAME).read_text()
