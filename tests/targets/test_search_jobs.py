"""Jobs of a search: each pod gets what the package's engine needs, is kept apart, and is called by its number."""

from pathlib import Path

import yaml
from tests.targets.foreign import ask, program
from tests.targets.launches import k3, plain

from dayzero.targets.search_jobs import INDEX, SearchJob, render_job

JOB = SearchJob(
    suffix="-search",
    argv=("dayzero", "optimize", "--worker", f"worker-{INDEX}", "--confirm-with", "--note $(HOME) $x"),
    pods=4,
    deadline_s=7200,
    image="registry.example/dayzero:1",
    claim="study-1",
)


def pod(spec) -> dict:
    return yaml.safe_load(render_job(spec, JOB))["spec"]["template"]["spec"]


def test_a_pod_has_the_gpus_and_the_memory_of_the_package_and_goes_where_they_are() -> None:
    (container,) = pod(k3())["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == str(k3().accelerators)
    assert container["resources"]["limits"] == container["resources"]["requests"]
    assert "/dev/shm" in [mount["mountPath"] for mount in container["volumeMounts"]]  # noqa: S108
    assert "affinity" in pod(k3())


def test_a_pod_without_gpus_asks_for_none_and_goes_anywhere() -> None:
    (container,) = pod(plain())["containers"]
    assert "nvidia.com/gpu" not in container["resources"]["limits"]
    assert "affinity" not in pod(plain())


def test_only_the_number_of_the_pod_is_expanded_and_no_other_word() -> None:
    (container,) = pod(plain())["containers"]
    assert container["args"][3] == "worker-$(JOB_COMPLETION_INDEX)"
    assert container["args"][5] == "--note $$(HOME) $$x"


def test_a_pod_is_no_superuser_and_reaches_no_api() -> None:
    found = pod(plain())
    assert found["securityContext"]["runAsNonRoot"] is True
    assert found["automountServiceAccountToken"] is False
    assert found["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_the_validator_accepts_a_job_with_gpus(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(render_job(k3(), JOB))
    done = ask(program("kubernetes-validate"), "--strict", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
