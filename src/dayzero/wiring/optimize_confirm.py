"""Confirm the best combination: against the package as it is in alternating windows, and by the gate where that was asked."""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from dayzero.adapters.gate_endpoints import Reach
from dayzero.adapters.openai_http import Connection
from dayzero.adapters.package_files import load_package
from dayzero.adapters.package_files.rewrite import with_flags
from dayzero.adapters.processes import free_port
from dayzero.bench.windows.model import Compared, Design, Window
from dayzero.core.errors import InputError, RemoteError
from dayzero.core.package import Package
from dayzero.core.verdict import Undecided
from dayzero.engines.command_line import given
from dayzero.gates.exchange import Side
from dayzero.gates.model import Arm, Different, DistributionPlan, Same
from dayzero.gates.prompts import Layout
from dayzero.gates.report import sentences
from dayzero.gates.setting import Setting
from dayzero.optimize.command_line import with_words
from dayzero.optimize.model import Point
from dayzero.optimize.space import flags_of
from dayzero.serve.model import Healthy
from dayzero.wiring import gate, window
from dayzero.wiring.laboratory import HOST, LocalSession, LocalWorkbench, fresh_folder
from dayzero.wiring.optimize_files import put_definition
from dayzero.wiring.optimize_study import Opened
from dayzero.wiring.window_arms import PackageArm, Waiting

_A_STREAM: Final = 10
_CERTIFICATE_PAIRS: Final = 4
_PROMPTS, _POSITIONS, _CONTEXT = 100, 64, 64  # what `dayzero gate distribution` takes unless told


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """How a winner is confirmed.

    Attributes:
        wanted: Whether it is.
        pairs: Pairs of the comparison.
        requests: Of a window; 0 for what a window needs.
        flags: What both arms get in place of their own.
        one_at_a_time: Whether each window starts its engine.
        gate: Whether the gate is asked, too.
    """

    wanted: bool = True
    pairs: int = 6
    requests: int = 0
    flags: tuple[str, ...] = ()
    one_at_a_time: bool = False
    gate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """What the gate says: the same, another distribution, or that it cannot tell."""

    verdict: str
    because: tuple[str, ...]
    same: bool
    different: bool

    def document(self) -> dict[str, object]:
        """Write it."""
        return {"asked": True, "verdict": self.verdict, "because": list(self.because)}


NOT_ASKED: Final[Mapping[str, object]] = {
    "asked": False,
    "verdict": None,
    "because": ["The distribution gate was not asked: give --gate."],
}


def parse_flags(text: str) -> tuple[str, ...]:
    """Take the words of ``--confirm-with`` apart.

    Raises:
        InputError: They are no flags.
    """
    words = tuple(shlex.split(text))
    if words and not words[0].startswith("-"):
        raise InputError(f"not flags: {text!r}", hint='Write them as on a command line: "--n-parallel 2".')
    return words


def compared(
    opened: Opened, best: tuple[int, Point], how: Confirmation, listener: "Told", waiting: Waiting
) -> Mapping[str, Any]:
    """Compare the best combination with the package as it is; a comparison that was finished before is not made again.

    Args:
        opened: The study.
        best: Number and combination of its best trial.
        how: How it is confirmed.
        listener: Is told of the windows.
        waiting: Is told what happens inside one.

    Returns:
        The comparison, as ``dayzero window`` writes it.

    Raises:
        InputError: The comparison cannot be carried out.
        RemoteError: The disk refused.
    """
    folder = opened.folder.confirmation / f"{best[0]:04}"
    if not (folder / window.RESULT).is_file():
        cell = opened.cell
        requests = how.requests or max(cell.requests, _A_STREAM * cell.concurrency)
        design = Design(
            seed=opened.study.seed,
            cell=replace(cell, requests=requests),
            pairs=how.pairs,
            certificate_pairs=_CERTIFICATE_PAIRS,
            primary=opened.goal.objectives[0].measure,
            restarts=how.one_at_a_time,
        )
        packages = _arms(opened, best[1], how.flags, folder)
        window.compare(
            design,
            {"A": PackageArm(package=packages["A"]), "B": PackageArm(package=packages["B"])},
            fresh_folder(folder),
            listener,
            waiting,
        )
    found: Mapping[str, Any] = json.loads((folder / window.RESULT).read_bytes())
    return found


