"""Kubernetes: ``kubernetes.yaml`` with the checksums, a claim for the weights, the Deployment and its Service.

Escape rules: every string in double quotes; every ``$`` of the launch doubled in ``command``, ``args`` and ``env``, because
the kubelet expands ``$(NAME)`` there and reads ``$$`` as ``$``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Delta, LaunchSpec, apply_deltas
from dayzero.targets.container import (
    MODEL_FOLDER,
    USER_ID,
    WORK_FOLDER,
    doubled,
    header,
    host_deltas,
    image_reference,
    undoubled,
    words,
)
from dayzero.targets.dockerfile import companions_of
from dayzero.targets.interface import Validator
from dayzero.targets.precondition import require_carriable
from dayzero.targets.yaml_text import Node, dump, entries, load_all, mapping, string

_KINDS = ("ConfigMap", "PersistentVolumeClaim", "Deployment", "Service")
_OBJECT_KEYS = frozenset({"apiVersion", "kind", "metadata", "spec"})
_DEPLOYMENT_KEYS = frozenset({"replicas", "strategy", "progressDeadlineSeconds", "selector", "template"})
_POD_KEYS = frozenset(
    {"automountServiceAccountToken", "enableServiceLinks", "terminationGracePeriodSeconds", "securityContext"}
    | {"initContainers", "containers", "volumes"}
)
_CONTAINER_KEYS = frozenset(
    {
        "name",
        "image",
        "imagePullPolicy",
        "workingDir",
        "command",
        "args",
        "env",
        "ports",
        "resources",
        "securityContext",
    }
    | {"volumeMounts", "startupProbe", "livenessProbe", "readinessProbe"}
)
_PINS_FOLDER = f"{WORK_FOLDER}/pins"
_CHECK_COMMAND = ("sha256sum", "--check", "--quiet", "--strict", f"{_PINS_FOLDER}/model.sha256")
_PROBE_PERIOD_S = 10
_STOP_SLACK_S = 10
# Beyond the start budget of the engine itself: pulling the image and checking the weights.
_PROGRESS_SLACK_S = 600
_GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """The Kubernetes target: one replica that starts only on weights with the pinned digests."""

    name: str = "kubernetes"
    validators: tuple[Validator, ...] = (Validator(command=("kubernetes-validate", "--strict")),)

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return "kubernetes.yaml"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        """Give the Dockerfile, where the launch names no image."""
        return companions_of(spec)

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the address that the engine listens on inside its pod."""
        return host_deltas(spec, who="the Service and the kubelet's probes")

    def render(self, spec: LaunchSpec) -> str:
        """Write ``kubernetes.yaml``.

        Raises:
            InputError: The file cannot carry the launch word for word.
        """
        require_carriable(spec)
        deltas = self.deltas(spec)
        command = apply_deltas(spec, deltas).command
        documents = (_checksums(spec), _claim(spec), _deployment(spec, command), _service(spec))
        return header(spec, deltas) + "---\n".join(dump(document) for document in documents)

    def parse(self, text: str) -> Command:
        """Read ``kubernetes.yaml`` back.

        Raises:
            InputError: The text is not a Kubernetes file of this target.
        """
        documents = [mapping(root, "a document", keys=_OBJECT_KEYS | {"data"}) for root in load_all(text)]
        kinds = tuple(document.get("kind", "") for document in documents)
        if kinds != _KINDS:
            raise InputError(f"the documents are {kinds} instead of {_KINDS}", hint="Render the file again.")
        pod = _pod_of(documents[2])
        checker = _only(pod.get("initContainers", ()), "initContainers")
        if _argv(checker) != _CHECK_COMMAND:
            raise InputError("the init container does not check the weights", hint="Render the file again.")
        engine = _only(pod.get("containers", ()), "containers")
        return Command(argv=_argv(engine), env=tuple(map(_variable, entries(engine.get("env", ()), "env"))))


TARGET = Kubernetes()


def _pod_of(deployment: Mapping[str, Node]) -> Mapping[str, Node]:
    spec = mapping(deployment.get("spec", {}), "spec", keys=_DEPLOYMENT_KEYS)
    template = mapping(spec.get("template", {}), "spec.template", keys=frozenset({"metadata", "spec"}))
    return mapping(template.get("spec", {}), "spec.template.spec", keys=_POD_KEYS)


def _only(node: Node, where: str) -> Mapping[str, Node]:
    containers = entries(node, where)
    if len(containers) != 1:
        raise InputError(f"{len(containers)} {where} instead of one", hint="Render the file again.")
    return mapping(containers[0], where, keys=_CONTAINER_KEYS)


def _argv(container: Mapping[str, Node]) -> tuple[str, ...]:
    program = words(container.get("command", ()), "command")
    if len(program) != 1:
        raise InputError(f"the command has {len(program)} words instead of one", hint="Render the file again.")
    return program + words(container.get("args", ()), "args")


