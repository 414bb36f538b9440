"""``dayzero audit --against`` on a small checkout of recipes, with small wheels of the releases that they name."""

import json
import shutil
from pathlib import Path

import pytest
from tests.simulators.wheels import make_wheel

from dayzero.adapters import artifact_index
from dayzero.cli.main import run

SAMPLE = Path(__file__).parents[1] / "audit" / "recipes" / "sample"
K3 = "KimiK3ForConditionalGeneration"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    shelf = tmp_path / "shelf"
    for version, classes in (("0.5.16", "A"), ("0.5.17", K3)):
        make_wheel(shelf, "sglang", version, {"sglang/srt/models/k.py": f"EntryClass = [{classes}]\n"})
    for version, name in (("0.26.0", "A"), ("0.27.0", K3)):
        registry = (
            f"_TEXT_GENERATION_MODELS = {{'{name}': ('k', '{name}')}}\n_VLLM_MODELS = {{**_TEXT_GENERATION_MODELS}}\n"
        )
        make_wheel(shelf, "vllm", version, {"vllm/model_executor/models/registry.py": registry})
    monkeypatch.setenv("DAYZERO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    shutil.copytree(SAMPLE, tmp_path / "recipes")
    config = tmp_path / "models" / "moonshotai" / "Kimi-K3" / "config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"architectures": [K3], "auto_map": {"AutoModel": "m.K"}}))
    return tmp_path


def against(checkout, capsys, *words: str) -> tuple[int, str]:
    code = run(["audit", str(checkout / "models"), "--against", str(checkout / "recipes"), *words])
    return code, capsys.readouterr().out


def test_each_launch_has_a_line_and_each_file_is_answered_for(checkout, capsys):
    code, printed = against(checkout, capsys)
    assert code == 1
    lines = printed.splitlines()
    refuted = {line.split()[1] for line in lines if line.startswith("refuted")}
    assert refuted >= {"cookbook/v0.5.16/b200-low-latency.yaml:1"}
    named = {line.split()[2 if line.startswith("not read") else 1].split(":")[0] for line in lines if "  " in line}
    assert {str(one.relative_to(SAMPLE)) for one in SAMPLE.rglob("*") if one.is_file()} == named
    assert "12 launches in 10 files: " in printed
    assert "deploy/custom.yaml:10" in printed
    assert "the image registry.example.com/runtime:1.5.0-kimi-k3-dev.1 is custom: its code is unknown" in printed
    assert "the tag latest names no release of vllm" in printed
    assert "configs/broken.yaml" in printed


def test_json_says_it_all_and_sarif_points_into_the_recipes(checkout, capsys):
    _, printed = against(checkout, capsys, "--output-format", "json")
    document = json.loads(printed)
    assert (document["schema"], document["verdict"]) == ("dayzero/audit-folder/v1", "refuted")
    assert (
        sum(document["counts"][word] for word in ("refuted", "undecided", "proven")) == len(document["recipes"]) == 12
    )
    custom = next(one for one in document["recipes"] if one["file"] == "deploy/custom.yaml")
    assert (custom["verdict"], custom["engine"], custom["findings"]) == ("undecided", "", [])
    _, printed = against(checkout, capsys, "--output-format", "sarif")
    results = json.loads(printed)["runs"][0]["results"]
    rules = {rule["id"] for rule in json.loads(printed)["runs"][0]["tool"]["driver"]["rules"]}
    for result in results:
        place = result["locations"][0]["physicalLocation"]
        file = checkout / "recipes" / place["artifactLocation"]["uri"]
        assert 1 <= place["region"]["startLine"] <= len(file.read_text().splitlines())
        assert result["ruleId"] in rules


def test_the_files_of_a_release_are_read_once_for_all_launches(checkout, capsys, monkeypatch):
    for number in range(30):
        shutil.copy(SAMPLE / "scripts" / "run.sh", checkout / "recipes" / "scripts" / f"run{number}.sh")
    opened = []
    real = artifact_index.IndexStore.fetch
    monkeypatch.setattr(
        artifact_index.IndexStore, "fetch", lambda self, one: opened.append(str(one)) or real(self, one)
    )
    against(checkout, capsys)
    assert sorted(opened) == ["sglang==0.5.16", "sglang==0.5.17", "vllm==0.26.0", "vllm==0.27.0"]


@pytest.mark.parametrize(
    ("words", "engine"),
    [((), ""), (("--engine", "vllm==0.27.0"), "vllm==0.27.0"), (("--engine", "sglang==0.5.17"), "")],
)
def test_an_engine_that_is_given_stands_for_what_names_no_release_and_never_for_a_custom_image(
    checkout, capsys, words, engine
):
    document = json.loads(against(checkout, capsys, *words, "--output-format", "json")[1])
    found = {one["file"]: one["engine"] for one in document["recipes"]}
    assert (found["deploy/compose.yaml"], found["deploy/custom.yaml"]) == (engine, "")


def test_a_folder_without_recipes_is_undecided_and_one_that_is_not_there_an_error(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0")
    assert run(["audit", "--against", str(tmp_path)]) == 3
    printed = capsys.readouterr().out
    assert "not read   notes.txt" in printed
    assert "not read   picture.png" in printed
    assert run(["audit", "--against", str(tmp_path / "gone")]) == 2
    assert run(["audit", "--against", str(tmp_path), "--", "--port", "1"]) == 2


def test_a_package_is_a_recipe_too(tmp_path, capsys):
    shutil.copytree(Path(__file__).parents[2] / "packages" / "demo-smollm2", tmp_path / "demo-smollm2")
    assert run(["audit", "--against", str(tmp_path)]) == 3
    assert "its engine is audited through the package alone: dayzero audit" in capsys.readouterr().out
