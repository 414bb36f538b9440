import json
import subprocess
import sys
from pathlib import Path

import pytest

K3 = Path(__file__).parents[2] / "packages" / "kimi-k3-8xb300" / "config.json"


def proxy(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dayzero", "proxy", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_four_layers_of_kimi_k3_hold_every_kind_of_layer(tmp_path):
    done = proxy(K3, "--layers", 4, "-o", tmp_path / "k3", "--output-format", "json")
    said = json.loads(done.stdout)
    assert done.returncode == 0
    assert said["schema"] == "dayzero/proxy/v1"
    assert (said["layers"], said["of_layers"]) == (4, 93)
    assert [kind["count"] for kind in said["kinds"]] == [1, 68, 24]
    assert said["weights_bytes"] < said["of_weights_bytes"] / 20
    assert {file["path"] for file in said["files"]} == {path.name for path in (tmp_path / "k3").iterdir()}


def test_the_package_pins_what_the_command_writes(tmp_path):
    proxy(K3, "--layers", 4, "-o", tmp_path / "k3")
    written = (tmp_path / "k3" / "config.json").read_bytes()
    assert written == (K3.parents[1] / "kimi-k3-4of93-1xh200" / "config.json").read_bytes()


def test_a_missing_kind_is_undecided_and_the_fewest_layers_are_named(tmp_path):
    done = proxy(K3, "--layers", 2, "-o", tmp_path / "k3")
    assert done.returncode == 3
    assert "MISSING  layer 3" in done.stdout
    assert "--layers 4 is the fewest with all of them" in done.stdout


def test_an_architecture_that_is_not_described_is_written_and_undecided(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"architectures": ["AcmeLM"], "num_hidden_layers": 4, "vocab_size": 1024}))
    done = proxy(config, "--layers", 2, "-o", tmp_path / "out")
    assert done.returncode == 3
    assert "kinds    not known" in done.stdout
    assert (tmp_path / "out" / "tokenizer.json").is_file()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((K3, "--layers", 94, "-o", "out"), "94 of 93 layers cannot be kept"),
        (("nowhere.json", "--layers", 1, "-o", "out"), "nowhere.json cannot be read"),
        ((K3, "--layers", 1, "-o", "."), "is there already"),
    ],
)
def test_bad_input_is_refused_with_a_hint(words, complaint):
    done = proxy(*words)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "hint:" in done.stderr