def summary(found: Mapping[str, Any], folder: str, flags: tuple[str, ...]) -> dict[str, object]:
    """Say of a comparison what the result of a study holds."""
    return {
        "verdict": found["verdict"],
        "because": found["because"],
        "difference": found.get("comparison", {}).get("difference"),
        "margin": found["margin"],
        "pairs": found["pairs"],
        "load": found["load"],
        "with": list(flags),
        "folder": folder,
    }


def gated(opened: Opened, point: Point, how: Confirmation, waiting: Waiting) -> Gated:
    """Hold the winner to the distribution gate against the package as it is; both are started for it.

    Raises:
        InputError: The endpoints cannot be compared.
        RemoteError: An engine did not come up, or the disk refused.
    """
    folder = fresh_folder(opened.folder.gate)
    packages = _arms(opened, point, how.flags, folder)
    plan = DistributionPlan(
        prompts=_PROMPTS, positions=_POSITIONS, seed=opened.study.seed, arms=(Arm.PREFILL, Arm.DECODE)
    )
    with ExitStack() as stack:
        reaches: dict[Side, Reach] = {}
        for side in ("A", "B"):
            session = stack.enter_context(_up(packages[side], folder / f"arm-{side}", waiting))
            reaches["A" if side == "A" else "B"] = Reach(connection=Connection(url=session.url))
        layout = Layout(context=_CONTEXT, tail=_POSITIONS)
        found = gate.compare(reaches, plan, layout, folder / "attempts", _Quiet())
    if isinstance(found.answer, Undecided):
        return Gated(verdict="undecided", because=(found.answer.reason,), same=False, different=False)
    verdict = found.answer.verdict
    said = sentences(found.answer)
    return Gated(
        verdict=said[0].partition(":")[0],
        because=said,
        same=isinstance(verdict, Same),
        different=isinstance(verdict, Different),
    )


class Told:
    """Hears of a comparison's windows. Implements ``bench.windows.ports.Listener``.

    Args:
        say: Takes a line.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def begins(self, window: Window, number: int, total: int) -> None:
        """Say which window begins."""
        self._say(f"confirmation, window {number} of {total}: {window.name}")

    def certified(self, certificate: Compared, minimum_before: float) -> None:
        """Say what the comparison will be able to find."""
        pairs = len(certificate.pairs)
        self._say(
            f"confirmation: A against itself over {pairs} pairs shows no difference; {minimum_before:.2%} will be found"
        )


class _Quiet:
    """Hears of a gate and says nothing. Implements ``wiring.gate.Told``."""

    def attempt(self, number: int, earlier: tuple[str, ...], folder: Path) -> None:
        """Hear of the attempt."""

    def fixed(self, setting: Setting) -> None:
        """Hear of what was fixed."""

    def captures(self, look: int, prompts: int, requests: int) -> None:
        """Hear of captures."""

    def answered(self) -> None:
        """Hear of an answer."""


def _arms(opened: Opened, point: Point, flags: tuple[str, ...], folder: Path) -> dict[str, Package]:
    """Write both arms' definitions beside the comparison, and read them."""
    text = opened.folder.stock.read_text(encoding="utf-8")
    found: dict[str, Package] = {}
    for side, own in (("A", opened.study.space.stock), ("B", point)):
        words = _together(flags_of(opened.study.space, own), flags)
        file = put_definition(with_flags(text, words), opened.folder.stock, folder.parent / f"{folder.name}-arm-{side}")
        package = load_package(file)
        found[side] = replace(package, recipe=replace(package.recipe, port=0))
    return found


def _together(words: tuple[str, ...], flags: tuple[str, ...]) -> tuple[str, ...]:
    for one in given(flags):
        words = with_words(words, (one.flag,), (one.flag, *one.values))
    return words


@contextmanager
def _up(package: Package, folder: Path, waiting: Waiting) -> Iterator[LocalSession]:
    recipe = package.recipe
    bench = LocalWorkbench(folder, port=free_port(HOST))
    with bench.start(recipe, recipe.engine, "engine.log") as session:
        start = session.wait(waiting.on_wait)
        if not isinstance(start, Healthy):
            raise RemoteError(f"{recipe.engine} did not become healthy for the gate", hint=f"Read {session.log_path}.")
        yield session
