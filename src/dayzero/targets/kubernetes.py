"""Kubernetes: ``kubernetes.yaml`` with the Deployment and its Service; before them, for weights of the kit, checksums and claim.

The pod, with its escape rules, is the one of :mod:`dayzero.targets.pod`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Commands, Delta, LaunchSpec, apply_deltas
from dayzero.targets.container import check_s, container_deltas, header
from dayzero.targets.dockerfile import companions_of
from dayzero.targets.interface import Validator
from dayzero.targets.pod import Engine, labels, metadata, pod, read_pod, service, weights_kinds, weights_objects
from dayzero.targets.precondition import require_carriable, require_one_node
from dayzero.targets.yaml_text import Node, dump, load_all, mapping

_OBJECT_KEYS = frozenset({"apiVersion", "kind", "metadata", "spec", "data"})
_DEPLOYMENT_KEYS = frozenset({"replicas", "strategy", "progressDeadlineSeconds", "selector", "template"})
_PULL_S = 600
CALLERS = "the Service and the kubelet's probes"


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """The Kubernetes target: one replica that starts only on weights with the pinned digests."""

    name: str = "kubernetes"
    inputs: tuple[str, ...] = ("cache", "namespace", "storage_class")
    validators: tuple[Validator, ...] = (Validator(command=("kubernetes-validate", "--strict")),)

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return "kubernetes.yaml"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        """Give the Dockerfile, where the launch names no image."""
        return companions_of(spec)

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the address that the engine listens on inside its pod, and the hub's cache."""
        return container_deltas(spec, who=CALLERS)

    def render(self, spec: LaunchSpec) -> str:
        """Write ``kubernetes.yaml``.

        Raises:
            NotCarriedError: The launch takes several nodes.
            InputError: The file cannot carry the launch word for word.
        """
        require_one_node(spec)
        require_carriable(spec)
        deltas = self.deltas(spec)
        command = apply_deltas(spec, deltas).leader
        objects = (*weights_objects(spec), service(spec, selector=labels(spec)), _deployment(spec, command))
        return header(spec, deltas) + "---\n".join(map(dump, objects))

    def parse(self, text: str) -> Commands:
        """Read ``kubernetes.yaml`` back, or what the Helm chart makes.

        Raises:
            InputError: The text is not a Kubernetes file of this target.
        """
        deployment, checked = workload(text, before=("Service",), kind="Deployment")
        spec = mapping(deployment.get("spec", {}), "spec", keys=_DEPLOYMENT_KEYS)
        return checked_alike(read_template(spec.get("template", {}), "spec.template"), checked=checked)


TARGET = Kubernetes()


def workload(text: str, *, before: tuple[str, ...], kind: str) -> tuple[Mapping[str, Node], bool]:
    """Read the last object of a file, after making sure that the others are those of a rendered file.

    Returns:
        The object, and whether checksums and a claim of the weights stand before it.

    Args:
        text: The file.
        before: Kinds of the objects before it, beside those of the weights.
        kind: Its own kind.

    Raises:
        InputError: The file holds other objects, or the same in another order.
    """
    objects = [mapping(root, "a document", keys=_OBJECT_KEYS) for root in load_all(text)]
    kinds = tuple(each.get("kind", "") for each in objects)
    for checked in (True, False):
        if kinds == (*weights_kinds(checked=checked), *before, kind):
            return objects[-1], checked
    raise InputError(f"the objects are {kinds}, which no rendered file holds", hint="Render the file again.")


def checked_alike(commands: Commands, *, checked: bool) -> Commands:
    """Give the commands of a file whose pods check the weights exactly where the file holds their checksums.

    Raises:
        InputError: The file holds checksums that no pod checks, or a pod checks what the file does not hold.
    """
    if commands.checked != checked:
        raise InputError("the pod does not check the checksums of the file", hint="Render the file again.")
    return commands


def read_template(template: Node, where: str) -> Commands:
    """Read the command out of a pod template, and whether the weights are checked before it starts.

    Raises:
        InputError: The template is not a rendered one.
    """
    both = mapping(template, where, keys=frozenset({"metadata", "spec"}))
    return read_pod(both.get("spec", {}), f"{where}.spec")


def progress_s(spec: LaunchSpec) -> int:
    """Give the seconds within which the pod has to be ready: to pull the image, check the weights and start the engine."""
    return _PULL_S + check_s(spec) + spec.budgets.start_s


def pod_template(spec: LaunchSpec, engine: Engine) -> dict[str, Node]:
    """Write a pod template."""
    return {"metadata": {"labels": labels(spec)}, "spec": pod(spec, engine)}


def _deployment(spec: LaunchSpec, command: Command) -> dict[str, Node]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(spec),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "progressDeadlineSeconds": progress_s(spec),
            "selector": {"matchLabels": labels(spec)},
            "template": pod_template(spec, Engine(command=command, port=spec.port)),
        },
    }
