"""The pod in which every Kubernetes-shaped file runs the engine: written, and read back to its command.

Escape rules: every string in double quotes; every ``$`` of the launch doubled in ``command``, ``args`` and ``env``, because
the kubelet expands ``$(NAME)`` there and reads ``$$`` as ``$``. What only the cluster knows is such a reference, never doubled.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Commands, HubModel, LaunchSpec, LocalModel, Placeholder, Word
from dayzero.targets.container import (
    HUB_FOLDER,
    MODEL_FOLDER,
    USER_ID,
    WORK_FOLDER,
    doubled,
    image_reference,
    undoubled,
)
from dayzero.targets.yaml_text import Node, entries, mapping, string

PINS_FOLDER = f"{WORK_FOLDER}/pins"
CHECK_COMMAND = ("sha256sum", "--check", "--quiet", "--strict", f"{PINS_FOLDER}/model.sha256")
PROBE_PERIOD_S = 10
STOP_SLACK_S = 10
# The name that KServe's preset gives its own, which this one has to replace there.
SHARED_MEMORY = "dshm"
# Set by LeaderWorkerSet in every container, before the launch's own variables (lws at 1b17603c212a, pkg/utils/pod/pod_utils.go).
REFERENCES: Mapping[Placeholder, str] = {
    Placeholder.LEADER_ADDRESS: "$(LWS_LEADER_ADDRESS)",
    Placeholder.NODE_RANK: "$(LWS_WORKER_INDEX)",
}

_POD_KEYS = frozenset(
    {
        "automountServiceAccountToken",
        "enableServiceLinks",
        "terminationGracePeriodSeconds",
        "securityContext",
        "affinity",
    }
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
    | {"volumeMounts", "lifecycle", "startupProbe", "livenessProbe", "readinessProbe"}
)
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
_PROBE_KEYS = frozenset({"httpGet", "periodSeconds", "timeoutSeconds", "failureThreshold"})
_GIB = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One container that runs the engine.

    Attributes:
        command: What it runs.
        name: Name of the container.
        port: Port that it answers on; 0 for a node that only takes part in another's work and cannot be asked anything.
    """

    command: Command
    name: str = "engine"
    port: int = 0


def labels(spec: LaunchSpec) -> dict[str, Node]:
    """Give the labels of every object of a launch."""
    return {"app.kubernetes.io/name": spec.name}


def metadata(spec: LaunchSpec, suffix: str = "") -> dict[str, Node]:
    """Give an object's name, namespace and labels."""
    return {"name": spec.name + suffix, "namespace": spec.site.namespace, "labels": labels(spec)}


def weights_objects(spec: LaunchSpec) -> tuple[dict[str, Node], ...]:
    """Write the checksums of the weights and the claim that holds them; nothing for weights that the engine fetches."""
    match spec.model:
        case LocalModel():
            return (_checksums(spec), _claim(spec))
        case HubModel():
            return ()


def weights_kinds(*, checked: bool) -> tuple[str, ...]:
    """Name the kinds that :func:`weights_objects` writes."""
    return ("ConfigMap", "PersistentVolumeClaim") if checked else ()


def checksum_lines(spec: LaunchSpec) -> str:
    """Write the checksums as ``sha256sum --check`` reads them in the work folder."""
    return "".join(f"{file.sha256}  model/{file.path}\n" for file in spec.model.files)


def claim_size(spec: LaunchSpec) -> str:
    """Size the claim: a tenth more than the weights, and at least 1 GiB, for the file system's own."""
    size = sum(file.size.count for file in spec.model.files)
    return f"{-(-size * 11 // (10 * _GIB)) + 1}Gi"


def service(spec: LaunchSpec, suffix: str = "", *, selector: Mapping[str, Node]) -> dict[str, Node]:
    """Write the Service that leads to the pods with the selector's labels."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(spec, suffix),
        "spec": {
            "selector": selector,
            "ports": [{"name": "http", "port": spec.port, "targetPort": spec.port, "protocol": "TCP"}],
        },
    }


def pod(spec: LaunchSpec, engine: Engine) -> dict[str, Node]:
    """Write the pod: the engine, and before it the check of weights that lie in the claim."""
    return {
        **kept_apart(spec),
        **({"initContainers": [_checker(spec)]} if isinstance(spec.model, LocalModel) else {}),
        "containers": [_engine(spec, engine)],
        "volumes": _volumes(spec),
    }


def grace_s(spec: LaunchSpec) -> int:
    """Give the seconds from the request to stop to SIGKILL, never less than the launch's own."""
    return spec.budgets.stop_s + STOP_SLACK_S


