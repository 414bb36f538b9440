from dataclasses import replace

import pytest
from tests.catalog.sample import GIB, large, tiny

from dayzero.core.errors import IntegrityError
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.wiring import catalog_deploy
from dayzero.wiring.catalog_deploy import DeployTable
from dayzero.wiring.deploy import deployment
from dayzero.wiring.launches import launch_of_package
from dayzero.wiring.plugins import target, target_names


def with_host_memory() -> Package:
    package = large()
    system = replace(package.recipe.system, host_memory=Bytes(64 * GIB), accelerator="b300")
    engine = replace(package.recipe.engine, source=None)
    return replace(package, recipe=replace(package.recipe, system=system, engine=engine, start_budget_s=900))


@pytest.mark.parametrize("package", [tiny(), with_host_memory()], ids=["cpu", "gpu"])
def test_the_files_are_those_that_the_render_command_writes(package: Package):
    made = DeployTable().of(package)
    files, without = made.files, made.not_carried
    deployed = deployment(launch_of_package(package))
    assert {file.path: file.content.decode() for file in files} == dict(deployed.files)
    assert {(file.target, file.path) for file in files if file.proven == "proven"} == set(deployed.carried)
    assert {(other.target, other.why) for other in without} == set(deployed.not_carried)
    assert all(file.sha256 == Sha256.of(file.content) for file in files)


def test_a_file_that_stands_beside_a_proven_one_claims_no_proof_of_its_own():
    files = DeployTable().of(tiny()).files
    beside = [file for file in files if file.proven == "companion"]
    assert {file.target for file in beside} >= {"helm"}
    assert all(file.why.startswith("It stands beside ") for file in beside)


def test_a_launch_that_is_refused_leaves_every_target_without_a_file_and_says_why():
    made = DeployTable().of(large())
    assert made.files == ()
    assert [other.target for other in made.not_carried] == list(target_names())
    assert {other.why for other in made.not_carried} == {
        "the system 8xb300 has GPUs and does not say how much memory of the host the engine needs"
    }


def test_a_target_that_drops_a_word_stops_the_build(monkeypatch: pytest.MonkeyPatch):
    real = target("shell")

    class Dropping:
        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def render(self, spec: object) -> str:
            return real.render(spec).replace("8192", "4096")  # type: ignore[arg-type]

    monkeypatch.setattr(catalog_deploy, "target", lambda name: Dropping() if name == "shell" else target(name))
    with pytest.raises(IntegrityError, match=r"demo-kimi-k3-tiny, shell: .* differs"):
        DeployTable().of(tiny())
