"""Argue from a package's pins that nothing was changed, keep the argument, and file it as a claim."""

import json
from pathlib import Path
from typing import Final

from dayzero.adapters.disk import write_whole
from dayzero.core.errors import InputError
from dayzero.core.launch import Placeholder
from dayzero.core.package import Package
from dayzero.core.verdict import Proven
from dayzero.engines.command_line import given
from dayzero.engines.construction import facts_of
from dayzero.evidence.locator import PointerLocator
from dayzero.evidence.model import Extraction
from dayzero.evidence.subject import recipe_digest
from dayzero.gates.construction import KIND, Given, Premise, concluded, document, premises
from dayzero.wiring.filing import FiledClaim, Wanted, file_claim
from dayzero.wiring.launches import launch_of_recipe
from dayzero.wiring.plugins import engine_names

RESULT: Final = "construction.json"


def argue(package: Package) -> tuple[Premise, ...]:
    """Look at every premise of a package."""
    recipe = package.recipe
    words = recipe.flags
    if recipe.engine.engine in engine_names():
        argv = launch_of_recipe(recipe).argv
        words = tuple(word for word in argv if not isinstance(word, Placeholder))
    flags = tuple(Given(name=one.name, values=one.values) for one in given(words))
    return premises(package, flags, facts_of(recipe.engine.engine))


def keep(package: Package, found: tuple[Premise, ...], folder: Path) -> Path:
    """Write the argument into a folder.

    Raises:
        InputError: It stands there already, with other content.
        RemoteError: The disk refused.
    """
    file = folder / RESULT
    content = json.dumps(written(package, found), indent=2, ensure_ascii=False).encode() + b"\n"
    if file.exists() and file.read_bytes() != content:
        raise InputError(f"{file} holds another argument", hint="Name another folder with -o.")
    write_whole(file, content)
    return file


def written(package: Package, found: tuple[Premise, ...]) -> dict[str, object]:
    """Give the document of the argument."""
    return document(package, recipe_digest(package.recipe).hex, found)


def file_construction(package: Package, found: tuple[Premise, ...], file: Path, root: Path) -> FiledClaim:
    """File the claim that the statement follows: its raw file is the argument, and its value is extracted from there.

    Args:
        package: The package.
        found: Its premises.
        file: The argument.
        root: The repository whose ledger takes the claim.

    Raises:
        InputError: The statement does not follow; there is nothing to claim.
        EvidenceError: The argument cannot be read again.
        RemoteError: The disk refused.
    """
    verdict = concluded(found)
    if not isinstance(verdict, Proven):
        raise InputError(f"nothing is claimed: {verdict.reason}", hint="Mend the premise, or measure instead.")
    pointer = PointerLocator(pointer="/statement")
    wanted = Wanted(
        slug=f"{package.name}/{KIND}",
        label="an argument from digests, not a measurement: the recipe changes no weight byte and applies no patch",
        unit="",
        file=file,
        aim=lambda _: (pointer, Extraction(extractor="json-value@1", parameters=())),
        in_place=False,
        subject=recipe_digest(package.recipe),
        command=f"dayzero gate {KIND} {package.name}",
    )
    return file_claim(root, wanted)
