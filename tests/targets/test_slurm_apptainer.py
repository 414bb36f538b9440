"""``serve-apptainer.sbatch``: what it hands to srun and Apptainer."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.targets.launches import h200_shape, hostile, k3, launch, plain
from tests.targets.slurm_job import Job

from dayzero.core.errors import InputError
from dayzero.core.launch import Site
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.proof import prove_commands
from dayzero.targets.slurm_apptainer import TARGET

STEP = ("srun", "--nodes=1", "--ntasks=1", "--nodelist=n0", "--export=ALL", "--mpi=none", "--cpu-bind=none")


def test_srun_gets_apptainer_and_the_launch_word_for_word(tmp_path: Path) -> None:
    spec = hostile()
    job = Job(tmp_path, TARGET, spec)
    done = job.run()
    assert (done.returncode, done.stderr) == (0, "")
    call = job.recorder.only("srun")
    assert call.argv == (
        *(*STEP, "apptainer", "exec", "--cleanenv", "--no-eval"),
        *(f"--home={job.folder}/home:/srv/dayzero/home", "--pwd=/srv/dayzero"),
        *(f"--bind={job.folder}/model:/srv/dayzero/model:ro", f"{job.folder}/demo.sif"),
        *spec.argv,
    )
    assert {name: call.env[f"APPTAINERENV_{name}"] for name, _ in spec.env} == dict(spec.env)
    assert (job.folder / "home").is_dir()


def test_gpus_are_let_in_where_the_launch_has_some() -> None:
    assert '\n  --nv "$PWD/h200-shape.sif" \\\n  vllm serve model' in TARGET.render(h200_shape())
    assert "--nv" not in TARGET.render(plain())


def test_weights_of_the_hub_come_into_the_sites_cache_at_its_own_path(tmp_path: Path) -> None:
    job = Job(tmp_path, TARGET, replace(k3(), site=Site(cache="/mnt/hub")))
    job.give_image("kimi-k3-bbbbbbbbbbbb.sif")
    job.run()
    call = job.recorder.only("srun")
    assert "--bind=/mnt/hub" in call.argv
    assert call.env["APPTAINERENV_HF_HOME"] == "/mnt/hub"


def test_a_pinned_image_is_fetched_by_its_digest(tmp_path: Path) -> None:
    job = Job(tmp_path, TARGET, k3())
    job.run()
    call = job.recorder.only("apptainer")
    assert call.argv == ("apptainer", "pull", "kimi-k3-bbbbbbbbbbbb.sif", f"docker://{k3().image}")


@pytest.mark.parametrize("name", ["HOME", "LD_LIBRARY_PATH", "PREPEND_PATH", "APPTAINER_BIND", "PATH"])
def test_a_variable_that_apptainer_reads_for_itself_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=name):
        TARGET.render(launch(env=((name, "x"),)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" \\\n  --no-eval", ""),
        (" \\\n  --cleanenv", ""),
        ("mkdir -p home\n", ""),
        ("--pwd=/srv/dayzero", "--pwd=/"),
        ('"$PWD/demo.sif"', '"$PWD/other.sif"'),
        ("apptainer exec", "apptainer run"),
        ('export "APPTAINERENV_${1?}"', 'export "${1?}"'),
    ],
)
def test_a_script_that_starts_another_container_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(plain())
    assert old in text
    assert isinstance(prove_commands(plain(), TARGET, text), Proven)
    assert isinstance(prove_commands(plain(), TARGET, text.replace(old, new)), Refuted)
