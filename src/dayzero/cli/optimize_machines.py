"""The options of ``dayzero optimize`` for several machines, and what they do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import cyclopts

from dayzero.adapters.slurm_jobs import parse_options
from dayzero.core.errors import InputError
from dayzero.wiring.optimize import Hearer, Order
from dayzero.wiring.optimize import optimize as on_this_machine
from dayzero.wiring.optimize_spread import Pods, Spread, for_kubernetes, on_slurm


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Where trials run, where that is not this machine.

    Attributes:
        slurm: Run the study's workers as jobs of Slurm, with these options of sbatch: partition=gpu,gres=gpu:1.
        workers: Jobs or pods that search at the same time.
        render: Begin the study, and write its workers as Kubernetes Jobs; nothing is started.
        image: With --render: a container image that holds dayzero and the engine.
        claim: With --render: the persistent volume claim that holds the study.
        namespace: With --render: the namespace of the Jobs.
    """

    slurm: str = ""
    workers: Annotated[int, cyclopts.Parameter(validator=cyclopts.validators.Number(gte=1))] = 2
    render: Literal["kubernetes"] | None = None
    image: str = ""
    claim: str = ""
    namespace: str = "default"


def searched(order: Order, machines: Machines, hearer: Hearer) -> Mapping[str, object]:
    """Search on this machine, or on those that are asked for."""
    if not machines.slurm:
        return on_this_machine(order, hearer)
    return on_slurm(order, Spread(options=parse_options(machines.slurm), workers=machines.workers), hearer)


def written_lines(order: Order, machines: Machines, hearer: Hearer) -> Iterator[str]:
    """Write the Jobs, and say how they are applied.

    Raises:
        InputError: The image or the claim is not named, or jobs of Slurm are asked for, too.
    """
    if machines.slurm or not machines.image or not machines.claim:
        raise InputError("Jobs need an image and a claim", hint="Give --image and --claim, and no --slurm.")
    pods = Pods(image=machines.image, claim=machines.claim, namespace=machines.namespace, workers=machines.workers)
    files: tuple[Path, ...] = for_kubernetes(order, pods, hearer.say)
    yield f"study: {order.folder}, to be in the claim {machines.claim} as its root"
    for file in files:
        yield f"kubectl apply -f {file} && kubectl wait --for=condition=complete --timeout=-1s -f {file}"
