"""Quantities that carry their unit, and the one way to print each."""

from dataclasses import dataclass

_KIB = 1024


@dataclass(frozen=True, slots=True, order=True)
class Bytes:
    """A number of bytes, zero or more."""

    count: int

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError(f"a size cannot be negative: {self.count}")

    def __add__(self, other: "Bytes") -> "Bytes":
        return Bytes(self.count + other.count)

    def __str__(self) -> str:
        """Print in binary units: ``17.74 MiB``, ``175.40 GiB``; below 1 KiB in bytes."""
        size, unit = float(self.count), "B"
        for larger in ("KiB", "MiB", "GiB", "TiB"):
            if size < _KIB:
                break
            size, unit = size / _KIB, larger
        return f"{self.count} B" if unit == "B" else f"{size:.2f} {unit}"
