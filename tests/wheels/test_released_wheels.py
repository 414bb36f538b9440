"""Releases before and after the first that knows a model, on the real wheels, which pip fetches; run with ``-m wheels``."""

import json

import pytest
from tests.wheels.released import chosen

from dayzero.cli.main import run

pytestmark = pytest.mark.wheels

K3 = {
    "architectures": ["KimiK3ForConditionalGeneration"],
    "model_type": "kimi_k3",
    "auto_map": {"AutoConfig": "c.KimiK3Config", "AutoModel": "m.KimiK3ForConditionalGeneration"},
}


def audit(capsys, *words: str):
    code = run(["audit", *words, "--output-format", "json"])
    return code, json.loads(capsys.readouterr().out)["findings"]


@pytest.mark.parametrize(
    ("build", "first"),
    chosen(
        [
            ("vllm==0.26.0", "vllm 0.27.0"),
            ("sglang==0.5.16", "sglang 0.5.17"),
            ("vllm==0.27.0", ""),
            ("sglang==0.5.17", ""),
        ],
        lambda one: one[:1],
    ),
)
def test_the_release_before_the_first_will_not_start_and_names_the_first(tmp_path, capsys, build, first):
    (tmp_path / "config.json").write_text(json.dumps(K3))
    _, findings = audit(capsys, str(tmp_path / "config.json"), "--engine", build)
    found = [one for one in findings if one["rule"] == "architecture-not-registered"]
    assert [one["severity"] for one in found] == (["start"] if first else [])
    assert all(first in one["resolution"] for one in found)
