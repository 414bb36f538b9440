"""What is asked of a command line before it is started, on a package for vLLM with files of a made-up release."""

import os
from pathlib import Path

import pytest
from tests.simulators.wheels import make_wheel

from dayzero.core.errors import InputError
from dayzero.wiring import definitions
from dayzero.wiring.optimize_judge import Judge

NAME = "qwen3-8b-shape-1xh200"


def judge(tmp_path: Path, **more: object) -> Judge:
    return Judge(
        package=definitions.package(NAME),
        definition=definitions.package_file(NAME),
        scratch=tmp_path / "scratch",
        offline=True,
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYZERO_CACHE", str(tmp_path / "cache"))


def flags(*more: str, utilization: str = "0.85") -> tuple[str, ...]:
    own = definitions.package(NAME).recipe.flags
    return (*(utilization if word == "0.85" else word for word in own), *more)


@pytest.mark.parametrize(
    ("words", "by", "why"),
    [
        (flags(), None, ""),
        (flags("--max-num-seqs", "64"), None, ""),
        (flags("--max-num-seqs", "64", "--max-num-seqs", "32"), "launch", "is given twice"),
        (flags("--kv-cache-dtype", "fp8"), "model", "the cache holds another type than the model's"),
        (flags(utilization="0.05"), "fit", "GiB short"),
    ],
)
def test_each_of_them_says_why_a_command_line_is_not_started(tmp_path, words, by, why):
    found = judge(tmp_path).look(words)
    assert (found.by if found else None) == by
    assert why in (found.why if found else "")


def test_what_changes_the_model_is_let_through_only_when_it_was_asked_for(tmp_path):
    assert judge(tmp_path, lossy=True).look(flags("--kv-cache-dtype", "fp8")) is None


def test_what_the_package_itself_does_is_no_reason_against_a_change(tmp_path):
    """Its own weights are made up, which the construction gate refutes: it says so of every combination alike."""
    assert "--load-format" in flags()
    assert judge(tmp_path).look(flags("--max-num-seqs", "64")) is None


def test_without_the_files_of_the_build_nothing_is_audited_and_that_is_said(tmp_path):
    one = judge(tmp_path)
    assert one.look(flags("--no-such-flag", "1")) is None
    assert any(note.startswith("no flag was audited: ") for note in one.notes)


def test_with_them_a_flag_that_the_release_lacks_is_refuted(tmp_path):
    parser = (
        "class EngineArgs:\n    @staticmethod\n    def add_cli_args(parser):\n"
        "        parser.add_argument('--max-num-seqs')\n        return parser\n"
    )
    front = (
        "from vllm.engine.arg_utils import EngineArgs\n"
        "def make_arg_parser(parser):\n    parser.add_argument('--port')\n    EngineArgs.add_cli_args(parser)\n    return parser\n"
    )
    wheel = make_wheel(
        tmp_path / "w",
        "vllm",
        "0.26.0",
        {"vllm/engine/arg_utils.py": parser, "vllm/entrypoints/openai/cli_args.py": front, "vllm/envs.py": ""},
    )
    one = judge(tmp_path, build=str(wheel))
    refusal = one.look(flags("--max-num-sequences", "1"))
    assert refusal is not None, one.notes
    assert (refusal.by, "has no flag --max-num-sequences" in refusal.why) == ("audit", True)
    # The package's own flags are unknown to this release, too: that is its own matter.
    assert one.look(flags("--max-num-seqs", "8")) is None


def test_each_command_line_is_looked_at_once(tmp_path):
    one = judge(tmp_path)
    first = one.look(flags(utilization="0.05"))
    (tmp_path / "scratch" / "package.toml").unlink()
    assert one.look(flags(utilization="0.05")) is first
    assert not (tmp_path / "scratch" / "package.toml").exists()


def test_an_engine_whose_build_is_not_here_is_not_held_to_it(tmp_path, monkeypatch):
    name = "demo-kimi-k3-tiny"
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    one = Judge(
        package=definitions.package(name), definition=definitions.package_file(name), scratch=tmp_path / "scratch"
    )
    assert one.look((*definitions.package(name).recipe.flags, "--no-such", "1")) is None
    assert any("no flag was held to the build" in note for note in one.notes)
    odd = one.look((*definitions.package(name).recipe.flags, "--odd"))
    assert odd is not None
    assert (odd.by, "has no value" in odd.why) == ("launch", True)
    assert os.environ["PIP_RETRIES"] == "0"
    with pytest.raises(InputError):
        definitions.package("no-such")
