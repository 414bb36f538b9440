"""The suite that every installed log dialect passes."""

from importlib.metadata import entry_points

import pytest

from dayzero.triage.dialect import LogDialect
from dayzero.triage.model import Role
from dayzero.wiring import plugins

DIALECTS = sorted(point.name for point in entry_points(group="dayzero.log_dialects"))
ORDINARY = [
    "INFO 10-20 09:44:41 api_server.py:528] vLLM API server version 0.6.3",
    "ValueError: numbers must be odd",
    '  File "/opt/engine/module.py", line 12, in forward',
    "Traceback (most recent call last):",
    "",
]


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> LogDialect:
    return next(one for one in plugins.log_dialects() if one.name == request.param)


def test_the_built_in_dialects_are_installed():
    assert {"vllm", "sglang", "trtllm", "tgi", "triton", "llamacpp", "nccl", "torch", "ray"} <= set(DIALECTS)


def test_the_name_is_the_entry_points(dialect: LogDialect):
    assert dialect.name in DIALECTS


@pytest.mark.parametrize("kind", ["process_prefixes", "record_prefixes"])
def test_a_prefix_takes_something_off_and_names_only_known_groups(dialect: LogDialect, kind: str):
    for pattern in getattr(dialect, kind):
        assert pattern.match("") is None, f"{pattern.pattern!r} matches nothing at all"
        assert set(pattern.groupindex) <= {"name", "pid", "level", "source", "process", "file"}


def test_no_report_noise_or_fallout_hides_an_ordinary_line(dialect: LogDialect):
    hiding = [
        *(saying.pattern for saying in dialect.reports),
        *dialect.noise,
        *dialect.fallout,
        *dialect.started,
    ]
    for line in ORDINARY[1:]:
        assert not [pattern.pattern for pattern in hiding if pattern.search(line)], line


def test_exits_name_a_status_and_versions_a_version(dialect: LogDialect):
    assert all("status" in pattern.groupindex for pattern in dialect.exits)
    assert all("version" in pattern.groupindex for pattern in dialect.versions)


def test_an_engine_can_be_told_by_its_signature_and_says_when_it_serves(dialect: LogDialect):
    assert (dialect.signature is None) == (not dialect.started)


def test_roots_are_chosen_by_triage_never_by_a_dialect(dialect: LogDialect):
    assert Role.ROOT not in {saying.role for saying in (*dialect.reports, *dialect.process_roles, *dialect.frame_roles)}