def startup_failures(spec: LaunchSpec) -> int:
    """Count the probes that may fail before the engine is held not to start.

    The first comes as soon as the container runs, so the last of n comes n - 1 periods later (kubelet, prober/worker.go).
    """
    return -(-spec.budgets.start_s // PROBE_PERIOD_S) + 1


def product_of(spec: LaunchSpec) -> str:
    """Name the product label of the nodes that hold the launch's kind of GPU, ``""`` where there is no one name."""
    if not spec.accelerators:
        return ""
    return str(_products().get(spec.accelerator, ""))


@lru_cache(maxsize=1)
def _products() -> Mapping[str, object]:
    return tomllib.loads(files("dayzero.targets").joinpath("gpu_products.toml").read_text(encoding="utf-8"))


def kept_apart(spec: LaunchSpec) -> dict[str, Node]:
    """Keep a pod from the rest of the cluster, and on nodes with the launch's kind of GPU, where that has one name."""
    product = product_of(spec)
    return {
        "automountServiceAccountToken": False,
        # Else every Service of the namespace adds variables that the launch does not have.
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": grace_s(spec),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "fsGroup": USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **({"affinity": _on(product)} if product else {}),
    }


def pull_policy(spec: LaunchSpec) -> str:
    """Say when the image is pulled: one that was built from the kit is on the node or nowhere, and never looked for."""
    return "IfNotPresent" if spec.image else "Never"


def read_pod(node: Node, where: str, *, container: str = "engine") -> Commands:
    """Read the command of the engine out of a pod, and whether the weights are checked before it starts.

    Raises:
        InputError: The pod is not one of :func:`pod`'s.
    """
    spec = mapping(node, where, keys=_POD_KEYS)
    engine = _only(spec.get("containers", ()), f"{where}.containers")
    if engine.get("name") != container:
        raise InputError(f"the container of {where} is not called {container}", hint="Render the file again.")
    _require_no_other_program(engine)
    command = Command(argv=_argv(engine), env=tuple(map(_variable, entries(engine.get("env", ()), "env"))))
    checked = "initContainers" in spec
    if checked:
        checker = _only(spec["initContainers"], f"{where}.initContainers")
        mounts = entries(engine.get("volumeMounts", ()), "volumeMounts")
        same = checker.get("volumeMounts") == _CHECK_MOUNTS and _CHECK_MOUNTS[0] in mounts
        if _argv(checker) != CHECK_COMMAND or not same:
            raise InputError(f"{where} does not check the weights first", hint="Render the file again.")
    return Commands(leader=command, checked=checked)


def _only(node: Node, where: str) -> Mapping[str, Node]:
    containers = entries(node, where)
    if len(containers) != 1:
        raise InputError(f"{len(containers)} {where} instead of one", hint="Render the file again.")
    return mapping(containers[0], where, keys=_CONTAINER_KEYS)


def _require_no_other_program(container: Mapping[str, Node]) -> None:
    """Refuse a hook or probe that runs a program in the container, beside the engine."""
    for probe in _PROBES:
        mapping(container.get(probe, {}), probe, keys=_PROBE_KEYS)
    lifecycle = mapping(container.get("lifecycle", {}), "lifecycle", keys=frozenset({"preStop"}))
    mapping(lifecycle.get("preStop", {}), "lifecycle.preStop", keys=frozenset({"sleep"}))


def _argv(container: Mapping[str, Node]) -> tuple[Word, ...]:
    program = entries(container.get("command", ()), "command")
    if len(program) != 1:
        raise InputError(f"the command has {len(program)} words instead of one", hint="Render the file again.")
    return tuple(_read_word(word) for word in (*program, *entries(container.get("args", ()), "args")))


def _read_word(node: Node) -> Word:
    text = string(node, "a word of the command")
    reference = next((placeholder for placeholder, written in REFERENCES.items() if written == text), None)
    return reference or undoubled(text, "a word of the command")


def written_word(word: Word) -> str:
    """Write one word for the kubelet, which gives it back as it was."""
    return REFERENCES[word] if isinstance(word, Placeholder) else doubled(word)


def _variable(entry: Node) -> tuple[str, str]:
    pair = mapping(entry, "an env entry", keys=frozenset({"name", "value"}))
    name = string(pair.get("name", 0), "the name of an env entry")
    return name, undoubled(string(pair.get("value", 0), f"the value of {name}"), f"the value of {name}")


def _checksums(spec: LaunchSpec) -> dict[str, Node]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(spec, "-pins"),
        "data": {"model.sha256": checksum_lines(spec)},
    }


