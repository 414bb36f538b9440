"""The table of mutants by deploy file, at the end of the test output; other people's tools where they were installed to."""

import os
from collections.abc import Iterator, Mapping

import pytest
from tests.targets.cluster import tools_folder

_KEY = "mutants"


@pytest.fixture(autouse=True, scope="session")
def _kubernetes_tools_on_the_path() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join((tools_folder(), os.environ["PATH"])))
        yield


def record_mutants(
    request: pytest.FixtureRequest, *, file: str, launch: str, caught: Mapping[str, int], of: int
) -> None:
    """Note how many mutants of one file were caught, by the kind of change."""
    request.node.user_properties.append((_KEY, {"file": file, "launch": launch, "caught": dict(caught), "of": of}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line a file and launch."""
    rows = [
        value
        for reports in (terminalreporter.stats.get(outcome, []) for outcome in ("passed", "failed"))
        for report in reports
        for key, value in getattr(report, "user_properties", ())
        if key == _KEY
    ]
    if not rows:
        return
    terminalreporter.section("mutants caught, by deploy file and launch")
    for row in sorted(rows, key=lambda row: (row["file"], row["launch"])):
        kinds = ", ".join(f"{how} {count}" for how, count in row["caught"].items() if count)
        total = sum(row["caught"].values())
        terminalreporter.line(f"{row['file']:42} {row['launch']:22} {total} of {row['of']}  ({kinds})")
    caught, of = sum(sum(row["caught"].values()) for row in rows), sum(row["of"] for row in rows)
    terminalreporter.line(f"all files: {caught} of {of} mutants caught")
