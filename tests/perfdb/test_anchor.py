"""The real tables of aiconfigurator-core 0.12.0: what is counted, what lint finds, what its own command line makes of an export."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from dayzero.cli.main import run

pytestmark = [pytest.mark.aic, pytest.mark.xdist_group("aic")]

FLOOR = ("engine=vllm", "dir_version=0.1.dev19262", "phase=context", "kernel_label=causal_conv1d_fn_qkv3")
META = "data/gb300/kda/vllm/0.27.0/collection_meta.yaml:22"


@pytest.fixture(scope="module")
def environment():
    named = os.environ.get("DAYZERO_AIC_ENV", "")
    if not (Path(named) / "bin" / "aiconfigurator").exists():
        pytest.fail("no aiconfigurator: make aic-env, or set DAYZERO_AIC_ENV")
    return Path(named)


@pytest.fixture(scope="module")
def lab(environment, tmp_path_factory):
    """Import the installed tree once."""
    lab = tmp_path_factory.mktemp("lab")
    systems = next(environment.glob("lib/python3*/site-packages/aiconfigurator_core/systems"))
    assert run(["perfdb", "import", str(systems), "-o", str(lab / "db")]) == 0
    return lab


def ask(capsys, *words: object):
    code = run([*map(str, words), "--output-format", "json"])
    return code, json.loads(capsys.readouterr().out)


def ttft_ms(environment, *more: str) -> float:
    """Ask aiconfigurator's own command line for the time to first token of Kimi K3."""
    words = "cli estimate --model-path moonshotai/Kimi-K3 --system b300_sxm --backend vllm --tp-size 8"
    words += " --moe-tp-size 8 --moe-ep-size 1 --batch-size 1 --isl 4096 --osl 128 --estimate-mode static_ctx"
    done = subprocess.run(
        [environment / "bin" / "aiconfigurator", *words.split(), *more],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )
    found = re.search(r"TTFT:\s+([0-9.]+) ms", done.stdout + done.stderr)
    assert found, done.stderr[-2000:]
    return float(found[1])


def test_the_lane_that_was_said_to_be_on_eight_systems_is_on_six_and_the_other_nowhere(lab, capsys):
    code, told = ask(capsys, "perfdb", "coverage", lab / "db", "kimi-k3/vllm/moe")
    lanes = {lane["lane"].split("/")[3]: lane for lane in told["lanes"]}
    assert code == 1
    assert (lanes["w4a16_mxfp4"]["systems_with_rows"], lanes["w4a16_mxfp4"]["rows"]) == (6, 5832)
    absent = {c["system"] for c in lanes["w4a16_mxfp4"]["systems"] if c["state"] == "not attempted"}
    assert absent == {"l40s", "rtx_pro_6000_server"}
    assert lanes["w4a8_mxfp4_mxfp8"]["rows"] == 0


@pytest.mark.parametrize(
    ("rule", "rows"),
    [("duplicate-key", 536_576), ("backend-floor", 3_424), ("wrong-device", 23 + 684), ("zero-latency", 60_002)],
)
def test_lint_counts_what_was_counted_by_hand(lab, capsys, rule, rows):
    _, told = ask(capsys, "perfdb", "lint", lab / "db", "--rule", rule)
    assert sum(finding["matched_rows"] for finding in told["findings"]) == rows


def test_its_own_command_line_predicts_otherwise_once_the_floor_is_taken_back(environment, lab, capsys):
    assert run(["keys", "new", "lab", "-o", str(lab)]) == 0
    where = [word for term in FLOOR for word in ("--where", term)]
    why = "A host-side floor lies under every row of the preview's context convolution."
    words = ["perfdb", "retract", "k3-conv-floor", str(lab / "db"), str(lab), "--table", "kda_perf", *where]
    words += ["--cause", "instrument_artifact", "--why", why, "--line", META, "--sign", str(lab / "lab.key.pem")]
    assert run(words) == 0
    capsys.readouterr()
    code, told = ask(capsys, "perfdb", "export", "aic", lab / "db", lab, "-o", lab / "tree")
    assert (code, told["rewritten"], told["rows_left_out"]) == (0, 8, 3_424)
    assert ttft_ms(environment) == pytest.approx(532.5, abs=0.1)
    assert ttft_ms(environment, "--systems-paths", str(lab / "tree")) == pytest.approx(500.3, abs=0.1)
