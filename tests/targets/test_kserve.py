"""What is true of ``kserve.yaml`` alone; its pod is in ``test_pod.py``."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.targets.cluster import by_kind, tool
from tests.targets.foreign import ask
from tests.targets.launches import HOSTILE_WORDS, k3, k3_two_nodes, launch, plain

from dayzero.core.errors import InputError
from dayzero.core.launch import AddedVariable, LaunchSpec, Replaced
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.interface import NotCarriedError
from dayzero.targets.kserve import TARGET
from dayzero.targets.proof import prove, prove_commands

BRACED = (
    "{{",
    "{{{",
    "{{{{",
    "}}",
    "{{`{{`}}",
    "{{ .Spec }}",
    "{ {",
    "{{- 1 }}",
    "{{/* x */}}",
    "`{{`",
    "}}{{",
    "{",
    "{}{{}",
)


def _spec(spec: LaunchSpec) -> dict:  # type: ignore[type-arg]
    found: dict = by_kind(TARGET.render(spec))["LLMInferenceService"]["spec"]  # type: ignore[type-arg]
    return found


def test_real_go_templates_give_every_word_back(tmp_path: Path) -> None:
    # As KServe does it: the object as JSON, executed as one template, read as JSON again.
    spec = launch(*BRACED, *HOSTILE_WORDS, env=(("A", "{{ fail }}"),))
    pod = _spec(spec)["template"]
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text('apiVersion: "v2"\nname: "x"\nversion: "1.0.0"\n')
    (tmp_path / "values.yaml").write_text(json.dumps({"pod": pod}, ensure_ascii=False))
    (tmp_path / "templates" / "x.yaml").write_text("text: {{ tpl (.Values.pod | toJson) . | toJson }}\n")
    done = ask(tool("helm"), "template", "x", str(tmp_path))
    assert done.returncode == 0, done.stderr
    executed = json.loads(json.loads(done.stdout.split("text: ", 1)[1]))
    words = executed["containers"][0]["command"] + executed["containers"][0]["args"]
    expected = [word.replace("127.0.0.1", "0.0.0.0").replace("8080", "8000") for word in spec.argv]
    assert [word.replace("$$", "$") for word in words] == expected
    assert executed["containers"][0]["env"][0] == {"name": "A", "value": "{{ fail }}"}


@given(word=st.text("{}`x ", max_size=12))
def test_every_word_of_braces_comes_back(word: str) -> None:
    assert isinstance(prove(launch(word, env=(("A", word),)), TARGET), Proven)


def test_a_brace_that_kserve_would_expand_is_not_proven() -> None:
    spec = launch("{{ .Spec }}")
    text = TARGET.render(spec)
    assert isinstance(prove_commands(spec, TARGET, text.replace("{{`{{`}}", "{{")), Refuted)


def test_the_model_is_named_by_what_pins_it_and_kserve_fetches_nothing() -> None:
    assert _spec(k3())["model"] == {"uri": "hf://moonshotai/Kimi-K3:" + "0123456789" * 4, "name": "kimi-k3"}
    assert _spec(plain())["model"] == {"uri": "pvc://demo-model/", "name": "demo"}
    for spec in (k3(), plain()):
        assert _spec(spec)["storageInitializer"] == {"enabled": False}


def test_the_command_is_written_out_in_the_container_of_the_preset() -> None:
    (container,) = _spec(k3())["template"]["containers"]
    assert container["name"] == "main"
    assert container["command"] == ["vllm"]
    assert container["args"][:2] == ["serve", "moonshotai/Kimi-K3"]


def test_the_engine_listens_where_kserves_service_leads() -> None:
    (container,) = _spec(plain())["template"]["containers"]
    assert container["args"][container["args"].index("--port") + 1] == "8000"
    assert container["ports"][0]["containerPort"] == container["readinessProbe"]["httpGet"]["port"] == 8000
    flags = [delta.flag for delta in TARGET.deltas(plain()) if isinstance(delta, Replaced)]
    assert flags == ["--host", "--port"]
    assert [delta.flag for delta in TARGET.deltas(k3()) if isinstance(delta, Replaced)] == ["--host"]


def test_the_presets_cache_does_not_take_the_place_of_the_sites() -> None:
    added = {delta.name: delta.value for delta in TARGET.deltas(k3()) if isinstance(delta, AddedVariable)}
    assert added["HF_HOME"] == "/srv/dayzero/hub"
    assert added["HF_HUB_CACHE"] == "/srv/dayzero/hub/hub"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    enabled: false\n", "    enabled: true\n"),
        ("  storageInitializer:\n    enabled: false\n", ""),
        ("  replicas: 1\n", "  replicas: 1\n  router: {}\n"),
        ("  replicas: 1\n", "  replicas: 1\n  baseRefs: []\n"),
        ('      - name: "main"\n', '      - name: "engine"\n'),
        ('          - "2048"\n', '          - "{{ .Spec.Replicas }}"\n'),
        ('          - "--strict"\n', ""),
    ],
)
def test_a_file_that_does_anything_else_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(plain())
    assert old in text
    assert isinstance(prove_commands(plain(), TARGET, text.replace(old, new)), Refuted)


def test_several_nodes_and_too_long_a_name_are_refused() -> None:
    with pytest.raises(NotCarriedError):
        TARGET.render(k3_two_nodes())
    assert TARGET.render(replace(plain(), name="a" * 43))
    with pytest.raises(InputError, match="at most 43 letters"):
        TARGET.render(replace(plain(), name="a" * 44))
