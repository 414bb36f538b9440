"""Trials for tests, and those of the capture crash whose mechanism was withdrawn."""

from dayzero.core.pins import Sha256
from dayzero.evidence.locator import LineLocator, WholeFile
from dayzero.evidence.model import Explanation, Trial

LINE = b"cudaErrorIllegalState"


def trial(name: str, outcome: str, **conditions: str) -> Trial:
    """Make a trial that rests on a raw file of its own."""
    return Trial(
        name=name,
        conditions=tuple(conditions.items()),
        outcome=outcome,
        raw=Sha256.of(name.encode()),
        locator=WholeFile(),
    )


def series(prefix: str, count: int, outcome: str, **conditions: str) -> tuple[Trial, ...]:
    """Repeat a trial."""
    return tuple(trial(f"{prefix}{number}", outcome, **conditions) for number in range(1, count + 1))


def capture_crash() -> Explanation:
    """One crash with autotune on; then served with autotune off; then served with autotune on and no blocklist."""
    return Explanation(
        slug="k3/capture-crash-cause",
        statement="Failed autotune tactics poison the CUDA context.",
        facts=("k3/autotune-off-tok-s", "k3/autotune-on-tok-s"),
        trials=(
            Trial(
                name="wa8r5",
                conditions=(("autotune", "on"), ("blocklist", "none"), ("window", "first")),
                outcome="died at capture",
                raw=Sha256.of(b"wa8r5-armB-vllm.log"),
                locator=LineLocator(line=742, sha256=Sha256.of(LINE)),
            ),
            trial("wa8r8", "served", autotune="off", blocklist="none", window="second"),
            trial("blocklist", "served", autotune="on", blocklist="none", window="third"),
        ),
    )
