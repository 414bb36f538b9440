"""What every audit rule keeps to, wherever it was written."""

import re
from pathlib import Path

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import Finding
from dayzero.wiring.audit import rules

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "audit-rules.md"
RULES = rules()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.id}-{type(rule).__module__.split('.')[2]}")
class TestEachRule:
    def test_has_an_id_that_reports_can_carry_and_asks_a_question(self, rule):
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id)
        assert rule.question.endswith("?")

    def test_is_in_the_reference_with_its_question(self, rule):
        assert f"| `{rule.id}` | {rule.question} |" in PAGE.read_text(encoding="utf-8")

    @pytest.mark.parametrize("name", ["something", "vllm", "sglang"])
    def test_finds_nothing_in_a_build_that_holds_nothing(self, rule, name):
        found = found_by(rule, distribution(name, "1.0"), model={"architectures": ["A"], "model_type": "a"})
        assert not any(isinstance(one, Finding) for one in found)

    def test_says_nothing_of_an_engine_that_it_does_not_know(self, rule):
        assert found_by(rule, distribution("something", "1.0"), flags=("--x",), env={"X": "1"}) == []

    @pytest.mark.parametrize("text", ["def (", "x = 1\n" * 3, "\0"])
    def test_never_raises_on_python_that_is_none(self, rule, text):
        files = dict.fromkeys(
            ("vllm/envs.py", "vllm/config/vllm.py", "vllm/engine/arg_utils.py", "flashinfer/jit/env.py"), text
        )
        found_by(rule, distribution("vllm", "1.0", files), flags=("--x",), env={"VLLM_X": "1"})
