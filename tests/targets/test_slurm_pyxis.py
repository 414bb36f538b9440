"""``serve-pyxis.sbatch``: what it hands to srun, and what keeps it from starting."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.targets.launches import hostile, k3, k3_two_nodes, launch, plain
from tests.targets.slurm_job import Job

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec, Site
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.proof import prove_commands
from dayzero.targets.slurm_pyxis import TARGET, enroot_uri

DIGEST = "sha256:" + "b" * 64
STEP = ("srun", "--nodes=1", "--ntasks=1", "--nodelist=n0", "--export=ALL", "--mpi=none", "--cpu-bind=none")
HOME = ("--no-container-mount-home", "--container-remap-root", "--no-container-entrypoint")


@pytest.mark.parametrize(
    ("image", "uri"),
    [
        ("", ""),
        (f"vllm/vllm-openai@{DIGEST}", f"docker://vllm/vllm-openai:{DIGEST}"),
        (f"docker.io/vllm/vllm-openai@{DIGEST}", f"docker://vllm/vllm-openai:{DIGEST}"),
        (f"python@{DIGEST}", f"docker://python:{DIGEST}"),
        (f"nvcr.io/nvidia/vllm@{DIGEST}", f"docker://nvcr.io#nvidia/vllm:{DIGEST}"),
        (f"registry.test:5000/a/b@{DIGEST}", f"docker://registry.test:5000#a/b:{DIGEST}"),
        (f"localhost/a@{DIGEST}", f"docker://localhost#a:{DIGEST}"),
    ],
)
def test_an_image_is_named_as_enroot_reads_it(image: str, uri: str) -> None:
    assert enroot_uri(image) == uri


def test_srun_gets_the_container_and_the_launch_word_for_word(tmp_path: Path) -> None:
    spec = hostile()
    job = Job(tmp_path, TARGET, spec)
    done = job.run()
    assert (done.returncode, done.stderr) == (0, "")
    call = job.recorder.only("srun")
    names = ",".join(name for name, _ in spec.env)
    assert call.argv == (
        *STEP,
        f"--container-image={job.folder}/demo.sqsh",
        f"--container-mounts={job.folder}/model:/srv/dayzero/model:ro",
        "--container-workdir=/srv/dayzero",
        *HOME,
        f"--container-env={names}",
        *spec.argv,
    )
    assert {name: call.env[name] for name, _ in spec.env} == dict(spec.env)


def test_a_name_that_the_caller_has_set_is_not_listed_for_the_container(tmp_path: Path) -> None:
    job = Job(tmp_path, TARGET, plain())
    job.run(dayzero_names="LD_PRELOAD", dayzero_steps="1")
    assert "--container-env=OMP_NUM_THREADS,ENGINE_LOG" in job.recorder.only("srun").argv


def test_weights_of_the_hub_come_into_the_sites_cache_on_every_node(tmp_path: Path) -> None:
    spec = replace(k3_two_nodes(), site=Site(cache="/mnt/hub"))
    job = Job(tmp_path, TARGET, spec)
    job.give_image("kimi-k3-two-nodes-bbbbbbbbbbbb.sqsh")
    job.run()
    # The script ends with the first step that ends; the other one may still be writing.
    deadline = time.monotonic() + 30
    while len(job.recorder.calls("srun")) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    leader, worker = sorted(job.recorder.calls("srun"), key=lambda call: call.argv)
    for call, node in ((leader, "n0"), (worker, "n1")):
        assert f"--nodelist={node}" in call.argv
        assert "--container-mounts=/mnt/hub:/srv/dayzero/hub" in call.argv
        assert call.env["HF_HOME"] == "/srv/dayzero/hub"
        assert next(word for word in call.argv if word.startswith("--container-env=")).endswith(",HF_HOME")
    assert leader.argv[-6:] == ("--nnodes", "2", "--master-addr", "n0", "--node-rank", "0")
    assert worker.argv[-7:] == ("--nnodes", "2", "--master-addr", "n0", "--node-rank", "1", "--headless")


def test_a_pinned_image_is_fetched_once_by_its_digest(tmp_path: Path) -> None:
    job = Job(tmp_path, TARGET, replace(k3(), image=f"nvcr.io/nvidia/vllm@{DIGEST}"))
    enroot = job.recorder.programs / "enroot"
    enroot.write_text('#!/bin/bash\n[ "$1 $2" = "import --output" ] && printf "%s" "$4" > "$3"\n')
    assert job.run().returncode == 0
    image = job.folder / "kimi-k3-bbbbbbbbbbbb.sqsh"
    assert image.read_text() == f"docker://nvcr.io#nvidia/vllm:{DIGEST}"
    enroot.write_text("#!/bin/bash\nexit 1\n")
    assert job.run().returncode == 0
    image.write_text("changed")
    done = job.run()
    assert done.returncode == 4
    assert "error: the image is not the one that was made: kimi-k3-bbbbbbbbbbbb.sqsh\n" in done.stderr
    image.with_name(f"{image.name}.sha256").unlink()
    done = job.run()
    assert (done.returncode, image.exists()) == (3, False)
    assert "error: the image cannot be fetched: docker://nvcr.io#nvidia/vllm" in done.stderr


def _without(name: str) -> Callable[[Job], None]:
    return lambda job: (job.folder / name).unlink()


def _changed(name: str) -> Callable[[Job], None]:
    return lambda job: (job.folder / name).write_text("")


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (_without("model/more/second half.gguf"), 3, "error: the weights are not here: model/more/second half.gguf\n"),
        (_changed("model/tiny.gguf"), 4, "error: the weights are not the pinned bytes\n"),
        (_changed("model.sha256"), 4, "error: the weights are not the pinned bytes\n"),
        (
            _without("demo.sqsh"),
            3,
            "error: the image is not here: demo.sqsh\nhint: docker build -t dayzero-engine:kit . && ",
        ),
        (_without("demo.sqsh.sha256"), 3, "error: the image is not here: demo.sqsh\n"),
        (_changed("demo.sqsh"), 4, "error: the image is not the one that was made: demo.sqsh\n"),
    ],
)
def test_the_engine_does_not_start_on_other_bytes(
    tmp_path: Path, change: Callable[[Job], None], code: int, said: str
) -> None:
    job = Job(tmp_path, TARGET, plain())
    change(job)
    done = job.run()
    assert done.returncode == code
    assert said in done.stderr
    assert job.recorder.calls("srun") == ()


def test_a_folder_that_a_mount_cannot_name_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "a:b"
    folder.mkdir()
    job = Job(folder, TARGET, plain())
    done = job.run()
    assert done.returncode == 2
    assert "error: a container cannot be given a folder whose path holds : or , : " in done.stderr
    assert job.recorder.calls("srun") == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: replace(spec, env=(("PATH", "/x"),)),
        lambda spec: replace(spec, env=(("SLURM_NNODES", "9"),)),
        lambda spec: replace(spec, env=(("ENROOT_REMAP_ROOT", "n"),)),
        lambda spec: replace(spec, env=(("dayzero_rank", "1"),)),
        lambda spec: replace(spec, site=Site(partition="a b")),
        lambda spec: replace(spec, site=Site(partition="main\n#SBATCH --wrap")),
        lambda spec: replace(spec, site=Site(nodes="n0;id")),
        lambda _: replace(k3(), site=Site(cache="/a:b")),
        lambda _: replace(k3(), site=Site(cache="~/hub")),
        lambda spec: replace(spec, budgets=replace(spec.budgets, stop_s=65_530)),
    ],
)
def test_what_slurm_would_take_for_something_else_is_refused(change: Callable[[LaunchSpec], LaunchSpec]) -> None:
    with pytest.raises(InputError) as caught:
        TARGET.render(change(plain()))
    assert caught.value.hint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("set -euo pipefail", "set -uo pipefail"),
        ("#SBATCH --nodes=1", "#SBATCH --nodes=2"),
        ("#SBATCH --nodes=1\n", ""),
        ("#SBATCH --exclusive\n", ""),
        ("#SBATCH --exclusive", "#SBATCH --exclusive\n#SBATCH --export=NONE"),
        ("#SBATCH --exclusive", "#SBATCH --exclusive\n#SBATCH --mem=1M"),
        ("#SBATCH --exclusive", "#SBATCH --exclusive\nexport LD_PRELOAD=x"),
        ("check_weights tiny.gguf", "true tiny.gguf"),
        ("check_weights tiny.gguf", "check_weights $HOME"),
        ("get_image demo.sqsh ''", "get_image other.sqsh ''"),
        ("get_image demo.sqsh ''", "true"),
        ("find_nodes 1", "find_nodes 2"),
        (' \\\n  --container-env="$dayzero_names"', ""),
        ('--container-env="$dayzero_names"', "--container-env=ENGINE_LOG"),
        ("--container-remap-root", "--container-writable"),
        ("/model:ro", "/model"),
        ("start 0", "start 1"),
        ("start 0", "true\nstart 0"),
        ("start 0", "A=B start 0"),
        ("give ENGINE_LOG=info", "give ENGINE_LOG=$(id)"),
        ("give ENGINE_LOG=info", "export ENGINE_LOG=info"),
        ("--no-warmup", "--no-warmup &"),
        ("--no-warmup", '--no-warmup "$dayzero_rank"'),
        ("--no-warmup", '--no-warmup "$HOME"'),
        ("trap 'stop 0 20' TERM\n", ""),
        ("supervise 8080", "true 8080"),
        ("supervise 8080 /health 95", "supervise 8080 /health 95; id"),
    ],
)
def test_a_script_that_does_anything_else_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(plain())
    assert old in text
    assert isinstance(prove_commands(plain(), TARGET, text), Proven)
    assert isinstance(prove_commands(plain(), TARGET, text.replace(old, new, 1)), Refuted)


def test_the_time_to_stop_is_announced_before_the_job_ends() -> None:
    spec = k3()
    text = TARGET.render(spec)
    assert f"#SBATCH --signal=B:TERM@{spec.budgets.stop_s + 10}\n" in text
    assert f"trap 'stop {spec.budgets.pre_stop_s} {spec.budgets.stop_s}' TERM\n" in text
    assert text.endswith(f"\nsupervise 8000 /health {spec.budgets.start_s}\n")
    assert "--time" not in text


def test_nothing_of_the_site_is_asked_for_that_was_not_given() -> None:
    text = TARGET.render(launch())
    assert "--partition" not in text
    assert "--nodelist=n" not in text
    assert "--gpus" not in text
    given = TARGET.render(replace(launch(accelerators=8), site=Site(partition="gpu", nodes="n[1-2]")))
    assert "#SBATCH --gpus-per-node=8\n" in given
    assert "#SBATCH --partition=gpu\n#SBATCH --nodelist=n[1-2]\n" in given
