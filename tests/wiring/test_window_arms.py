"""Packages as arms: their engines are started for the comparison, and one that dies is a result."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dayzero.bench.windows.model import Compared, Design, DoesNotServe, Taken, Window
from dayzero.core.workload import Cell
from dayzero.wiring import definitions
from dayzero.wiring.window import compare
from dayzero.wiring.window_arms import LocalArms, PackageArm, Waiting

CELL = Cell(name="c1", concurrency=1, requests=12, warmup_requests=1, input_tokens=32, output_tokens=4)
DESIGN = Design(seed=1, cell=CELL, pairs=4, certificate_pairs=4)
QUIET = Waiting(lambda _seconds, _line: None, lambda _progress: None)


class Silence:
    """Implements ``bench.windows.ports.Listener``."""

    def begins(self, window: Window, number: int, total: int) -> None:
        pass

    def certified(self, certificate: Compared, minimum_before: float) -> None:
        pass


def arms() -> tuple[PackageArm, PackageArm]:
    package = definitions.package("demo-kimi-k3-tiny")
    recipe = replace(package.recipe, port=0)
    old = replace(package, recipe=replace(recipe, engine=package.walls[0].build))
    return PackageArm(package=replace(package, recipe=recipe)), PackageArm(package=old)


@pytest.mark.engine
@pytest.mark.usefixtures("embedded_engine")
@pytest.mark.parametrize("restarts", [False, True])
def test_a_stock_build_that_does_not_serve_is_a_result_with_its_log_and_cause(tmp_path: Path, restarts: bool):  # noqa: FBT001
    good, old = arms()
    found = compare(replace(DESIGN, restarts=restarts), {"A": good, "B": old}, tmp_path, Silence(), QUIET)
    assert isinstance(found.result, DoesNotServe)
    silent = found.result.silent
    assert (silent.arm, silent.proven) == ("B", True)
    assert "exit code 1" in silent.reason
    assert "unknown model architecture" in silent.cause
    log, _, line = silent.log.rpartition(":")
    assert "unknown model architecture" in Path(log).read_text().splitlines()[int(line) - 1]
    receipt = json.loads((tmp_path / "receipt.json").read_text())
    assert any(file["path"].startswith("arm-B/logs/") for file in receipt["files"])


@pytest.mark.engine
@pytest.mark.usefixtures("embedded_engine")
@pytest.mark.parametrize(("restarts", "logs"), [(False, 1), (True, 2)])
def test_an_arm_stays_up_between_windows_or_starts_anew_for_each(tmp_path: Path, restarts: bool, logs: int):  # noqa: FBT001
    good, _ = arms()
    seeds = {"stage": "comparison", "pair": 1, "label": "A", "arm": "A", "prompt_seed": 1}
    windows = [Window(slot=slot, nonce=str(slot), **seeds) for slot in (1, 2)]  # type: ignore[arg-type]
    with LocalArms({"A": good, "B": good}, tmp_path, QUIET, restarts=restarts) as local:
        taken = [local.measure(window, CELL) for window in windows]
    assert all(isinstance(one, Taken) for one in taken), taken
    assert len(list((tmp_path / "arm-A" / "logs").iterdir())) == logs
    assert local.found["A"].engine == "llamacpp"
