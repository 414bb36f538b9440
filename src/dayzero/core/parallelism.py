"""How one model is spread over several processors."""

from dataclasses import dataclass

from dayzero.core.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """Degrees of tensor (tp), pipeline (pp) and data (dp) parallelism; ``ep`` spreads experts over the tp x dp ranks."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: bool = False

    def __post_init__(self) -> None:
        for name in ("tp", "pp", "dp"):
            if getattr(self, name) < 1:
                raise InputError(f"parallelism {name} must be at least 1", hint="Leave the key out for 1.")

    @property
    def ranks(self) -> int:
        """Number of processors that the plan takes."""
        return self.tp * self.pp * self.dp
