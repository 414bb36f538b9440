"""Run an operator with one candidate of its tuner forced on it, or with its kernel launched wrongly, to see that it is noticed."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from dayzero.collector.lanes_kda import MODEL, bare_packages
from dayzero.collector.work import Columns, Torch, UnsupportedError, Work

HALF_GRID = "half_grid"


def triton_candidate(columns: Columns, options: Columns, torch: Torch) -> Work:
    """Make a lane's work while its kernel can be launched in one way only."""
    module, kernel = _kernel(str(options["kernel"]))
    candidate, planted = dict(options.get("candidate", {})), options.get("plant") == HALF_GRID
    tuner = _tuner(kernel)
    if tuner is not None and candidate:
        tuner.configs = [one for one in tuner.configs if told(one) == candidate]
        if not tuner.configs:
            raise UnsupportedError(f"{options['kernel']} has no candidate {candidate}")
        candidate = {}
    setattr(module, str(options["kernel"]).partition(":")[2], _Forced(kernel, candidate, halved=planted))
    maker, _, name = str(options["maker"]).partition(":")
    work: Work = getattr(importlib.import_module(f"dayzero.collector.{maker}"), name)(columns, options, torch)
    return work


def candidates(kernel: str) -> list[dict[str, Any]]:
    """List what the tuner of a Triton kernel would try; nothing where it has none."""
    tuner = _tuner(_kernel(kernel)[1])
    return [] if tuner is None else [told(one) for one in tuner.configs]


def told(config: Any) -> dict[str, Any]:  # noqa: ANN401  (triton.Config)
    """Write a configuration of Triton as data."""
    return {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}


class _Forced:
    """A kernel that takes some of its launch from us.

    Args:
        kernel: Triton's.
        more: Keywords that replace those of each launch.
        halved: Whether only the first half of the grid is launched.
    """

    def __init__(self, kernel: Any, more: Mapping[str, Any], *, halved: bool) -> None:  # noqa: ANN401
        self._kernel, self._more, self._halved = kernel, more, halved

    def __getitem__(self, grid: Any) -> Callable[..., Any]:  # noqa: ANN401
        launched = self._kernel[self._half(grid) if self._halved else grid]
        return lambda *args, **named: launched(*args, **{**named, **self._more})

    @staticmethod
    def _half(grid: Any) -> Callable[[Any], Any]:  # noqa: ANN401
        def half(meta: Any) -> Any:  # noqa: ANN401
            first, *rest = grid(meta) if callable(grid) else grid
            return (first // 2, *rest)

        return half


def _kernel(name: str) -> tuple[Any, Any]:
    path, _, attribute = name.partition(":")
    try:
        if path.startswith(MODEL):
            bare_packages()
        module = importlib.import_module(path)
        return module, getattr(module, attribute)
    except (ImportError, AttributeError) as error:
        raise UnsupportedError(f"{name} is not here: {error}") from error


def _tuner(kernel: Any) -> Any:  # noqa: ANN401
    while kernel is not None and not hasattr(kernel, "configs"):
        kernel = getattr(kernel, "fn", None)
    return kernel
