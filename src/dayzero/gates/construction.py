"""Unchanged by construction: a recipe that changes no weight byte and applies no patch serves what upstream released.

That is an argument from digests, not a measurement: it says nothing of whether the released engine computes the model rightly,
only that nobody changed anything on the way. Each premise names what it rests on, so that a stranger can check it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dayzero.core.package import Package
from dayzero.core.pins import EngineBuild, FromSeed, HubRevision, InDistribution, ModelPin, Proxy
from dayzero.core.verdict import Proven, Refuted, Undecided, Verdict, conjunction, verdict_word

SCHEMA: Final = "dayzero/gate-construction/v1"
KIND: Final = "construction"
STATEMENT: Final = "unchanged by construction"

_IMAGE: Final = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")
_RELEASED: Final = re.compile(r"^[A-Za-z0-9._-]+(\[[^\]]*\])?==[^\s;\\]+")
_SHORTEST_ABBREVIATION: Final = 4  # two dashes and two letters


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A flag or a variable that can change what is computed.

    Attributes:
        names: How it is given.
        keeps: Values under which nothing is changed.
        keeps_types: Values that keep weights of these storage types.
        what: What it changes otherwise.
        source: Where that is read.
    """

    names: tuple[str, ...]
    keeps: tuple[str, ...]
    keeps_types: Mapping[str, tuple[str, ...]]
    what: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """What of an engine's settings can change what is computed.

    Attributes:
        flags: Its flags.
        variables: Its environment variables.
        abbreviates: Whether its parser takes the beginning of a flag for the whole.
        whole: Flags that are the beginning of another one, and mean themselves.
    """

    flags: tuple[Setting, ...]
    variables: tuple[Setting, ...]
    abbreviates: bool = False
    whole: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One flag of the launch, with its values."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Premise:
    """One thing that has to hold.

    Attributes:
        name: What it is called.
        states: What it says.
        verdict: Whether it holds.
        digests: (what, sha256 or commit) that it rests on; empty where it rests on the absence of something.
    """

    name: str
    states: str
    verdict: Verdict
    digests: tuple[tuple[str, str], ...] = ()


def premises(package: Package, given: tuple[Given, ...], facts: EngineFacts | None) -> tuple[Premise, ...]:
    """Look at everything that could have been changed on the way from upstream.

    Args:
        package: The package.
        given: The flags of its launch.
        facts: What is known of its engine; ``None`` where nothing is.
    """
    recipe = package.recipe
    return (
        _technique(package),
        _weights(recipe.model),
        _engine(recipe.engine),
        _kernels(package),
        _flags(recipe.model, given, facts),
        _variables(recipe.env, facts),
    )


def concluded(found: tuple[Premise, ...]) -> Verdict:
    """Say whether the statement follows."""
    return conjunction(
        (premise.verdict for premise in found),
        proven="no weight byte is changed and no patch is applied: an argument from digests, not a measurement",
    )


def document(package: Package, recipe_sha256: str, found: tuple[Premise, ...]) -> dict[str, object]:
    """Write the argument, schema ``dayzero/gate-construction/v1``: its premises are what a verifier checks."""
    verdict = concluded(found)
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "package": package.name,
        "version": package.version,
        "recipe_sha256": recipe_sha256,
        "statement": STATEMENT,
        "verdict": verdict_word(verdict),
        "reason": verdict.reason,
        "premises": [
            {
                "premise": premise.name,
                "states": premise.states,
                "verdict": verdict_word(premise.verdict),
                "reason": premise.verdict.reason,
                "digests": [{"of": name, "digest": digest} for name, digest in premise.digests],
            }
            for premise in found
        ],
    }


def flag_changes(model: ModelPin, given: tuple[Given, ...], facts: EngineFacts) -> tuple[str, ...]:
    """Say which flags change what is computed, and how.

    Args:
        model: Whose weights.
        given: The flags.
        facts: What is known of the engine.
    """
    return tuple(
        said
        for one in given
        for setting in facts.flags
        if _names(one.name, setting, facts) and (said := _changes(one, setting, model))
    )


def _technique(package: Package) -> Premise:
    states = "the definition states no technique that changes weights"
    if package.technique:
        return Premise(name="technique", states=states, verdict=Refuted(f"it states one: {package.technique}"))
    return Premise(name="technique", states=states, verdict=Proven("none is stated"))


def _weights(model: ModelPin) -> Premise:
    states = "every weight file is the upstream revision's, held to its digest"
    files = tuple((file.path, file.sha256.hex) for file in model.files)
    pins: tuple[tuple[str, str], ...] = ()
    verdict: Verdict = Proven(f"files pinned by digest: {len(files)}")
    match model.origin:
        case FromSeed(generator=generator):
            verdict = Refuted(f"the weights are made by {generator}; there is no upstream")
        case Proxy(of=of):
            verdict = Refuted(f"there are no weights: it has the shape of {of} alone")
        case InDistribution(distribution=name, version=version, wheel_sha256=digest):
            pins = ((f"{name}=={version}", digest.hex),)
            verdict = Proven(f"as {name} {version} released them")
        case HubRevision(revision=revision, tokenizer_revision=tokenizer, code_revision=code) as origin:
            pins = ((origin.repository, revision.hex),)
            other = [what for what, of in (("tokenizer", tokenizer), ("code", code)) if of not in {None, revision}]
            if other:
                verdict = Refuted(f"the {' and the '.join(other)} come from another revision than the weights")
    if not files:
        verdict = Undecided("no weight file is pinned by digest")
    return Premise(name="weights", states=states, verdict=verdict, digests=(*pins, *files))


def _engine(build: EngineBuild) -> Premise:
    states = "the engine is a released artefact, pinned by digest, not built from source and not patched"
    image, _, digest = build.image.partition("@sha256:")
    digests = (*((wheel.filename, wheel.sha256.hex) for wheel in build.wheels), *([(image, digest)] if digest else []))
    return Premise(name="engine", states=states, verdict=_released(build), digests=digests)


def _released(build: EngineBuild) -> Verdict:
    if build.source is not None:
        return Refuted(f"it is built from {build.source.repository} at {build.source.commit}")
    if build.image and not _IMAGE.fullmatch(build.image):
        return Refuted(f"the image {build.image} is not pinned by digest")
    if not build.wheels and not build.image:
        return Undecided("neither a wheel nor an image is pinned")
    stem = f"{build.distribution}-{build.version}-".replace("-", "_").lower()
    other = [wheel.filename for wheel in build.wheels if not wheel.filename.replace("-", "_").lower().startswith(stem)]
    if other:
        return Refuted(f"{other[0]} is not a wheel of {build}")
    unreleased = [line for line in _requirements(build.lock) if not _RELEASED.match(line)]
    if unreleased:
        return Refuted(f"the environment holds what is no release: {unreleased[0]}")
    return Proven(
        f"{build}: {len(build.wheels)} wheels" + (" and an image" if build.image else "") + ", pinned by digest"
    )


def _requirements(lock: str) -> Iterator[str]:
    for line in lock.splitlines():
        if line.strip() and not line.startswith((" ", "\t", "#")):
            yield line.strip()


def _kernels(package: Package) -> Premise:
    states = "every kernel library comes from a pinned release"
    build = package.recipe.engine
    locked = {line.split("==")[0].split("[")[0].lower() for line in _requirements(build.lock) if "==" in line}
    loose = [
        kernel
        for kernel in package.recipe.kernels
        if kernel.distribution != build.distribution and kernel.distribution.lower() not in locked and not build.image
    ]
    if loose:
        verdict: Verdict = Undecided(f"{loose[0].distribution}=={loose[0].version} is pinned by its version alone")
    else:
        verdict = Proven("each is inside the engine's own pins")
    return Premise(name="kernels", states=states, verdict=verdict)


def _flags(model: ModelPin, given: tuple[Given, ...], facts: EngineFacts | None) -> Premise:
    states = "no flag converts weights or cache, or adds to the model"
    if facts is None:
        return Premise(name="flags", states=states, verdict=Undecided("nothing is known of this engine's flags"))
    wrong = flag_changes(model, given, facts)
    verdict: Verdict = Refuted("; ".join(wrong)) if wrong else Proven("none of the launch's flags does")
    return Premise(name="flags", states=states, verdict=verdict)


def _variables(env: tuple[tuple[str, str], ...], facts: EngineFacts | None) -> Premise:
    states = "no variable puts other code in front of the engine's, or converts at load"
    if facts is None:
        return Premise(
            name="environment", states=states, verdict=Undecided("nothing is known of this engine's variables")
        )
    wrong = [
        f"{name}={value}: {setting.what} ({setting.source})"
        for name, value in env
        for setting in facts.variables
        if name in setting.names and value not in setting.keeps
    ]
    verdict: Verdict = Refuted("; ".join(wrong)) if wrong else Proven("none of the recipe's variables does")
    return Premise(name="environment", states=states, verdict=verdict)


def _names(flag: str, setting: Setting, facts: EngineFacts) -> bool:
    name = flag.partition(".")[0]
    if name in setting.names or flag in setting.names:
        return True
    shortened = facts.abbreviates and len(name) >= _SHORTEST_ABBREVIATION and name not in facts.whole
    return shortened and any(known.startswith(name) for known in setting.names)


def _changes(one: Given, setting: Setting, model: ModelPin) -> str:
    value = " ".join(one.values)
    kept = setting.keeps_types.get(value, ())
    if value in setting.keeps or (kept and set(model.tensor_types) <= set(kept)):
        return ""
    return f"{one.name} {value}".rstrip() + f": {setting.what} ({setting.source})"
