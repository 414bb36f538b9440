"""Launches in the shapes in which repositories keep them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.audit.recipes.image import code_of
from dayzero.audit.recipes.model import Launch, NoRecipe, Release, UnknownCode, Unstated
from dayzero.audit.recipes.read import read

V, S = Release("vllm", "0.27.0"), Release("sglang", "0.5.17")


def only(path: str, text: str) -> Launch:
    found = read(path, text)
    assert isinstance(found, tuple), found
    (one,) = found
    return one


@pytest.mark.parametrize(
    ("image", "code"),
    [
        ("vllm/vllm-openai:v0.27.0", V),
        ("docker.io/vllm/vllm-openai:v0.27.0-cu130@sha256:" + "0" * 64, V),
        ("vllm/vllm-openai:v0.27.0-x86_64", V),
        ("vllm/vllm-openai:v0.27.0rc1", Release("vllm", "0.27.0rc1")),
        ("lmsysorg/sglang:v0.5.17.post1-cu130", Release("sglang", "0.5.17.post1")),
        ("vllm/vllm-openai:latest", Unstated),
        ("vllm/vllm-openai", Unstated),
        ("vllm/vllm-openai@sha256:" + "0" * 64, Unstated),
        ("vllm/vllm-openai:nightly-abc", Unstated),
        ("vllm/vllm-openai:kimi-k3", Unstated),
        ("lmsysorg/sglang:v0.5.17-rocm700-mi35x", Unstated),
        ("registry.example.com/vllm/vllm-openai:v0.27.0", UnknownCode),
        ("registry.example.com:5000/mine", UnknownCode),
        ("vllm/vllm-openai:${TAG}", UnknownCode),
        ("{{ .Values.image }}", UnknownCode),
    ],
)
def test_only_a_tag_that_is_a_version_names_a_release(image, code):
    assert code_of(image) == code if isinstance(code, Release) else isinstance(code_of(image), code)


SCRIPT = """#!/bin/bash
MODEL=org/m
export A=1 B="two words"
FLAGS=(
  --tensor-parallel-size 8   # all of them
  --x "$MODEL"
)
FLAGS+=(--trust-remote-code)
MORE="--max-num-seqs 4"
C=3 exec vllm serve $MODEL --port ${PORT:-8000} \\
    --limit $LIMIT "${FLAGS[@]}" $MORE 2>&1 | tee log.txt
"""


def test_a_script_is_read_with_the_variables_that_it_sets_and_says_which_it_does_not():
    one = only("run_b300.sh", SCRIPT)
    words = [
        "--port",
        "8000",
        "--tensor-parallel-size",
        "8",
        "--x",
        "org/m",
        "--trust-remote-code",
        "--max-num-seqs",
        "4",
    ]
    assert [word.text for word in one.flags] == words
    assert (one.model, dict(one.env), one.line) == ("org/m", {"A": "1", "B": "two words", "C": "3"}, 10)
    assert one.gaps == ("--limit is given $LIMIT, which this file does not set",)
    assert one.system is not None
    assert one.system.name == "8xb300"
    assert one.code == Unstated("vllm", "it names no version of vllm")


@pytest.mark.parametrize(
    ("text", "code", "model", "flags"),
    [
        ("pip install -U 'vllm==0.27.0'\nvllm serve m --a\n", V, "m", "--a"),
        ("pip install vllm==0.27.0\nvllm serve --model=m --a\n", V, "m", "--model=m --a"),
        (
            "uv pip install vllm[x]==0.27.0\npython3 -m vllm.entrypoints.openai.api_server --model m\n",
            V,
            "m",
            "--model m",
        ),
        (
            "docker run -d --gpus all -e A=1 lmsysorg/sglang:v0.5.17 sglang serve --model-path m\n",
            S,
            "m",
            "--model-path m",
        ),
        ("docker run vllm/vllm-openai:v0.27.0 m --tp 2 > log.txt &\n", V, "m", "--tp 2"),
        ("docker run --entrypoint bash vllm/vllm-openai:v0.27.0 -c 'vllm serve m --a'\n", V, "m", "--a"),
        ("cat > x <<EOF\nvllm serve no\nEOF\ndocker run vllm/vllm-openai:v0.27.0 m\n", V, "m", ""),
        ('srun --gpus 8 sh -c "pip install vllm==0.27.0 && vllm serve m"\n', V, "m", ""),
        ("docker run lmsysorg/sglang:v0.5.17 vllm serve m\n", UnknownCode, "m", ""),
    ],
)
def test_commands_name_their_engine_its_release_and_its_flags(text, code, model, flags):
    one = only("a.sh", text)
    assert one.code == code if isinstance(code, Release) else isinstance(one.code, code)
    assert (one.model, " ".join(word.text for word in one.flags)) == (model, flags)


@pytest.mark.parametrize(
    ("text", "system", "gaps"),
    [
        ("docker run --gpus '\"device=0,1\"' vllm/vllm-openai:v0.27.0 m\n", "2xb300", 0),
        ("vllm serve m --tensor-parallel-size 4 --pipeline-parallel-size 4\n", "16xb300", 0),
        ("vllm serve m --config more.yaml\n", "", 1),
    ],
)
def test_a_script_tells_its_gpus_and_what_more_settings_it_takes(text, system, gaps):
    one = only("run_b300.sh", text)
    assert (one.system.name if one.system else "", len(one.gaps)) == (system, gaps)


def test_an_engines_own_settings_are_its_flags_and_what_is_off_is_none():
    one = only("serve.yaml", "model: m\ntensor_parallel_size: 2\nenforce_eager: false\nenable_x: true\n")
    assert " ".join(word.text for word in one.flags) == "--model m --tensor-parallel-size 2 --enable-x"


def test_what_a_collection_says_of_one_gpu_goes_before_what_it_says_of_its_family():
    text = """
model: {model_id: m, docker_image: "vllm/vllm-openai:v0.27.0", base_args: [--a]}
meta: {hardware: {h200: verified}}
hardware_overrides:
  h200: {extra_env: {A: own}}
  hopper: {extra_env: {A: family, B: family}}
"""
    assert dict(only("a.yaml", text).env) == {"A": "own", "B": "family"}


CONTAINER = "image: vllm/vllm-openai:v0.27.0\nargs: [m, --tensor-parallel-size, '8']\n"


@pytest.mark.parametrize(
    ("text", "code", "flags"),
    [
        (CONTAINER, V, "--tensor-parallel-size 8"),
        ("image: vllm/vllm-openai:v0.27.0\ncommand: [sh, -c]\nargs: ['exec vllm serve m --a']\n", V, "--a"),
        ("image: vllm/vllm-openai:v0.27.0\ncommand: vllm serve m --a\n", V, "--a"),
        ("run: |\n  pip install vllm==0.27.0\n  vllm serve m --a\n", V, "--a"),
        ("model: m\nengine: vllm\nversion: 0.27.0\nargs: [--a]\n", V, "--a"),
        ("engine: vllm\nengine-version: 0.27.0\nargv: vllm serve m --a\n", V, "--a"),
        ("image: {repository: vllm/vllm-openai, tag: v0.27.0}\nmodel: m\nargs: [--a]\n", V, "--a"),
        ("x: &x\n  image: vllm/vllm-openai:v0.27.0\ny:\n  <<: *x\n  command: [--model, m]\n", V, "--model m"),
        ("image: r/mine:1\nargs: [--model, m]\n", UnknownCode, "--model m"),
    ],
)
def test_mappings_are_read_in_many_shapes(text, code, flags):
    one = only("a.yaml", text)
    assert one.code == code if isinstance(code, Release) else isinstance(one.code, code)
    assert (one.model, " ".join(word.text for word in one.flags)) == ("m", flags)


@pytest.mark.parametrize(
    ("around", "system"),
    [
        ("gpu: H200\ngpus: 4", "4xh200"),
        ("hardware: 8xb300", "8xb300"),
        ("accelerators: H100:8", "8xh100"),
        ("nodeSelector: {nvidia.com/gpu.product: NVIDIA-H200}", "8xh200"),
        (
            "nodeSelector: {nvidia.com/gpu.product: NVIDIA-B300-SXM6-AC}\nresources: {limits: {nvidia.com/gpu: 2}}",
            "2xb300",
        ),
        ("runner: b200", "8xb200"),
        ("a: b", ""),
    ],
)
def test_the_gpus_stand_in_many_places(around, system):
    one = only("a.yaml", f"{CONTAINER}{around}\n")
    assert (one.system.name if one.system else "") == system


@pytest.mark.parametrize(
    ("env", "found"),
    [
        ("{A: 1, B: x}", {"A": "1", "B": "x"}),
        ("[A=1, B=x=y]", {"A": "1", "B": "x=y"}),
        ("[{name: A, value: '1'}, {name: S, valueFrom: {secretKeyRef: {name: s, key: k}}}]", {"A": "1"}),
    ],
)
def test_an_environment_is_a_mapping_or_a_list(env, found):
    assert dict(only("a.yaml", f"{CONTAINER}env: {env}\n").env) == found


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("a.md", "vllm serve m", "files called .md are not read"),
        ("a.yaml", "a: [1", "cannot be parsed: line"),
        ("a.json", '{"a": ', "cannot be parsed"),
        ("a.json", "[" * 100_000, "cannot be parsed"),
        ("a.yaml", "a: 1\n", "no command, image or settings of an engine"),
        ("a.yaml", "image: nginx:1\nargs: [x]\n", "no command, image or settings of an engine"),
        ("a.yaml", "guide: run vllm serve m\n", "no command, image or settings of an engine"),
        ("a.sh", "echo 'unclosed\n", "no command, image or settings of an engine"),
        (
            "a.yaml",
            "a: &a [x, x]\n"
            + "".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}' if n else '*a'] * 9)}]\n" for n in range(8)),
            "absurd",
        ),
    ],
)
def test_what_is_no_recipe_says_why(path, text, why):
    found = read(path, text)
    assert isinstance(found, NoRecipe)
    assert why in found.why


def test_json_that_yaml_does_not_take_is_read_as_json():
    one = only("a.json", '{"image": "vllm\\/vllm-openai:v0.27.0", "args": ["m", "--a"], "env": {"A": true}}')
    assert (one.code, one.model, dict(one.env)) == (V, "m", {"A": "true"})


@given(text=st.text(max_size=200), name=st.sampled_from(["a.yaml", "a.json", "a.sh"]))
def test_no_text_raises(text, name):
    read(name, text)
    read(name, f"vllm serve {text}\n")
    read(name, f"image: {text}\nargs: [--model, m]\n")
