"""What a deploy file lets happen beside its words: budgets as each system applies them, sizes, and limits of one format alone."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest
import yaml
from tests.targets.launches import h200_shape, k3, launch, plain

from dayzero.core.errors import InputError
from dayzero.core.launch import Budgets, HubModel, LaunchSpec, LocalModel, Site
from dayzero.core.pins import FilePin, Sha256
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.container import check_s
from dayzero.targets.interface import NotCarriedError, Target
from dayzero.targets.proof import prove, prove_text
from dayzero.targets.slurm import untagged
from dayzero.wiring import plugins

TARGETS = plugins.target_names()
each_target = pytest.mark.parametrize("target", [plugins.target(name) for name in TARGETS], ids=TARGETS)


def _with_start(spec: LaunchSpec, seconds: int) -> LaunchSpec:
    return replace(spec, budgets=Budgets(start_s=seconds, stop_s=20))


# The proof holds every line of the file.


@each_target
@pytest.mark.parametrize("spec", [h200_shape(), k3()], ids=["weights of the kit", "weights of the hub"])
def test_no_line_of_a_file_can_be_edited_dropped_or_doubled(target: Target, spec: LaunchSpec) -> None:
    try:
        lines = target.render(spec).split("\n")
    except NotCarriedError:
        return
    for index, line in enumerate(lines):
        digit = re.sub(r"[0-9]", lambda found: str(9 - int(found[0])), line, count=1)
        changed = ((), (line, line), (line + " ",), (digit,) if digit != line else ())[index % 4]
        edited = "\n".join((*lines[:index], *changed, *lines[index + 1 :]))
        assert isinstance(prove_text(spec, target, edited), Refuted), (line, changed)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("compose", "sha256:" + "b" * 64, "sha256:" + "c" * 64),
        ("compose", 'user: "10001:10001"', 'user: "0:0"'),
        ("compose", '"127.0.0.1:8000:8000"', '"8000:8000"'),
        ("compose", '    security_opt:\n      - "no-new-privileges:true"\n', ""),
        ("docker-run", "source=/var/lib/dayzero/hub", "source=/etc/dayzero"),
        ("quadlet", "User=10001", "User=0"),
        ("systemd", "User=dayzero", "User=root"),
        ("kubernetes", "runAsUser: 10001", "runAsUser: 1"),
        ("kubernetes", "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true"),
        ("helm", "graceSeconds: 190", "graceSeconds: 1"),
        ("slurm-pyxis", "supervise 8000 /health 3600", "supervise 8000 /health 1"),
        ("skypilot", 'memory: "2048+"', 'memory: "1+"'),
    ],
)
def test_what_a_command_runs_on_is_held_like_its_words(kind: str, old: str, new: str) -> None:
    target, spec = plugins.target(kind), k3()
    if kind == "systemd":
        spec = replace(spec, image="")
    text = target.render(spec)
    assert old in text
    verdict = prove_text(spec, target, text.replace(old, new))
    assert isinstance(verdict, Refuted)
    assert re.match(r"line \d+ differs: rendered it is ", verdict.reason)


# Budgets, as each system applies them.


@pytest.mark.parametrize("seconds", [1, 10, 599, 600, 601, 3600])
def test_the_last_probe_of_a_start_comes_no_earlier_than_the_budget_ends(seconds: int) -> None:
    for kind in ("kubernetes", "leader-worker-set", "kserve"):
        for text in re.findall(
            r"startupProbe:.*?failureThreshold: (\d+)",
            plugins.target(kind).render(_with_start(plain(), seconds)),
            re.DOTALL,
        ):
            # The first comes at once, the next ones a period of ten seconds apart.
            assert seconds <= (int(text) - 1) * 10 < seconds + 10
    values = yaml.safe_load(plugins.target("helm").render(_with_start(plain(), seconds)))
    assert seconds <= (values["budgets"]["startupFailures"] - 1) * 10 < seconds + 10


def _of_size(spec: LaunchSpec, count: int) -> LaunchSpec:
    return replace(spec, model=LocalModel(files=(FilePin(path="a", sha256=Sha256("a" * 64), size=Bytes(count)),)))


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        ("systemd", r"TimeoutStartSec=(\d+)"),
        ("quadlet", r"TimeoutStartSec=(\d+)"),
        ("kubernetes", r"progressDeadlineSeconds: (\d+)"),
        ("helm", r"progressSeconds: (\d+)"),
    ],
)
def test_a_start_limit_leaves_time_to_check_large_weights(kind: str, pattern: str) -> None:
    spec = _of_size(plain(), 2_800_000_000_000)
    assert check_s(spec) == 28_000
    found = re.search(pattern, plugins.target(kind).render(spec))
    assert found
    assert int(found[1]) >= check_s(spec)


@pytest.mark.parametrize(("elapsed", "goes_on"), [(19, True), (20, True), (21, False)])
def test_slurm_counts_whole_seconds_and_gives_no_less_than_the_budget(elapsed: int, *, goes_on: bool) -> None:
    text = plugins.target("slurm-pyxis").render(_with_start(plain(), 20))
    conditions = re.findall(r"\(\((SECONDS - began [<=]+) \$[23]\)\)", text)
    assert len(conditions) == 2
    for condition in conditions:
        # A budget that began within second 0 has elapsed wholly only when the count is one more.
        done = subprocess.run(
            ["bash", "-c", f"began=0; SECONDS={elapsed}; (({condition} 20))"], check=False, capture_output=True
        )
        assert (done.returncode == 0) == goes_on


# What no file can carry, whatever its kind.

_HUB = k3().model


def _of_the_hub(name: str) -> LaunchSpec:
    return replace(plain(), model=_HUB, env=((name, "/elsewhere"),))


TOO_MUCH: dict[str, Callable[[], LaunchSpec]] = {
    "a word longer than Linux takes": lambda: launch("x" * 131_072),
    "a variable longer than Linux takes": lambda: launch(env=(("A", "x" * 131_070),)),
    "a word of few letters and many bytes": lambda: launch("\U0001f600" * 33_000),
    "more words than fit in a unit's line": lambda: launch(*["x" * 1000] * 300),
    "more GPUs than a machine holds": lambda: launch(accelerators=3_000_000),
    "memory beyond 64 bits": lambda: replace(plain(), memory_bytes=10**23),
    "shared memory beyond 64 bits": lambda: replace(plain(), shared_memory_bytes=10**23),
    "a port for root alone": lambda: launch(port=80),
    "the hub's cache elsewhere": lambda: _of_the_hub("HF_HUB_CACHE"),
    "the hub's cache elsewhere, the older name": lambda: _of_the_hub("HUGGINGFACE_HUB_CACHE"),
}


@each_target
@pytest.mark.parametrize("case", TOO_MUCH)
def test_what_no_system_takes_is_refused_by_every_target(target: Target, case: str) -> None:
    with pytest.raises(InputError) as caught:
        target.render(TOO_MUCH[case]())
    assert not isinstance(caught.value, NotCarriedError)
    assert caught.value.hint
    assert len(caught.value.message) < 300


@each_target
def test_long_and_many_words_below_the_limit_are_carried(target: Target) -> None:
    spec = launch("$%\"'\\ x" * 1400, *(f"--flag-{index}" for index in range(500)), env=(("A", "$%\"'\\ y" * 1400),))
    assert isinstance(prove(spec, target), Proven)


@pytest.mark.parametrize(("start_s", "stop_s"), [(10_000_001, 20), (95, 10_000_001)])
def test_a_budget_longer_than_every_format_counts_is_refused(start_s: int, stop_s: int) -> None:
    with pytest.raises(InputError, match="is 10000001"):
        Budgets(start_s=start_s, stop_s=stop_s)


@pytest.mark.parametrize("folder", ["/a/../b", "/..", "/.", "/a/./b", "/a/..", "relative", "", "/", "/a/", "/a b"])
def test_a_cache_that_some_format_reads_otherwise_is_refused_in_words(folder: str) -> None:
    with pytest.raises(InputError) as caught:
        Site(cache=folder)
    assert caught.value.hint.startswith("Give an absolute path ")
    assert Site(cache="/a/.b/..c/d..").cache == "/a/.b/..c/d.."


# What one kind of file cannot carry, and the others do.


def _env(name: str) -> Callable[[], LaunchSpec]:
    return lambda: launch(env=((name, "x"),))


NOT_HERE: dict[str, tuple[Callable[[], LaunchSpec], set[str]]] = {
    "a name of 45 letters": (lambda: replace(plain(), name="x" * 45), {"kserve"}),
    "a name of 60 letters": (lambda: replace(plain(), name="x" * 60), {"kserve", "leader-worker-set"}),
    "a name of one letter": (lambda: replace(plain(), name="x"), {"docker-run"}),
    "PATH": (_env("PATH"), {"shell", "skypilot", "slurm-pyxis", "slurm-apptainer"}),
    "SLURM_X": (_env("SLURM_X"), {"slurm-pyxis"}),
    "LWS_GROUP_SIZE": (_env("LWS_GROUP_SIZE"), {"leader-worker-set"}),
    "MAINPID": (_env("MAINPID"), {"systemd"}),
    "a noncharacter in a value": (lambda: launch(env=(("A", "\uffff"),)), {"systemd", "quadlet", "helm"}),
    "a day to stop": (
        lambda: replace(plain(), budgets=Budgets(start_s=95, stop_s=86_400)),
        {"slurm-pyxis", "slurm-apptainer"},
    ),
    "GPUs of no kind": (lambda: replace(launch(accelerators=8), accelerator=""), {"skypilot"}),
}


@pytest.mark.parametrize("case", NOT_HERE)
def test_a_limit_of_one_format_is_no_limit_of_the_others(case: str) -> None:
    give, expected = NOT_HERE[case]
    refused = set()
    for name in TARGETS:
        try:
            plugins.target(name).render(give())
        except NotCarriedError as error:
            refused.add(name if error.hint else "a refusal without a hint")
    assert refused == expected


def test_a_line_that_buildkit_does_not_read_is_refused_by_the_dockerfile_alone() -> None:
    spec = launch("\\" * 20_000)
    with pytest.raises(NotCarriedError, match="65535 bytes"):
        plugins.target("dockerfile").render(spec)
    assert isinstance(prove(spec, plugins.target("shell")), Proven)


# Images by tag and digest.


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("docker.io/a/b:v1@sha256:1", "docker.io/a/b@sha256:1"),
        ("reg.test:5000/a/b:v1@sha256:1", "reg.test:5000/a/b@sha256:1"),
        ("reg.test:5000/a/b@sha256:1", "reg.test:5000/a/b@sha256:1"),
        ("b@sha256:1", "b@sha256:1"),
    ],
)
def test_slurm_names_an_image_by_its_digest_alone(image: str, expected: str) -> None:
    assert untagged(image) == expected


@pytest.mark.parametrize("kind", ["slurm-pyxis", "slurm-apptainer"])
def test_a_tag_beside_the_digest_does_not_reach_the_program_that_fetches(kind: str) -> None:
    spec = replace(plain(), image=f"docker.io/vllm/engine:v1@sha256:{'a' * 64}")
    text = plugins.target(kind).render(spec)
    assert re.search(rf"get_image \S+ docker://\S*vllm/engine[@:]sha256:{'a' * 64}\n", text)
    assert isinstance(prove(spec, plugins.target(kind)), Proven)


def test_the_weights_of_the_hub_take_no_time_to_check() -> None:
    assert isinstance(_HUB, HubModel)
    assert check_s(k3()) == 0
