from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.hardware import HostMemory
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Place, Proven, Refuted, Undecided
from dayzero.fit.check import fit_host
from dayzero.fit.model import Term


def memory(available: int) -> HostMemory:
    return HostMemory(total=Bytes(1 << 62), available=Bytes(available), source="/proc/meminfo")


def terms(*sizes: int) -> tuple[Term, ...]:
    return tuple(Term(name=f"term {i}", size=Bytes(size), source="test") for i, size in enumerate(sizes))


def test_what_fits_is_proven_with_the_margin():
    assert fit_host(terms(1 << 20, 1 << 20), memory(5 << 20)).verdict == Proven(
        "needs 2.00 MiB of 5.00 MiB available, 3.00 MiB to spare", (Place(artifact="", file="/proc/meminfo"),)
    )


def test_what_does_not_fit_is_refuted_with_the_shortfall():
    verdict = fit_host(terms(6 << 20), memory(5 << 20)).verdict
    assert isinstance(verdict, Refuted)
    assert verdict.reason == "needs 6.00 MiB, 5.00 MiB available: 1.00 MiB short"


def test_a_budget_without_terms_decides_nothing():
    assert isinstance(fit_host((), memory(1)).verdict, Undecided)


@given(st.lists(st.integers(0, 1 << 50), min_size=1, max_size=5), st.integers(0, 1 << 52), st.integers(0, 1 << 50))
def test_more_memory_never_turns_a_fit_into_a_misfit(sizes, available, more):
    before, after = fit_host(terms(*sizes), memory(available)), fit_host(terms(*sizes), memory(available + more))
    assert isinstance(before.verdict, Proven) <= isinstance(after.verdict, Proven)
    assert isinstance(before.verdict, Proven) == (sum(sizes) <= available)
