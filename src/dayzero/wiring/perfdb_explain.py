"""Ask a database for one latency: settle the lane, keep it in memory, answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dayzero.core.errors import InputError
from dayzero.perfdb.explain import Outcome, explain, question_of
from dayzero.perfdb.lane_index import LaneIndex, load_lane
from dayzero.perfdb.model import Family
from dayzero.perfdb.predicate import NULL, Predicate, Term
from dayzero.perfdb.retraction import Standing, applied, family_of, taken_back
from dayzero.wiring.perfdb import Database

_OPEN = ("op_name", "kernel_label")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explainer:
    """Answers points of a database; a lane that was asked once answers from memory.

    Attributes:
        database: The database.
        standing: What was taken back; those rows do not answer.
        settled: What names a lane, by what was asked.
        lanes: Lanes in memory, by what names them.
    """

    database: Database
    standing: Sequence[Standing] = ()
    settled: dict[tuple[str, tuple[Term, ...]], tuple[Term, ...]] = field(default_factory=dict)
    lanes: dict[tuple[str, tuple[Term, ...]], LaneIndex] = field(default_factory=dict)

    def lane(self, table: str, terms: tuple[Term, ...]) -> LaneIndex:
        """Settle which lane is meant, and read it.

        Args:
            table: The table.
            terms: Equalities; system and engine have to be among them, and what tells lanes apart there.

        Raises:
            InputError: There is no such lane, or several; the hint says what tells them apart.
        """
        family = family_of(self.database.made, table)
        named = tuple(term for term in terms if term.column not in family.axes)
        settled = self.settled.get((table, named))
        if settled is None:
            settled = self.settled[table, named] = self._settle(family, named)
        known = self.lanes.get((table, settled))
        if known is None:
            known = self.lanes[table, settled] = load_lane(family, self.database.rows, settled, self._gone(family))
        return known

    def answer(self, table: str, label: str, terms: tuple[Term, ...]) -> tuple[LaneIndex, Outcome]:
        """Answer a point.

        Args:
            table: The table.
            label: Version of the build that is asked for; may be left out, as ``""``, where the lane has one.
            terms: Equalities that name the lane and the shape.

        Raises:
            InputError: What is asked is not one point of one lane.
        """
        index = self.lane(table, terms)
        if not label and len(index.labels) > 1:
            raise InputError(
                "the lane has several builds", hint=f"Give --label, one of {', '.join(sorted(index.labels))}."
            )
        shape = {term.column: _size(term) for term in terms if term.column in index.family.shape}
        question = question_of(index, label or next(iter(index.labels), ""), shape) if index.points else None
        if question is None:
            raise InputError(
                "every row of this lane was taken back, or took no time", hint="See 'dayzero perfdb retractions'."
            )
        return index, explain(index, question)

    def _gone(self, family: Family) -> str:
        return taken_back(family, applied(self.standing))

    def _settle(self, family: Family, named: tuple[Term, ...]) -> tuple[Term, ...]:
        told: Mapping[str, Term] = {term.column: term for term in named}
        for column in ("system", "engine"):
            if column not in told:
                raise InputError(f"{column} is not given", hint=f"Give --{column}.")
        names = (*_OPEN, *family.lane)
        where = Predicate(table=family.table, terms=named).sql(family)
        listed = ", ".join(f'"{name}"' for name in names)
        sql = f"SELECT DISTINCT {listed} FROM {family.table} WHERE {where} ORDER BY ALL LIMIT 100"  # noqa: S608  (checked)
        lanes = self.database.rows.ask(sql)
        if not lanes:
            raise InputError(f"{family.table} has no such lane", hint="'dayzero perfdb coverage' counts what there is.")
        for number, name in enumerate(names):
            values = sorted({NULL if lane[number] is None else str(lane[number]) for lane in lanes})
            if len(values) > 1:
                raise InputError(
                    f"there are {len(lanes)} such lanes; they differ in {name}",
                    hint=f"Give --where {name}=..., one of {', '.join(values[:8])}.",
                )
        found = {name: NULL if value is None else str(value) for name, value in zip(names, lanes[0], strict=True)}
        given = tuple(term for term in named if term.column not in found and term.column not in family.shape)
        return (*given, *(Term(column=name, operator="=", value=_written(value)) for name, value in found.items()))


def _written(value: str) -> str:
    """Write a value as conditions do: truth in lower case."""
    return value.lower() if value in {"True", "False"} else value


def _size(term: Term) -> int:
    if term.operator != "=" or not term.value.lstrip("-").isdigit():
        raise InputError(f"{term} does not name a point", hint="Give each shape column as COLUMN=WHOLE NUMBER.")
    return int(term.value)