def _variable(entry: Node) -> tuple[str, str]:
    pair = mapping(entry, "an env entry", keys=frozenset({"name", "value"}))
    name = string(pair.get("name", 0), "the name of an env entry")
    return name, undoubled(string(pair.get("value", 0), f"the value of {name}"), f"the value of {name}")


def _labels(spec: LaunchSpec) -> dict[str, Node]:
    return {"app.kubernetes.io/name": spec.name}


def _metadata(spec: LaunchSpec, suffix: str = "") -> dict[str, Node]:
    return {"name": spec.name + suffix, "labels": _labels(spec)}


def _checksums(spec: LaunchSpec) -> dict[str, Node]:
    lines = "".join(f"{file.sha256}  model/{file.path}\n" for file in spec.model_files)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(spec, "-pins"),
        "data": {"model.sha256": lines},
    }


def _claim(spec: LaunchSpec) -> dict[str, Node]:
    # A tenth more than the weights, and at least 1 GiB, for the file system's own.
    size = sum(file.size.count for file in spec.model_files)
    gib = -(-size * 11 // (10 * _GIB)) + 1
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _metadata(spec, "-model"),
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": f"{gib}Gi"}}},
    }


def _service(spec: LaunchSpec) -> dict[str, Node]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(spec),
        "spec": {
            "selector": _labels(spec),
            "ports": [{"name": "http", "port": spec.port, "targetPort": spec.port, "protocol": "TCP"}],
        },
    }


def _deployment(spec: LaunchSpec, command: Command) -> dict[str, Node]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(spec),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "progressDeadlineSeconds": spec.start_budget_s + _PROGRESS_SLACK_S,
            "selector": {"matchLabels": _labels(spec)},
            "template": {"metadata": {"labels": _labels(spec)}, "spec": _pod(spec, command)},
        },
    }


def _pod(spec: LaunchSpec, command: Command) -> dict[str, Node]:
    shared_memory: list[Node] = (
        [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": str(spec.memory_bytes)}}]
        if spec.accelerators
        else []
    )
    return {
        "automountServiceAccountToken": False,
        # Else every Service of the namespace adds variables that the launch does not have.
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": spec.stop_budget_s + _STOP_SLACK_S,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "fsGroup": USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [_checker(spec)],
        "containers": [_engine(spec, command)],
        "volumes": [
            {"name": "model", "persistentVolumeClaim": {"claimName": f"{spec.name}-model"}},
            {"name": "pins", "configMap": {"name": f"{spec.name}-pins"}},
            *shared_memory,
        ],
    }


def _container(spec: LaunchSpec, name: str, argv: tuple[str, ...]) -> dict[str, Node]:
    return {
        "name": name,
        "image": image_reference(spec),
        # An image that was built from the kit is on the node or nowhere; it is never looked for in a registry.
        "imagePullPolicy": "IfNotPresent" if spec.image else "Never",
        "workingDir": WORK_FOLDER,
        "command": [doubled(argv[0])],
        "args": [doubled(word) for word in argv[1:]],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }


def _checker(spec: LaunchSpec) -> dict[str, Node]:
    mounts = [_mount("model", MODEL_FOLDER), _mount("pins", _PINS_FOLDER)]
    return {**_container(spec, "check-weights", _CHECK_COMMAND), "volumeMounts": mounts}


def _mount(name: str, path: str) -> dict[str, Node]:
    return {"name": name, "mountPath": path, "readOnly": True}


def _engine(spec: LaunchSpec, command: Command) -> dict[str, Node]:
    # Whatever listens in time is started; the two other probes begin only then.
    startup_failures = -(-spec.start_budget_s // _PROBE_PERIOD_S)
    limits: dict[str, Node] = {"memory": str(spec.memory_bytes)}
    if spec.accelerators:
        limits["nvidia.com/gpu"] = str(spec.accelerators)
    shared_memory: list[Node] = [{"name": "shared-memory", "mountPath": "/dev/shm"}] if spec.accelerators else []  # noqa: S108
    return {
        **_container(spec, "engine", command.argv),
        "env": [{"name": name, "value": doubled(value)} for name, value in command.env],
        "ports": [{"name": "http", "containerPort": spec.port, "protocol": "TCP"}],
        "resources": {"requests": limits, "limits": limits},
        "volumeMounts": [_mount("model", MODEL_FOLDER), *shared_memory],
        "startupProbe": _probe(spec, failures=startup_failures),
        "livenessProbe": _probe(spec, failures=3),
        "readinessProbe": _probe(spec, failures=1),
    }


def _probe(spec: LaunchSpec, *, failures: int) -> dict[str, Node]:
    return {
        "httpGet": {"path": spec.health_path, "port": spec.port},
        "periodSeconds": _PROBE_PERIOD_S,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }
