"""What may be wrong with anybody's figures, looked for in every reading."""

import math
from statistics import fmean

from dayzero.bench.foreign.model import Finding, Reading, Sample
from dayzero.bench.metrics import achieved_in_flight, minimum_sample

_IN_FLIGHT_SHARE = 0.95
_LENGTH_SHARE = 0.01


def shared_findings(reading: Reading) -> tuple[Finding, ...]:
    """Apply the rules that hold for every tool."""
    rules = (_percentiles, _failures, _clock, _in_flight, _prompt_length, _warm_up, _seed, _version)
    return tuple(finding for rule in rules for finding in rule(reading))


def _percentiles(reading: Reading) -> tuple[Finding, ...]:
    printed = sorted(
        {printed.statistic for printed in reading.printed if printed.statistic.startswith("p")},
        key=lambda name: float(name[1:]),
    )
    needs = {name: minimum_sample(float(name[1:])) for name in printed}
    small = [name for name in printed if reading.completed < needs[name]]
    if not small:
        return ()
    needed = ", ".join(f"{name} needs {needs[name]}" for name in small)
    sentence = f"{reading.completed} requests do not certify {', '.join(small)}: {needed}"
    return (Finding("percentile-not-certified", sentence),)


def _failures(reading: Reading) -> tuple[Finding, ...]:
    if not reading.failed:
        return ()
    asked = reading.failed + reading.completed
    found = [Finding("requests-failed", f"{reading.failed} of {asked} requests failed")]
    mixed = [
        printed.name
        for printed in reading.printed
        if printed.statistic == "mean" and _mixes(printed.value, reading.samples.get(printed.name), asked)
    ]
    if mixed:
        sentence = f"the mean of {', '.join(mixed)} divides by failed requests too: it is too low"
        found.append(Finding("mean-over-failed", sentence, refutes=True))
    return tuple(found)


def _mixes(printed: float, kept: Sample | None, asked: int) -> bool:
    """Say whether a mean is what the whole requests add up to, over all of them."""
    values = kept.values if kept else ()
    return bool(values) and len(values) < asked and math.isclose(printed, math.fsum(values) / asked, rel_tol=1e-6)


def _clock(reading: Reading) -> tuple[Finding, ...]:
    if reading.clock != "wall":
        return ()
    return (
        Finding(
            "wall-clock", "stamps are wall-clock time: a step of that clock during the run is in the latencies, unseen"
        ),
    )


def _in_flight(reading: Reading) -> tuple[Finding, ...]:
    wanted = reading.asked.concurrency
    if wanted is None or len(reading.rows) <= wanted:
        return ()
    reached = achieved_in_flight(reading.rows, round(wanted))
    if reached >= _IN_FLIGHT_SHARE * wanted:
        return ()
    sentence = f"{reached:.2f} requests were in flight on average while the load was full, {wanted:g} were asked"
    return (Finding("in-flight-below-asked", sentence),)


def _prompt_length(reading: Reading) -> tuple[Finding, ...]:
    wanted, counted = reading.asked.input_tokens, reading.prompt_tokens
    if wanted is None or not counted:
        return ()
    off = sum(abs(tokens - wanted) > _LENGTH_SHARE * wanted for tokens in counted)
    if not off:
        return ()
    sentence = (
        f"{wanted:g} prompt tokens were asked; {off} of {len(counted)} requests had other lengths "
        f"({min(counted)} to {max(counted)}, {fmean(counted):.1f} on average)"
    )
    return (Finding("prompt-length", sentence),)


def _warm_up(reading: Reading) -> tuple[Finding, ...]:
    if reading.asked.warmup == 0:
        return (
            Finding(
                "no-warm-up",
                "no warm-up was asked: the first requests, and the server's own warm-up, are in the figures",
            ),
        )
    if reading.asked.warmup is None:
        return (Finding("warm-up-unknown", "the files do not say whether there was a warm-up"),)
    return ()


def _seed(reading: Reading) -> tuple[Finding, ...]:
    seed = reading.asked.seed
    if seed is None:
        return ()
    sentence = (
        f"prompts come from the fixed seed {seed}: a second run against the same server meets its own prompts in a prefix "
        "cache, and nothing in the files shows whether this one did"
    )
    return (Finding("fixed-seed", sentence),)


def _version(reading: Reading) -> tuple[Finding, ...]:
    if reading.version or any(finding.rule == "version-not-said" for finding in reading.findings):
        return ()
    return (Finding("version-not-said", "the files do not name the tool's version"),)
