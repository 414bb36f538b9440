"""What a reader may ask the live catalog, parsed and bounded at the edge. A parameter that is not known is refused."""

from collections.abc import Collection, Mapping
from typing import Annotated, Final
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import QueryParams

from dayzero.catalog.facets import FACETS, Filter
from dayzero.core.quantities import Bytes

GIB: Final = 2**30
LONGEST, MOST_VALUES, MOST_GIB, MOST_GPUS = 200, 20, 1_000_000, 1024

LISTS: Final = (*FACETS, "fits")

Value = Annotated[str, Field(min_length=1, max_length=LONGEST)]
Values = Annotated[list[Value], Field(max_length=MOST_VALUES)]
Memory = Annotated[float, Field(ge=0, le=MOST_GIB, allow_inf_nan=False)]


class FindQuery(BaseModel):
    """What is looked for. A facet that is left out takes every value; one that is given several times takes any of these."""

    model_config = ConfigDict(extra="forbid")

    model: Values = Field(default=[], description="Name of the model.")
    architecture: Values = Field(default=[], description="Its architecture.")
    gpu: Values = Field(default=[], description="Kind of GPU that the recipe is for, `cpu` for none.")
    gpus: Values = Field(default=[], description="How many GPUs in all, `0` for none.")
    engine: Values = Field(default=[], description="Name of the engine.")
    precision: Values = Field(default=[], description="Storage type of the model's tensors.")
    status: Values = Field(default=[], description="Highest step of the status ladder that was shown, `none` for none.")
    licence: Values = Field(default=[], description="SPDX expression of the model's licence.")
    tier: Values = Field(default=[], description="`open` or `licensed`.")
    fits: Values = Field(
        default=[], description="Kind of GPU on which some system holds it, by measurement or computation."
    )
    min_memory_gib: Memory = Field(default=0, description="At least so much memory is asked for, of all GPUs together.")
    max_memory_gib: Memory | None = Field(default=None, description="At most so much.")
    q: str = Field(
        default="",
        max_length=LONGEST,
        description="Words; each has to be found as the beginning of a word. It is never a query of the search engine.",
    )

    def filter(self) -> Filter:
        """Give the filter."""
        most = self.max_memory_gib
        return Filter(
            model=tuple(self.model),
            architecture=tuple(self.architecture),
            gpu=tuple(self.gpu),
            gpus=tuple(self.gpus),
            engine=tuple(self.engine),
            precision=tuple(self.precision),
            status=tuple(self.status),
            licence=tuple(self.licence),
            tier=tuple(self.tier),
            fits=tuple(self.fits),
            min_memory=Bytes(int(self.min_memory_gib * GIB)),
            max_memory=None if most is None else Bytes(int(most * GIB)),
            q=self.q,
        )


class PageQuery(FindQuery):
    """What is looked for, and which part of it."""

    offset: int = Field(default=0, ge=0, le=10_000_000, description="How many to leave out.")


class ListQuery(PageQuery):
    """What is looked for, and which part of it, in which portions."""

    limit: int = Field(default=50, ge=1, le=200, description="The most packages in one answer.")


class FitQuery(BaseModel):
    """A system that somebody has."""

    model_config = ConfigDict(extra="forbid")

    gpu: Value = Field(description="Kind of GPU: `b200`.")
    count: int = Field(default=1, ge=1, le=MOST_GPUS, description="How many.")


class CompareQuery(BaseModel):
    """Two versions."""

    model_config = ConfigDict(extra="forbid")

    a: Value = Field(description="`NAME@VERSION`, or `NAME` for its latest version.")
    b: Value = Field(description="The other one.")


def given(query: QueryParams, *, lists: Collection[str] = ()) -> Mapping[str, object]:
    """Read the fields of a form: one that was left empty was not filled in; ``lists`` are those that may be given again."""
    found: dict[str, object] = {}
    for name in query:
        values = [value for value in query.getlist(name) if value]
        if values:
            found[name] = values if name in lists or len(values) > 1 else values[0]
    return found


def address_of(asked: ListQuery, offset: int) -> str:
    """Write the address of another portion of what was asked for."""
    pairs = [(name, value) for name in LISTS for value in getattr(asked, name)]
    rest = asked.model_dump(exclude={*LISTS, "offset"}, exclude_defaults=True)
    return f"/api/v1/packages?{urlencode([*pairs, *rest.items(), ('offset', offset)])}"
