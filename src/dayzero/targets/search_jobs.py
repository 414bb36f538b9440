"""Kubernetes Jobs of a search that is spread over pods: each runs ``dayzero optimize --resume`` on one study in one claim.

The escape rules are those of :mod:`dayzero.targets.pod`. A search's verdict is an answer whatever its exit code, so a
Job is complete where one was printed, and failed where none was.
"""

from dataclasses import dataclass
from typing import Final

from dayzero.core.launch import LaunchSpec
from dayzero.targets.container import WORK_FOLDER, doubled
from dayzero.targets.pod import SHARED_MEMORY, kept_apart, labels, metadata
from dayzero.targets.yaml_text import Node, dump

STUDY_FOLDER: Final = f"{WORK_FOLDER}/study"
INDEX: Final = "$(JOB_COMPLETION_INDEX)"  # set by the Job controller in each pod of an indexed Job
CACHE_FOLDER: Final = f"{WORK_FOLDER}/cache"
_ANSWER: Final = 'said=$("$@"); printf "%s\\n" "$said"; test -n "$said"'


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchJob:
    """One Job.

    Attributes:
        suffix: Ends its name.
        argv: What each pod runs; ``INDEX`` in a word is the number of the pod.
        pods: How many run at the same time.
        deadline_s: After so many seconds they are ended.
        image: Holds dayzero and the engine of the package.
        claim: Persistent volume claim that holds the study, for all pods at once.
    """

    suffix: str
    argv: tuple[str, ...]
    pods: int
    deadline_s: int
    image: str
    claim: str


def render_job(spec: LaunchSpec, job: SearchJob) -> str:
    """Write one Job.

    Args:
        spec: The launch of the package that is searched: its GPUs, memory and budgets are each pod's.
        job: What is run.
    """
    indexed: dict[str, Node] = {"completionMode": "Indexed"} if job.pods > 1 else {}
    return dump(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata(spec, job.suffix),
            "spec": {
                "completions": job.pods,
                "parallelism": job.pods,
                **indexed,
                # A worker that is started again goes on under its name; the others' failures are theirs.
                "backoffLimit": job.pods,
                "activeDeadlineSeconds": job.deadline_s,
                "template": {"metadata": {"labels": labels(spec)}, "spec": _pod(spec, job)},
            },
        }
    )


def _pod(spec: LaunchSpec, job: SearchJob) -> dict[str, Node]:
    volumes: list[Node] = [
        {"name": "study", "persistentVolumeClaim": {"claimName": job.claim}},
        {"name": "cache", "emptyDir": {}},
    ]
    if spec.shared_memory_bytes:
        memory: dict[str, Node] = {"medium": "Memory", "sizeLimit": str(spec.shared_memory_bytes)}
        volumes.append({"name": SHARED_MEMORY, "emptyDir": memory})
    return {
        **kept_apart(spec),
        "restartPolicy": "Never",
        "containers": [_container(spec, job)],
        "volumes": volumes,
    }


def _container(spec: LaunchSpec, job: SearchJob) -> dict[str, Node]:
    limits: dict[str, Node] = {"memory": str(spec.memory_bytes)}
    if spec.accelerators:
        limits["nvidia.com/gpu"] = str(spec.accelerators)
    mounts: list[Node] = [
        {"name": "study", "mountPath": STUDY_FOLDER},
        {"name": "cache", "mountPath": CACHE_FOLDER},
    ]
    if spec.shared_memory_bytes:
        mounts.append({"name": SHARED_MEMORY, "mountPath": "/dev/shm"})  # noqa: S108  (of the container)
    return {
        "name": "search",
        "image": job.image,
        "workingDir": WORK_FOLDER,
        "command": ["sh", "-c", doubled(_ANSWER), "sh"],
        "args": [INDEX.join(map(doubled, word.split(INDEX))) for word in job.argv],
        # The image's user has no home here, and dayzero keeps what it fetches.
        "env": [{"name": "HOME", "value": CACHE_FOLDER}, {"name": "DAYZERO_CACHE", "value": CACHE_FOLDER}],
        # Where the storage asks for a password: a Secret called as the claim, with PGPASSWORD in it.
        "envFrom": [{"secretRef": {"name": job.claim, "optional": True}}],
        "resources": {"requests": limits, "limits": limits},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": mounts,
    }
