"""The one noun: what has to be fixed so that two people who serve a model serve the same thing."""

from dataclasses import dataclass

from dayzero.core.hardware import System
from dayzero.core.parallelism import Parallelism
from dayzero.core.pins import EngineBuild, KernelPin, ModelPin


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Model pin + engine build + kernel pins + system + parallelism + flags + environment.

    Attributes:
        name: Name under which the endpoint serves the model.
        model: Which weights.
        engine: Which engine build.
        kernels: Which kernel libraries compute.
        system: Which machine it is meant for.
        parallelism: How the model is spread.
        flags: The engine's own settings in order, as words of a command line.
        env: Environment variables in order.
        port: TCP port of the endpoint.
        start_budget_s: Seconds from start to healthy.
        stop_budget_s: Seconds from the request to stop to the kill.
        pre_stop_s: Seconds of those before the engine hears of it, while traffic is led elsewhere.
    """

    name: str
    model: ModelPin
    engine: EngineBuild
    kernels: tuple[KernelPin, ...]
    system: System
    parallelism: Parallelism
    flags: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    port: int
    start_budget_s: int
    stop_budget_s: int
    pre_stop_s: int = 0
