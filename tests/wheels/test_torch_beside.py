"""vLLM 0.27.1 on a torch that it was not built for, as one H200 showed it; run with ``-m wheels``."""

import json

import pytest
from tests.wheels.released import chosen

from dayzero.cli.main import run

pytestmark = pytest.mark.wheels

K3 = {
    "architectures": ["KimiK3ForConditionalGeneration"],
    "model_type": "kimi_k3",
    "text_config": {
        "dtype": "bfloat16",
        "hidden_act": "situ",
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "num_attention_heads": 96,
        "linear_attn_config": {"num_heads": 96, "head_dim": 128, "gate_lower_bound": -5.0},
    },
}
SERVED = ("--attention-backend", "TRITON_MLA", "--kda-prefill-backend", "triton", "--max-num-seqs", "256")


@pytest.mark.parametrize(
    ("torch", "flags", "start"),
    chosen(
        [
            ("torch==2.11.0", (), {"grid-limit", "prefill-kernel"}),
            ("torch==2.11.0", SERVED, set()),
            ("torch==2.13.0", SERVED, set()),
        ],
        lambda row: ("vllm==0.27.1", row[0]),
    ),
)
def test_only_what_stopped_the_start_is_said_to_stop_it(tmp_path, capsys, torch, flags, start):
    (tmp_path / "config.json").write_text(json.dumps(K3))
    words = ["--engine", "vllm==0.27.1", "--with", torch, "--system", "1xh200", "--output-format", "json"]
    run(["audit", str(tmp_path / "config.json"), *words, "--", "--block-size", "128", *flags])
    said = json.loads(capsys.readouterr().out)["findings"]
    assert {one["rule"] for one in said if one["severity"] == "start"} == start
    assert not [one for one in said if one["rule"] == "python-member"]
    guarded = [one for one in said if one["rule"] == "native-symbols" and one["severity"] == "guarded"]
    assert len(guarded) == (2 if torch == "torch==2.11.0" else 0)
    assert len([one for one in said if one["rule"] == "pin-conflict"]) == (torch == "torch==2.11.0")
