"""Fixtures that more than one folder asks for."""

import ctypes
import fcntl
import os
import tempfile
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.simulators.quiet_machine import assume

from dayzero.bench import validity
from dayzero.core.errors import RemoteError
from dayzero.wiring import definitions, laboratory

pytest_plugins = (
    "tests.engines.llamacpp.fixtures",
    "tests.postgres_fixtures",
    "tests.market.fixtures",
    "tests.adapters.payments.stripe_api",
    "tests.vllm_fixtures",
)

# No example has to be done in time: the machine may be busy.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedEngine:
    """The embedded engine's two builds: the one that serves the seeded Kimi-K3, and an older one that cannot.

    Attributes:
        wheel, old_wheel: The wheels.
        site, old_site: A folder for ``PYTHONPATH`` that holds the build.
    """

    wheel: Path
    old_wheel: Path
    site: Path
    old_site: Path


@pytest.fixture
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the rules about the client and its machine out of one test; see tests/simulators/quiet_machine.py."""
    monkeypatch.setattr(validity, "RUN_RULES", validity.RUN_RULES)
    monkeypatch.setattr(validity, "CELL_RULES", validity.CELL_RULES)
    assume()


_ACCEPTED = (
    "GPU",
    "public vectors are not here",
    # Debian 12 has podman 4.3, whose rules tests/targets/generator.py does again, and Docker 20.10, which the recorder stands for.
    "podman-system-generator is not installed",
    "docker is not installed",
    "Docker's client is older than 23",
)


@pytest.fixture(scope="session")
def embedded_engine() -> EmbeddedEngine:
    """Give the two builds that the demo pins, or skip where the package index cannot be reached and they are not kept yet."""
    try:
        ctypes.CDLL("libgomp.so.1")
    except OSError:
        pytest.skip("the embedded engine needs libgomp.so.1 (Debian: libgomp1), which this machine lacks")
    package = definitions.package("demo-kimi-k3-tiny")
    store = laboratory.build_store()
    new, old = package.recipe.engine, package.walls[0].build
    try:
        return EmbeddedEngine(
            wheel=store.wheel(new), old_wheel=store.wheel(old), site=store.site(new), old_site=store.site(old)
        )
    except RemoteError as error:
        pytest.skip(f"the embedded engine is not here: {error.message}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files first whose tests measure, then those whose tests take long, then those with many tests.

    Workers take files in this order: they wait for each other at the beginning only, and what is left for the end is short.
    """
    tests = Counter(item.path for item in items)
    alone = {item.path for item in items if item.get_closest_marker("alone")}
    long = {item.path for item in items if item.get_closest_marker("engine") or item.get_closest_marker("packaging")}
    items.sort(key=lambda item: (item.path not in alone, item.path not in long, -tests[item.path], item.path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Give a test that measures for real the machine to itself: the other workers wait until it is over."""
    run = getattr(item.config, "workerinput", {}).get("testrunuid")
    if run is None:
        return (yield)
    folder = Path(tempfile.gettempdir())
    with (
        (folder / f"dayzero-tests-{run}.turn").open("w") as turn,
        (folder / f"dayzero-tests-{run}.floor").open("w") as floor,
    ):
        fcntl.flock(turn, fcntl.LOCK_EX)  # who waits for an empty floor is not passed by those who would share it
        fcntl.flock(floor, fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)
        fcntl.flock(turn, fcntl.LOCK_UN)
        return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where everything has to be there (``DAYZERO_NO_SKIPS``), a skip is a failure.

    Three reasons are accepted: a GPU is needed, the collections of public vectors do not lie beside the checkout, and Debian 12 has
    too old a podman or Docker in its packages.
    """
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("DAYZERO_NO_SKIPS") or reporter is None:
        return
    reasons = {str(report.longrepr) for report in reporter.stats.get("skipped", [])}
    unexpected = sorted(reason for reason in reasons if not any(words in reason for words in _ACCEPTED))
    if unexpected:
        reporter.write_line("nothing may skip here, and these did:\n" + "\n".join(unexpected))
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
