"""The first difference between a launch and what a file carries is named, on which node it stands too."""

from dataclasses import dataclass, replace

import pytest
from tests.targets.launches import k3, k3_two_nodes, plain

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Commands, Delta, LaunchSpec, Placeholder, apply_deltas, node_deltas
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.interface import Validator
from dayzero.targets.proof import prove_text


@dataclass(frozen=True, slots=True)
class Says:
    """A target whose every file says the same."""

    commands: Commands | str
    name: str = "says"
    validators: tuple[Validator, ...] = ()
    inputs: tuple[str, ...] = ()

    def file_name(self, spec: LaunchSpec) -> str:
        assert spec
        return "said.txt"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        assert spec
        return ()

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        return node_deltas(spec)

    def render(self, spec: LaunchSpec) -> str:
        assert spec
        return ""

    def parse(self, text: str) -> Commands:
        assert text == ""
        if isinstance(self.commands, str):
            raise InputError(self.commands, hint="")
        return self.commands


SPEC = k3_two_nodes()
RIGHT = apply_deltas(SPEC, node_deltas(SPEC))
assert RIGHT.worker is not None
WORKER = RIGHT.worker
LAST = len(WORKER.argv) - 1


def worker(*argv: str | Placeholder, env: tuple[tuple[str, str], ...] = WORKER.env) -> Commands:
    return replace(RIGHT, worker=Command(argv=argv or WORKER.argv, env=env))


@pytest.mark.parametrize(
    ("commands", "reason"),
    [
        (
            worker(*WORKER.argv[:-2], "1", "--headless"),
            f"worker, argv word {LAST - 1} differs: the launch has the node rank, said.txt has '1'",
        ),
        (
            worker(*WORKER.argv[:-2], "node rank", "--headless"),
            f"worker, argv word {LAST - 1} differs: the launch has the node rank, said.txt has 'node rank'",
        ),
        (
            worker(*WORKER.argv[:-1]),
            f"worker, argv word {LAST} differs: the launch has '--headless', said.txt has nothing",
        ),
        (
            worker(*WORKER.argv, "--more"),
            f"worker, argv word {LAST + 1} differs: the launch has nothing, said.txt has '--more'",
        ),
        (
            worker(env=(*WORKER.env, ("A", "1"))),
            "worker, env entry 2 differs: the launch has nothing, said.txt has 'A=1'",
        ),
        (
            replace(RIGHT, leader=WORKER),
            f"leader, argv word {LAST - 1} differs: the launch has '0', said.txt has the node rank",
        ),
        (replace(RIGHT, worker=None), "worker differs: the launch has a command, said.txt has nothing"),
        ("no such key", "said.txt cannot be read back: no such key"),
    ],
)
def test_the_first_difference_is_named_with_its_node_and_position(commands: Commands | str, reason: str) -> None:
    verdict = prove_text(SPEC, Says(commands), "")
    assert isinstance(verdict, Refuted)
    assert verdict.reason == reason


def test_a_second_kind_of_node_is_a_difference_for_a_launch_on_one() -> None:
    leader = plain().command
    verdict = prove_text(plain(), Says(Commands(leader=leader, worker=leader, checked=True)), "")
    assert isinstance(verdict, Refuted)
    assert verdict.reason == "worker differs: the launch has nothing, said.txt has a command"


@pytest.mark.parametrize("checked", [True, False])
def test_a_check_of_the_weights_that_is_missing_or_invented_is_a_difference(*, checked: bool) -> None:
    spec = plain() if checked else k3()
    right = Commands(leader=spec.command, checked=checked)
    assert isinstance(prove_text(spec, Says(right), ""), Proven)
    verdict = prove_text(spec, Says(replace(right, checked=not checked)), "")
    assert isinstance(verdict, Refuted)
    assert verdict.reason.startswith("the check of the weights differs: ")


def test_an_equal_file_is_proven_and_counted() -> None:
    verdict = prove_text(SPEC, Says(RIGHT), "")
    assert isinstance(verdict, Proven)
    assert f"{LAST} argv words and 2 environment entries, and {LAST + 1} words on every other node" in verdict.reason
