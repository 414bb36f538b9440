"""What is true of ``kubernetes.yaml`` alone; its pod is in ``test_pod.py``."""

from pathlib import Path

import pytest
from tests.targets.cluster import by_kind
from tests.targets.foreign import ask, program
from tests.targets.launches import hostile, k3, k3_two_nodes, launch, plain

from dayzero.core.launch import LaunchSpec
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.interface import NotCarriedError
from dayzero.targets.kubernetes import TARGET
from dayzero.targets.proof import prove_commands


@pytest.mark.parametrize(
    ("spec", "objects"), [(plain(), 4), (hostile(), 4), (launch(accelerators=8), 4), (k3(), 2)], ids=range(4)
)
def test_the_validator_of_the_target_accepts_every_object(tmp_path: Path, spec: LaunchSpec, objects: int) -> None:
    (validator,) = TARGET.validators
    file = tmp_path / "kubernetes.yaml"
    file.write_bytes(TARGET.render(spec).encode())
    done = ask(program(validator.name), *validator.command[1:], str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count(" passed for resource ") == objects


def test_the_service_leads_to_the_pods() -> None:
    found = by_kind(TARGET.render(plain()))
    service, deployment = found["Service"]["spec"], found["Deployment"]["spec"]
    assert service["selector"] == deployment["selector"]["matchLabels"] == deployment["template"]["metadata"]["labels"]
    assert service["ports"] == [{"name": "http", "port": 8080, "targetPort": 8080, "protocol": "TCP"}]


def test_a_start_within_the_budget_is_progress() -> None:
    assert by_kind(TARGET.render(k3()))["Deployment"]["spec"]["progressDeadlineSeconds"] > k3().budgets.start_s


def test_several_nodes_are_another_targets() -> None:
    with pytest.raises(NotCarriedError) as caught:
        TARGET.render(k3_two_nodes())
    assert "leader-worker-set" in caught.value.hint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("          env:\n", '          envFrom:\n            - secretRef: {name: "more"}\n          env:\n'),
        ("          env:\n", '          lifecycle: {postStart: {exec: {command: ["id"]}}}\n          env:\n'),
        ("          env:\n", '          lifecycle: {preStop: {exec: {command: ["id"]}}}\n          env:\n'),
        ("          livenessProbe:\n", '          livenessProbe:\n            exec: {command: ["id"]}\n'),
        ("          startupProbe:\n            httpGet:\n", "          startupProbe:\n            tcpSocket:\n"),
        ('              value: "info"\n', "              value: info\n"),
        ('              value: "info"\n', '              value: "$(OTHER)"\n'),
        ('              value: "info"\n', '              value: "$(LWS_WORKER_INDEX)"\n'),
        ('              value: "info"\n', ""),
        ('              value: "info"\n', '              valueFrom: {fieldRef: {fieldPath: "metadata.name"}}\n'),
        ('            - "2048"\n', "            - 2048\n"),
        ('            - "2048"\n', '            - "$(SIZE)"\n'),
        ('            - "2048"\n', '            - "$(LWS_WORKER_INDEX)"\n'),
        ('            - "--strict"\n', ""),
        ('            - "python3"\n', '            - "nice"\n            - "python3"\n'),
        ("      containers:\n", '      containers:\n        - name: "sidecar"\n'),
        ("      initContainers:\n", '      initContainers:\n        - name: "another"\n'),
        ("      volumes:\n", '        - name: "sidecar"\n      volumes:\n'),
        ("      containers:\n", '        - name: "another"\n      containers:\n'),
        ("      initContainers:\n", "      hostNetwork: true\n      initContainers:\n"),
        ('        - name: "engine"\n', '        - name: "main"\n'),
        ("  replicas: 1\n", "  replicas: 1\n  paused: true\n"),
        ('---\napiVersion: "apps/v1"', '---\napiVersion: "v1"\nkind: "Pod"\n---\napiVersion: "apps/v1"'),
    ],
)
def test_a_file_that_does_anything_else_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(plain())
    assert old in text
    assert isinstance(prove_commands(plain(), TARGET, text), Proven)
    assert isinstance(prove_commands(plain(), TARGET, text.replace(old, new)), Refuted)


def test_a_file_that_does_not_check_the_weights_of_a_kit_is_not_proven() -> None:
    text = TARGET.render(plain())
    check = text[text.index("      initContainers:\n") : text.index("      containers:\n")]
    match prove_commands(plain(), TARGET, text.replace(check, "")):
        case Refuted(reason=reason):
            assert "does not check the checksums" in reason
        case verdict:
            pytest.fail(f"not refuted: {verdict}")


def test_the_file_of_the_plain_launch_is_the_one_on_record() -> None:
    assert TARGET.render(plain()) == (Path(__file__).parent / "rendered" / "kubernetes.yaml").read_text()
