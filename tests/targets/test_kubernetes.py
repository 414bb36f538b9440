"""What ``kubernetes.yaml`` says to readers other than dayzero."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from tests.targets.foreign import ask, program
from tests.targets.launches import hostile, launch, plain

from dayzero.core.launch import LaunchSpec, apply_deltas
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.kubernetes import TARGET
from dayzero.targets.proof import prove_text

IMAGE = "registry.test/engine@sha256:" + "a" * 64
SPECS = {"plain": plain(), "hostile": hostile(), "gpus": launch(accelerators=8), "image": launch(image=IMAGE)}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_the_strict_schemas_of_kubernetes_accept_every_object(tmp_path: Path, spec: LaunchSpec) -> None:
    (validator,) = TARGET.validators
    file = tmp_path / "kubernetes.yaml"
    file.write_bytes(TARGET.render(spec).encode())
    done = ask(program(validator.name), *validator.command[1:], str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count(" passed for resource ") == 4


def test_the_schemas_are_not_blind(tmp_path: Path) -> None:
    (validator,) = TARGET.validators
    file = tmp_path / "kubernetes.yaml"
    file.write_text(TARGET.render(plain()).replace("failureThreshold", "failureTreshold"))
    assert ask(program(validator.name), *validator.command[1:], str(file)).returncode != 0


def _expanded(text: object) -> str:
    # The kubelet's own rule (third_party/forked/golang/expansion): $$ is a $, $(NAME) a reference, a $ before another letter
    # stays. No reference may be left, and no $ whose neighbour decides.
    assert isinstance(text, str)
    return re.sub(r"\$(\$|\(|)", lambda match: "$" if match[1] == "$" else pytest.fail(f"a lone $ in {text!r}"), text)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
@pytest.mark.parametrize("reader", ["YAML 1.1", "YAML 1.2"])
def test_two_other_readers_read_the_launch_word_for_word(reader: str, spec: LaunchSpec) -> None:
    container = _container(spec) if reader == "YAML 1.1" else _container_by_yaml_1_2(spec)
    expected = apply_deltas(spec, TARGET.deltas(spec)).command
    assert tuple(map(_expanded, container["command"] + container["args"])) == expected.argv
    assert [(entry["name"], _expanded(entry["value"])) for entry in container["env"]] == list(expected.env)


def _objects(spec: LaunchSpec) -> dict[str, dict]:  # type: ignore[type-arg]
    return {document["kind"]: document for document in yaml.safe_load_all(TARGET.render(spec))}


def _pod(spec: LaunchSpec) -> dict:  # type: ignore[type-arg]
    pod: dict = _objects(spec)["Deployment"]["spec"]["template"]["spec"]  # type: ignore[type-arg]
    return pod


def _container(spec: LaunchSpec) -> dict:  # type: ignore[type-arg]
    container: dict = _pod(spec)["containers"][0]  # type: ignore[type-arg]
    return container


def _container_by_yaml_1_2(spec: LaunchSpec) -> dict:  # type: ignore[type-arg]
    ruamel = pytest.importorskip("ruamel.yaml", reason="ruamel.yaml is not installed")
    documents = ruamel.YAML(typ="safe", pure=True).load_all(io.StringIO(TARGET.render(spec)))
    deployment = next(document for document in documents if document["kind"] == "Deployment")
    container: dict = deployment["spec"]["template"]["spec"]["containers"][0]  # type: ignore[type-arg]
    return container


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("          env:\n", '          envFrom:\n            - secretRef: {name: "more"}\n          env:\n'),
        ("          env:\n", '          lifecycle: {postStart: {exec: {command: ["id"]}}}\n          env:\n'),
        ('              value: "info"\n', "              value: info\n"),
        ('              value: "info"\n', '              value: "$(OTHER)"\n'),
        ('              value: "info"\n', ""),
        ('              value: "info"\n', '              valueFrom: {fieldRef: {fieldPath: "metadata.name"}}\n'),
        ('            - "2048"\n', "            - 2048\n"),
        ('            - "2048"\n', '            - "$(SIZE)"\n'),
        ('            - "--strict"\n', ""),
        ('            - "python3"\n', '            - "nice"\n            - "python3"\n'),
        ("      containers:\n", '      containers:\n        - name: "sidecar"\n'),
        ("      initContainers:\n", '      initContainers:\n        - name: "another"\n'),
        ("      volumes:\n", '        - name: "sidecar"\n      volumes:\n'),
        ("      containers:\n", '        - name: "another"\n      containers:\n'),
        ("      initContainers:\n", "      hostNetwork: true\n      initContainers:\n"),
        ("  replicas: 1\n", "  replicas: 1\n  paused: true\n"),
        ('---\napiVersion: "apps/v1"', '---\napiVersion: "v1"\nkind: "Pod"\n---\napiVersion: "apps/v1"'),
    ],
)
def test_a_file_that_does_anything_else_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(plain())
    assert old in text
    assert isinstance(prove_text(plain(), TARGET, text), Proven)
    assert isinstance(prove_text(plain(), TARGET, text.replace(old, new)), Refuted)


@pytest.mark.parametrize("budget_s", [1, 9, 10, 11, 95, 3600, 7200])
def test_the_startup_probe_lasts_at_least_the_start_budget_and_less_than_a_period_more(budget_s: int) -> None:
    spec = replace(plain(), start_budget_s=budget_s)
    probe = _container(spec)["startupProbe"]
    assert budget_s <= probe["periodSeconds"] * probe["failureThreshold"] < budget_s + 10
    assert _objects(spec)["Deployment"]["spec"]["progressDeadlineSeconds"] > budget_s


def test_the_pod_outlasts_the_stop_budget() -> None:
    assert _pod(plain())["terminationGracePeriodSeconds"] > plain().stop_budget_s


def test_the_engine_starts_only_on_weights_with_the_pinned_digests() -> None:
    (check,) = _pod(plain())["initContainers"]
    assert check["command"] + check["args"] == [
        *("sha256sum", "--check", "--quiet", "--strict", "/srv/dayzero/pins/model.sha256")
    ]
    lines = [f"{file.sha256}  model/{file.path}\n" for file in plain().model_files]
    assert _objects(plain())["ConfigMap"]["data"]["model.sha256"] == "".join(lines)


def test_gpus_are_limited_only_where_the_launch_takes_some() -> None:
    assert _container(launch(accelerators=8))["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert list(_container(plain())["resources"]["limits"]) == ["memory"]


def test_an_image_that_was_built_from_the_kit_is_never_pulled() -> None:
    assert _container(plain())["imagePullPolicy"] == "Never"
    assert _container(launch(image=IMAGE))["image"] == IMAGE


def test_the_claim_has_room_for_the_weights() -> None:
    spec = plain()
    size = sum(file.size.count for file in spec.model_files)
    asked = _objects(spec)["PersistentVolumeClaim"]["spec"]["resources"]["requests"]["storage"]
    assert int(asked.removesuffix("Gi")) * 1024**3 > size * 1.1


def test_the_file_of_the_plain_launch_is_the_one_on_record() -> None:
    assert TARGET.render(plain()) == (Path(__file__).parent / "rendered" / "kubernetes.yaml").read_text()
