"""Every installed rule together against what was judged by hand on pairs of released wheels; run with ``-m wheels``."""

import tomllib
from pathlib import Path

import pytest
from tests.wheels.released import chosen, wheel

from dayzero.audit.finding import Finding, Severity
from dayzero.audit.installed import Installed
from dayzero.audit.report import audited
from dayzero.audit.rules import Subject
from dayzero.core.hardware import parse_system
from dayzero.wiring.audit import rules

pytestmark = pytest.mark.wheels

TABLE = tomllib.loads(Path(__file__).with_name("judgements.toml").read_text(encoding="utf-8"))
PAIRS = [(one.pop("builds"), one) for one in TABLE["pair"]]
ROWS = chosen(PAIRS, lambda one: one[0])
# The model of the judgements: one whose activation some releases of the library do not know.
MODEL = {
    "architectures": ["KimiK3ForConditionalGeneration"],
    "model_type": "kimi_k3",
    "text_config": {"hidden_act": "situ", "num_attention_heads": 96, "kv_lora_rank": 512, "qk_rope_head_dim": 64},
}
WORSE = list(Severity)  # the worst first
LIBRARY = ("python-", "version-literal")


def judged(builds: list[str]) -> list[Finding]:
    opened = [wheel(*one.split("==")) for one in builds]
    installed = Installed(engine=opened[0], others=tuple(opened[1:]))
    subject = Subject(
        installed=installed, engine=opened[0].name, model=MODEL, system=parse_system("8xb300"), capability=(10, 3)
    )
    return [one for one in audited(rules(), subject).findings if one.engine and one.rule.startswith(LIBRARY)]


def at(finding: Finding) -> str:
    return f"{finding.engine.file}:{finding.engine.position.removeprefix('line ')}" if finding.engine else ""


@pytest.mark.parametrize(("builds", "judgements"), ROWS, ids=["+".join(builds) for builds, _ in ROWS])
def test_what_was_judged_by_hand_is_said_and_what_is_guarded_is_not_raised(
    builds: list[str], judgements: dict[str, str]
) -> None:
    found = judged(builds)
    wrong: list[str] = []
    for place, judgement in judgements.items():
        said = [one.severity for one in found if f"{at(one)}:".startswith(f"{place}:") or not place]
        if judgement == Severity.GUARDED.value:
            raised = [one for one in said if WORSE.index(one) < WORSE.index(Severity.GUARDED)]
            wrong += [f"{place} is guarded, and raised as {one.value}" for one in raised]
        elif not any(WORSE.index(one) <= WORSE.index(Severity(judgement)) for one in said):
            wrong.append(f"{place} is {judgement}, and said to be {[one.value for one in said]}")
    assert not wrong
