"""The pods of every Kubernetes-shaped file, as other people's readers and schemas and the kubelet see them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.targets.chart import chart_of
from tests.targets.cluster import READERS, by_kind, command_of, complaint, documents, expanded, pods, tool
from tests.targets.foreign import ask
from tests.targets.launches import hostile, k3, k3_two_nodes, launch, plain

from dayzero.core.launch import Budgets, Command, LaunchSpec, Placeholder, Site, apply_deltas
from dayzero.targets import helm, kserve, kubernetes, leader_worker_set
from dayzero.targets.interface import Target

IMAGE = "registry.test/engine@sha256:" + "a" * 64
ONE_NODE = {
    "plain": plain(),
    "hostile": hostile(),
    "gpus": launch(accelerators=8),
    "image": launch(image=IMAGE),
    "templates": launch("{{", "}}", "{{{", "{{`{{`}}", "{{ .Spec }}", '{"a": {"b": 1}}', env=(("A", "{{{{x}}}}"),)),
    "references": launch("$(LWS_LEADER_ADDRESS)", "$$(LWS_WORKER_INDEX)", env=(("A", "$(LWS_GROUP_SIZE)"),)),
    "hub": k3(),
}
TARGETS: dict[str, Target] = {
    "kubernetes": kubernetes.TARGET,
    "leader-worker-set": leader_worker_set.TARGET,
    "helm": helm.TARGET,
    "kserve": kserve.TARGET,
}
CASES = [(target, name) for target in TARGETS for name in ONE_NODE] + [("leader-worker-set", "two nodes")]
SPECS = ONE_NODE | {"two nodes": k3_two_nodes()}
# What LeaderWorkerSet sets in the pods of a group.
NODES = (
    {"LWS_LEADER_ADDRESS": "leader.test", "LWS_WORKER_INDEX": "0"},
    {"LWS_LEADER_ADDRESS": "leader.test", "LWS_WORKER_INDEX": "1"},
)
MEANING = {Placeholder.LEADER_ADDRESS: "LWS_LEADER_ADDRESS", Placeholder.NODE_RANK: "LWS_WORKER_INDEX"}


@pytest.fixture
def objects_of(tmp_path: Path) -> Callable[[str, LaunchSpec], str]:
    def written(target: str, spec: LaunchSpec) -> str:
        return chart_of(spec, tmp_path).objects() if target == "helm" else TARGETS[target].render(spec)

    return written


Written = Callable[[str, LaunchSpec], str]


@pytest.mark.parametrize(("target", "case"), CASES)
def test_strict_schemas_accept_every_object(objects_of: Written, target: str, case: str) -> None:
    found = documents(objects_of(target, SPECS[case]))
    assert [complaint(document) for document in found] == [""] * len(found)


@pytest.mark.parametrize("target", ["kubernetes", "leader-worker-set", "kserve"])
@pytest.mark.parametrize(
    ("old", "new"),
    [("failureThreshold", "failureTreshold"), ("  replicas: 1\n", '  replicas: "1"\n'), ("preStop:", "prestop:")],
)
def test_the_schemas_are_not_blind(target: str, old: str, new: str) -> None:
    text = TARGETS[target].render(k3())
    assert old in text
    assert complaint(documents(text.replace(old, new))[-1])


@pytest.mark.parametrize(("target", "case"), CASES)
@pytest.mark.parametrize("reader", READERS)
def test_the_kubelet_runs_the_launch_word_for_word(objects_of: Written, target: str, case: str, reader: str) -> None:
    spec = SPECS[case]
    commands = apply_deltas(spec, TARGETS[target].deltas(spec))
    expected = [command for command in (commands.leader, commands.worker) if command]
    found = pods(objects_of(target, spec), reader)
    assert len(found) == len(expected)
    for pod, command, variables in zip(found, expected, NODES, strict=False):
        assert command_of(pod["containers"][0], variables if spec.nodes.count > 1 else {}) == _meant(command, variables)


def _meant(command: Command, variables: dict[str, str]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    words = tuple(variables[MEANING[word]] if isinstance(word, Placeholder) else word for word in command.argv)
    return words, command.env


def test_the_expansion_of_the_tests_is_the_kubelets() -> None:
    assert expanded("a$$(B)$$$$c", {"B": "x"}) == "a$(B)$$c"
    assert expanded("$(B)$$$(B)", {"B": "x"}) == "x$x"
    for text in ("$(C)", "$", "a$b"):
        with pytest.raises(pytest.fail.Exception):
            expanded(text, {"B": "x"})


@pytest.mark.parametrize("target", ["kubernetes", "leader-worker-set", "kserve"])
def test_kustomize_takes_the_objects_and_changes_none(tmp_path: Path, target: str) -> None:
    text = TARGETS[target].render(hostile())
    (tmp_path / "objects.yaml").write_bytes(text.encode())
    (tmp_path / "kustomization.yaml").write_text('resources: ["objects.yaml"]\n')
    done = ask(tool("kubectl"), "kustomize", str(tmp_path))
    assert done.returncode == 0, done.stderr
    # Read as plain text, because its writer leaves a word such as << bare, which readers take for something else.
    kustomized, ours = (
        {one["kind"]: one for one in yaml.load_all(each, yaml.BaseLoader)} for each in (done.stdout, text)
    )
    assert kustomized == ours


def _all_pods(spec: LaunchSpec) -> list[dict[str, Any]]:
    return [
        pod for target in ("kubernetes", "leader-worker-set", "kserve") for pod in pods(TARGETS[target].render(spec))
    ]


def _containers(spec: LaunchSpec) -> list[dict[str, Any]]:
    return [pod["containers"][0] for pod in _all_pods(spec)]


@pytest.mark.parametrize("start_s", [1, 9, 10, 11, 95, 3600, 7200])
def test_the_last_startup_probe_comes_within_a_period_after_the_start_budget(start_s: int) -> None:
    for container in _containers(replace(plain(), budgets=Budgets(start_s=start_s, stop_s=20))):
        probe = container["startupProbe"]
        # The first of them comes at once.
        assert start_s <= probe["periodSeconds"] * (probe["failureThreshold"] - 1) < start_s + 10


def test_a_pod_is_told_to_wait_before_sigterm_and_is_not_killed_within_the_stop_budget() -> None:
    for pod in _all_pods(k3()):
        assert pod["terminationGracePeriodSeconds"] >= k3().budgets.stop_s
        assert pod["containers"][0]["lifecycle"] == {"preStop": {"sleep": {"seconds": k3().budgets.pre_stop_s}}}
    assert all("lifecycle" not in container for container in _containers(plain()))


def test_health_decides_about_a_restart_and_readiness_about_traffic() -> None:
    for container in _containers(k3()):
        paths = {kind: container[kind]["httpGet"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")}
        health, ready = ({"path": path, "port": 8000, "scheme": "HTTP"} for path in ("/health", "/v1/models"))
        assert paths == {"startupProbe": health, "livenessProbe": health, "readinessProbe": ready}


def test_weights_of_the_kit_are_checked_against_their_digests_before_the_engine_starts() -> None:
    for pod in _all_pods(plain()):
        (check,) = pod["initContainers"]
        assert check["command"] + check["args"] == [
            *("sha256sum", "--check", "--quiet", "--strict", "/srv/dayzero/pins/model.sha256")
        ]
        assert {mount["name"]: mount["mountPath"] for mount in check["volumeMounts"]} == {
            "model": "/srv/dayzero/model",
            "pins": "/srv/dayzero/pins",
        }
    lines = [f"{file.sha256}  model/{file.path}\n" for file in plain().model.files]
    for target in ("kubernetes", "leader-worker-set", "kserve"):
        assert by_kind(TARGETS[target].render(plain()))["ConfigMap"]["data"]["model.sha256"] == "".join(lines)


def test_weights_of_the_hub_are_kept_in_the_folder_of_the_site() -> None:
    spec = replace(k3(), site=Site(cache="/data/hub"))
    for pod in _all_pods(spec):
        assert "initContainers" not in pod
        assert {"name": "hub", "hostPath": {"path": "/data/hub", "type": "Directory"}} in pod["volumes"]
        assert {"name": "hub", "mountPath": "/srv/dayzero/hub"} in pod["containers"][0]["volumeMounts"]
        assert {"name": "HF_HOME", "value": "/srv/dayzero/hub"} in pod["containers"][0]["env"]


def test_gpus_and_their_nodes_are_asked_for_only_where_the_launch_takes_some() -> None:
    for pod in _all_pods(launch(accelerators=8)):
        assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "8"
        (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert term["matchExpressions"] == [
            {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-H200"]}
        ]
    for pod in (*_all_pods(plain()), *_all_pods(replace(plain(), accelerator="h200"))):
        assert list(pod["containers"][0]["resources"]["limits"]) == ["memory"]
        assert "affinity" not in pod


def test_a_kind_of_gpu_that_is_sold_under_several_names_picks_no_node() -> None:
    assert all("affinity" not in pod for pod in _all_pods(replace(launch(accelerators=8), accelerator="h100")))


def test_shared_memory_is_as_large_as_the_launch_says() -> None:
    for pod in _all_pods(k3()):
        assert {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": str(64 * 1024**3)}} in pod["volumes"]
        assert {"name": "dshm", "mountPath": "/dev/shm"} in pod["containers"][0]["volumeMounts"]  # noqa: S108
    assert all("dshm" not in str(pod) for pod in _all_pods(plain()))


def test_an_image_that_was_built_from_the_kit_is_never_pulled() -> None:
    assert {container["imagePullPolicy"] for container in _containers(plain())} == {"Never"}
    assert {(each["image"], each["imagePullPolicy"]) for each in _containers(launch(image=IMAGE))} == {
        (IMAGE, "IfNotPresent")
    }


def test_objects_lie_where_the_site_says() -> None:
    spec = replace(plain(), site=Site(namespace="serving", storage_class="fast"))
    for target in ("kubernetes", "leader-worker-set", "kserve"):
        found = by_kind(TARGETS[target].render(spec))
        assert {document["metadata"]["namespace"] for document in found.values()} == {"serving"}
        assert found["PersistentVolumeClaim"]["spec"]["storageClassName"] == "fast"
        assert "storageClassName" not in by_kind(TARGETS[target].render(plain()))["PersistentVolumeClaim"]["spec"]


def test_the_claim_has_room_for_the_weights_on_every_node_that_mounts_it() -> None:
    size = sum(file.size.count for file in plain().model.files)
    claim = by_kind(kubernetes.TARGET.render(plain()))["PersistentVolumeClaim"]["spec"]
    assert int(claim["resources"]["requests"]["storage"].removesuffix("Gi")) * 1024**3 > size * 1.1
    assert claim["accessModes"] == ["ReadWriteOnce"]
    several = replace(plain(), nodes=k3_two_nodes().nodes)
    claim = by_kind(leader_worker_set.TARGET.render(several))["PersistentVolumeClaim"]["spec"]
    assert claim["accessModes"] == ["ReadWriteMany"]