def _claim(spec: LaunchSpec) -> dict[str, Node]:
    named: dict[str, Node] = {"storageClassName": spec.site.storage_class} if spec.site.storage_class else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(spec, "-model"),
        "spec": {
            # Several nodes mount it at once, and none of them writes.
            "accessModes": ["ReadWriteOnce" if spec.nodes.count == 1 else "ReadWriteMany"],
            **named,
            "resources": {"requests": {"storage": claim_size(spec)}},
        },
    }


def _on(product: str) -> dict[str, Node]:
    wanted: dict[str, Node] = {"key": "nvidia.com/gpu.product", "operator": "In", "values": [product]}
    required: dict[str, Node] = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def _volumes(spec: LaunchSpec) -> list[Node]:
    volumes: list[Node]
    match spec.model:
        case LocalModel():
            volumes = [
                {"name": "model", "persistentVolumeClaim": {"claimName": f"{spec.name}-model"}},
                {"name": "pins", "configMap": {"name": f"{spec.name}-pins"}},
            ]
        case HubModel():
            # A folder that is missing is an error, not an empty one that belongs to root.
            volumes = [{"name": "hub", "hostPath": {"path": spec.site.cache, "type": "Directory"}}]
    if spec.shared_memory_bytes:
        memory: dict[str, Node] = {"medium": "Memory", "sizeLimit": str(spec.shared_memory_bytes)}
        volumes.append({"name": SHARED_MEMORY, "emptyDir": memory})
    return volumes


def _container(spec: LaunchSpec, name: str, argv: tuple[Word, ...]) -> dict[str, Node]:
    program, *arguments = argv
    return {
        "name": name,
        "image": image_reference(spec),
        "imagePullPolicy": pull_policy(spec),
        "workingDir": WORK_FOLDER,
        "command": [written_word(program)],
        "args": [written_word(word) for word in arguments],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }


def _checker(spec: LaunchSpec) -> dict[str, Node]:
    return {**_container(spec, "check-weights", CHECK_COMMAND), "volumeMounts": _CHECK_MOUNTS}


def _mount(name: str, path: str, *, read_only: bool = True) -> dict[str, Node]:
    return {"name": name, "mountPath": path, **({"readOnly": True} if read_only else {})}


_CHECK_MOUNTS = (_mount("model", MODEL_FOLDER), _mount("pins", PINS_FOLDER))


def _mounts(spec: LaunchSpec) -> list[Node]:
    hub = isinstance(spec.model, HubModel)
    weights = _mount("hub", HUB_FOLDER, read_only=False) if hub else _mount("model", MODEL_FOLDER)
    shared = [_mount(SHARED_MEMORY, "/dev/shm", read_only=False)] if spec.shared_memory_bytes else []  # noqa: S108
    return [weights, *shared]


def _engine(spec: LaunchSpec, engine: Engine) -> dict[str, Node]:
    limits: dict[str, Node] = {"memory": str(spec.memory_bytes)}
    if spec.accelerators:
        limits["nvidia.com/gpu"] = str(spec.accelerators)
    wait: dict[str, Node] = {"preStop": {"sleep": {"seconds": spec.budgets.pre_stop_s}}}
    return {
        **_container(spec, engine.name, engine.command.argv),
        "env": [{"name": name, "value": doubled(value)} for name, value in engine.command.env],
        **({"ports": [{"name": "http", "containerPort": engine.port, "protocol": "TCP"}]} if engine.port else {}),
        "resources": {"requests": limits, "limits": limits},
        "volumeMounts": _mounts(spec),
        **({"lifecycle": wait} if spec.budgets.pre_stop_s else {}),
        **(_probes(spec, engine.port) if engine.port else {}),
    }


def _probes(spec: LaunchSpec, port: int) -> dict[str, Node]:
    # Whatever is healthy in time is started; the two other probes begin only then.
    return {
        "startupProbe": _probe(spec.health_path, port, failures=startup_failures(spec)),
        "livenessProbe": _probe(spec.health_path, port, failures=3),
        "readinessProbe": _probe(spec.ready_path, port, failures=1),
    }


def _probe(path: str, port: int, *, failures: int) -> dict[str, Node]:
    return {
        # The scheme is Kubernetes' default; KServe's preset has another.
        "httpGet": {"path": path, "port": port, "scheme": "HTTP"},
        "periodSeconds": PROBE_PERIOD_S,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }
