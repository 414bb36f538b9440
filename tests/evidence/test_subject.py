"""A recipe's digest stays what it was when recipes learn to say more."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.samples import recipe

from dayzero.adapters.package_files import load_package
from dayzero.core.pins import Commit, HubRevision, Sha256
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe
from dayzero.evidence.subject import recipe_digest

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["demo-kimi-k3-tiny", "demo-smollm2"])
def test_the_claims_of_the_ledger_are_about_todays_digest_of_their_recipe(name: str) -> None:
    digest = recipe_digest(load_package(REPOSITORY / "packages" / name / "package.toml").recipe)
    assert digest.hex in (REPOSITORY / "evidence" / "ledger.jsonl").read_text()


def of_hub(**commits: Commit) -> Recipe:
    made = recipe()
    origin = HubRevision(repository="o/m", revision=Commit("1" * 40), **commits)
    return replace(made, model=replace(made.model, origin=origin))


def test_everything_that_a_recipe_can_say_makes_it_another_one() -> None:
    made, other = recipe(), Commit("2" * 40)
    headed = replace(made.model.files[0], header_sha256=Sha256("3" * 64))
    recipes = (
        made,
        replace(made, pre_stop_s=1),
        replace(made, system=replace(made.system, nodes=2)),
        replace(made, system=replace(made.system, host_memory=Bytes(1))),
        replace(made, system=replace(made.system, shared_memory=Bytes(1))),
        replace(made, engine=replace(made.engine, lock="x")),
        replace(made, model=replace(made.model, files=(headed, *made.model.files[1:]))),
        of_hub(),
        of_hub(tokenizer_revision=other),
        of_hub(code_revision=other),
    )
    assert len({recipe_digest(one).hex for one in recipes}) == len(recipes)
