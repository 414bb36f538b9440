"""LeaderWorkerSet: ``leader-worker-set.yaml``, one group of pods that serve one model together, and the Service of its leader.

The pods, with their escape rules, are those of :mod:`dayzero.targets.pod`; the words that only the cluster knows are the
variables that LeaderWorkerSet sets in each container. One node is a group of one, so that a launch may grow without another
kind of file.
"""

from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import Commands, Delta, LaunchSpec, apply_deltas
from dayzero.targets.container import container_deltas, header
from dayzero.targets.dockerfile import companions_of
from dayzero.targets.interface import NotCarriedError, Validator
from dayzero.targets.kubernetes import CALLERS, checked_alike, pod_template, read_template, workload
from dayzero.targets.pod import Engine, metadata, service, weights_objects
from dayzero.targets.precondition import require_carriable
from dayzero.targets.yaml_text import Node, dump, mapping

_SET_KEYS = frozenset({"replicas", "startupPolicy", "leaderWorkerTemplate"})
_GROUP_KEYS = frozenset({"size", "restartPolicy", "leaderTemplate", "workerTemplate"})
# Set by LeaderWorkerSet whatever the pod says (lws at 1b17603c212a, pkg/utils/pod/pod_utils.go).
_TAKEN = frozenset({"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"})
# The name stands in a label of the workers as NAME-0-HASH with ten letters of hash, and a label holds 63.
_LONGEST_NAME = 63 - len("-0-") - 10
# LeaderWorkerSet makes a Service of its own under the set's name.
SERVICE_SUFFIX = "-leader"


@dataclass(frozen=True, slots=True)
class LeaderWorkerSet:
    """The LeaderWorkerSet target: one group, restarted as a whole."""

    name: str = "leader-worker-set"
    inputs: tuple[str, ...] = ("cache", "namespace", "storage_class")
    validators: tuple[Validator, ...] = ()

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return "leader-worker-set.yaml"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        """Give the Dockerfile, where the launch names no image."""
        return companions_of(spec)

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the leader's address in its pod, the hub's cache, and the words that make the nodes one."""
        return container_deltas(spec, who=CALLERS)

    def render(self, spec: LaunchSpec) -> str:
        """Write ``leader-worker-set.yaml``.

        Raises:
            InputError: The file cannot carry the launch word for word.
        """
        require_carriable(spec)
        _require_free_names(spec)
        deltas = self.deltas(spec)
        objects = (
            *weights_objects(spec),
            service(spec, SERVICE_SUFFIX, selector=_leader(spec)),
            _set(spec, apply_deltas(spec, deltas)),
        )
        return header(spec, deltas) + "---\n".join(map(dump, objects))

    def parse(self, text: str) -> Commands:
        """Read ``leader-worker-set.yaml`` back.

        Raises:
            InputError: The text is not a LeaderWorkerSet file of this target.
        """
        found, checked = workload(text, before=("Service",), kind="LeaderWorkerSet")
        spec = mapping(found.get("spec", {}), "spec", keys=_SET_KEYS)
        group = mapping(spec.get("leaderWorkerTemplate", {}), "spec.leaderWorkerTemplate", keys=_GROUP_KEYS)
        others = read_template(group.get("workerTemplate", {}), "workerTemplate")
        several = "leaderTemplate" in group
        size = group.get("size", 0)
        if not isinstance(size, int) or several != (size > 1):
            raise InputError(f"a group of {size} does not have these templates", hint="Render the file again.")
        if not several:
            return checked_alike(others, checked=checked)
        first = read_template(group["leaderTemplate"], "leaderTemplate")
        both = Commands(leader=first.leader, worker=others.leader, checked=first.checked and others.checked)
        return checked_alike(both, checked=checked)


TARGET = LeaderWorkerSet()


def _require_free_names(spec: LaunchSpec) -> None:
    taken = sorted(name for name, _ in spec.env if name in _TAKEN)
    if taken:
        raise NotCarriedError(
            f"LeaderWorkerSet sets {', '.join(taken)} itself, so the launch's own value would be lost",
            hint="Take it out of the recipe's environment.",
        )
    if len(spec.name) > _LONGEST_NAME:
        raise NotCarriedError(
            f"the name of a LeaderWorkerSet has at most {_LONGEST_NAME} letters, and {spec.name!r} has {len(spec.name)}",
            hint="Give the package a shorter name.",
        )


def _leader(spec: LaunchSpec) -> dict[str, Node]:
    return {"leaderworkerset.sigs.k8s.io/name": spec.name, "leaderworkerset.sigs.k8s.io/worker-index": "0"}


def _set(spec: LaunchSpec, commands: Commands) -> dict[str, Node]:
    leader = pod_template(spec, Engine(command=commands.leader, port=spec.port))
    templates: dict[str, Node] = {"workerTemplate": leader}
    if commands.worker is not None:
        # A worker serves no HTTP of its own: one that fails ends, and the group is made again.
        templates = {"leaderTemplate": leader, "workerTemplate": pod_template(spec, Engine(command=commands.worker))}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata(spec),
        "spec": {
            "replicas": 1,
            # The leader is ready only when its workers have joined, so they may not wait for it.
            "startupPolicy": "LeaderCreated",
            "leaderWorkerTemplate": {
                "size": spec.nodes.count,
                "restartPolicy": "RecreateGroupOnPodRestart",
                **templates,
            },
        },
    }
