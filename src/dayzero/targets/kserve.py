"""KServe: ``kserve.yaml`` with one LLMInferenceService; before it, for weights of the kit, checksums and claim.

The pod, with its escape rules, is the one of :mod:`dayzero.targets.pod`, and KServe lays it over a preset of its own:
 - the command is written out, because the preset's own is a shell line that splits the arguments again and adds some;
 - KServe expands ``{{ }}`` in the whole object as a Go template, so each ``{{`` is written as a template that gives ``{{``;
 - KServe's own fetching is off, so that the weights lie where the launch says and not at ``/mnt/models``.
Source: kserve, pkg/controller/v1alpha2/llmisvc: config_merge.go at d46d524842f7, workload_storage.go at 046c4fb31ea4.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import (
    AddedVariable,
    Command,
    Commands,
    Delta,
    HubModel,
    LaunchSpec,
    LocalModel,
    Replaced,
    apply_deltas,
)
from dayzero.targets.container import HUB_FOLDER, USER_ID, container_deltas, header, home_deltas
from dayzero.targets.dockerfile import companions_of
from dayzero.targets.interface import NotCarriedError, Validator
from dayzero.targets.kubernetes import checked_alike, workload
from dayzero.targets.pod import Engine, metadata, pod, read_pod, weights_objects
from dayzero.targets.precondition import require_carriable, require_one_node
from dayzero.targets.yaml_text import Node, dump, mapping

_SPEC_KEYS = frozenset({"model", "storageInitializer", "replicas", "template"})
# The container that the preset calls so, and the port that KServe's Service leads to.
_CONTAINER = "main"
_PORT = 8000
_CACHE_VARIABLE = "HF_HUB_CACHE"
_OPENING = "{{"
_WRITTEN_OPENING = "{{`{{`}}"
# KServe names its Service NAME-kserve-workload-svc, and a Service's name holds 63 letters.
_LONGEST_NAME = 63 - len("-kserve-workload-svc")


@dataclass(frozen=True, slots=True)
class KServe:
    """The KServe target: one replica of an LLMInferenceService, without a gateway's route."""

    name: str = "kserve"
    inputs: tuple[str, ...] = ("cache", "namespace", "storage_class")
    validators: tuple[Validator, ...] = ()

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return "kserve.yaml"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        """Give the Dockerfile, where the launch names no image."""
        return companions_of(spec)

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the address and port that the engine listens on, and the hub's cache."""
        deltas = container_deltas(spec, who="KServe's Service and the kubelet's probes")
        if spec.port != _PORT:
            deltas += (Replaced(flag="--port", value=str(_PORT), why="KServe's Service leads to no other port"),)
        if isinstance(spec.model, HubModel):
            why = "KServe's preset sets it to a folder that is lost with the pod"
            deltas += (AddedVariable(name=_CACHE_VARIABLE, value=f"{HUB_FOLDER}/hub", why=why),)
        if not spec.image:
            deltas += home_deltas(spec, why=f"KServe's preset sets it to /home, which user {USER_ID} cannot write")
        return deltas

    def render(self, spec: LaunchSpec) -> str:
        """Write ``kserve.yaml``.

        Raises:
            NotCarriedError: The launch takes several nodes.
            InputError: The file cannot carry the launch word for word.
        """
        require_one_node(spec)
        require_carriable(spec)
        if len(spec.name) > _LONGEST_NAME:
            raise NotCarriedError(
                f"the name of an LLMInferenceService has at most {_LONGEST_NAME} letters, and {spec.name!r} has more",
                hint="Give the package a shorter name.",
            )
        deltas = self.deltas(spec)
        command = apply_deltas(spec, deltas).leader
        objects = (*weights_objects(spec), _service(spec, command))
        return header(spec, deltas) + "---\n".join(map(dump, objects))

    def parse(self, text: str) -> Commands:
        """Read ``kserve.yaml`` back.

        Raises:
            InputError: The text is not a KServe file of this target.
        """
        found, checked = workload(text, before=(), kind="LLMInferenceService")
        spec = mapping(found.get("spec", {}), "spec", keys=_SPEC_KEYS)
        if spec.get("storageInitializer") != {"enabled": False}:
            raise InputError("KServe would fetch weights of its own", hint="Render the file again.")
        template = _changed(spec.get("template", {}), _without_template)
        return checked_alike(read_pod(template, "spec.template", container=_CONTAINER), checked=checked)


TARGET = KServe()


def _service(spec: LaunchSpec, command: Command) -> dict[str, Node]:
    engine = Engine(command=command, name=_CONTAINER, port=_PORT)
    return {
        "apiVersion": "serving.kserve.io/v1alpha2",
        "kind": "LLMInferenceService",
        "metadata": metadata(spec),
        "spec": {
            "model": {"uri": _uri(spec), "name": spec.name},
            "storageInitializer": {"enabled": False},
            "replicas": 1,
            "template": _changed(pod(spec, engine), _as_template),
        },
    }


def _uri(spec: LaunchSpec) -> str:
    match spec.model:
        case HubModel(repository=repository, revision=revision):
            return f"hf://{repository}:{revision}"
        case LocalModel():
            return f"pvc://{spec.name}-model/"


def _changed(node: Node, change: Callable[[str], str]) -> Node:
    if isinstance(node, str):
        return change(node)
    if isinstance(node, int):
        return node
    if isinstance(node, Mapping):
        return {key: _changed(value, change) for key, value in node.items()}
    return tuple(_changed(value, change) for value in node)


def _as_template(text: str) -> str:
    return text.replace(_OPENING, _WRITTEN_OPENING)


def _without_template(text: str) -> str:
    parts = text.split(_WRITTEN_OPENING)
    if any(_OPENING in part for part in parts):
        raise InputError(f"KServe would expand {text!r} as a template", hint="Render the file again.")
    return _OPENING.join(parts)
