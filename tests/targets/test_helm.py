"""What real helm makes of the chart."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.targets.chart import chart_of
from tests.targets.cluster import documents, tool
from tests.targets.foreign import ask
from tests.targets.launches import hostile, k3, launch, plain

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec, Site, at_site
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets import kubernetes
from dayzero.targets.helm import TARGET
from dayzero.targets.proof import prove_commands

SPECS = {
    "plain": plain(),
    "hostile": hostile(),
    "gpus": launch(accelerators=8),
    "no words": replace(launch(), argv=("python3", "--host", "::")),
    "hub": k3(),
    "site": at_site(plain(), Site(storage_class="fast")),
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_the_chart_makes_the_objects_of_the_kubernetes_target(tmp_path: Path, spec: LaunchSpec) -> None:
    made = chart_of(spec, tmp_path).objects()
    assert documents(made) == documents(kubernetes.TARGET.render(spec))
    assert isinstance(prove_commands(spec, kubernetes.TARGET, made), Proven)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_the_validator_of_the_target_accepts_the_chart(tmp_path: Path, spec: LaunchSpec) -> None:
    (validator,) = TARGET.validators
    done = ask(tool(validator.name), *validator.command[1:], str(chart_of(spec, tmp_path).folder))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_objects_lie_in_the_namespace_of_the_release(tmp_path: Path) -> None:
    made = chart_of(plain(), tmp_path).template("--namespace", "serving").stdout
    assert {document["metadata"]["namespace"] for document in documents(made)} == {"serving"}


def test_the_values_hold_the_launch_without_an_escape() -> None:
    (values,) = documents(TARGET.render(hostile()))
    assert tuple(values["engine"]["argv"]) == tuple(
        "0.0.0.0" if word == "127.0.0.1" else word for word in hostile().argv
    )
    assert [(entry["name"], entry["value"]) for entry in values["engine"]["env"]] == list(hostile().env)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('    - "2048"\n', "    - 1e3\n"),
        ('    - "2048"\n', "    - yes\n"),
        ('      value: "info"\n', "      value: 1\n"),
        ('      value: "info"\n', ""),
        ("  startupFailures: 11\n", "  startupFailures: 0\n"),
        ("  startupFailures: 11\n", "  startupFailure: 11\n"),
        ('  pullPolicy: "Never"\n', '  pullPolicy: "Always"\n'),
        ('name: "demo"\n', 'name: "Demo"\n'),
        ('name: "demo"\n', 'name: "demo"\nreplicas: 2\n'),
        ('  storageClass: ""\n', ""),
    ],
)
def test_the_schema_of_the_values_refuses_an_edit_that_is_no_launch(tmp_path: Path, old: str, new: str) -> None:
    chart = chart_of(plain(), tmp_path)
    text = chart.values.read_text()
    assert old in text
    chart.values.write_text(text.replace(old, new))
    done = chart.template()
    assert done.returncode != 0
    assert "values don't meet the specifications of the schema" in done.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('    - "2048"\n', "    - 2048\n"),
        ('    - "2048"\n', ""),
        ('      value: "info"\n', "      value: info\n"),
        ('      value: "info"\n', '      value: "info"\n      valueFrom: {}\n'),
        ('name: "demo"\n', 'name: "demo"\nsidecar: {}\n'),
        ("  checksums:", "  checksum:"),
        ('  storageClass: ""\n', '  storageClass: ""\n  cache: "/x"\n'),
        ("engine:\n", "engine:\n  shell: true\n"),
        ('workFolder: "/srv/dayzero"\n', 'workFolder: "/srv/dayzero"\n---\nname: "demo"\n'),
    ],
)
def test_values_that_say_anything_else_are_not_proven(old: str, new: str) -> None:
    text = TARGET.render(plain())
    assert old in text
    assert isinstance(prove_commands(plain(), TARGET, text.replace(old, new)), Refuted)


def test_values_without_checksums_are_not_proven_for_weights_of_a_kit() -> None:
    text = TARGET.render(plain())
    start = text.index("  checksums:")
    assert isinstance(
        prove_commands(plain(), TARGET, text[:start] + '  checksums: ""' + text[text.index("\n", start) :]), Refuted
    )


@pytest.mark.parametrize("letter", ["\ufffe", "\uffff"])
def test_a_letter_that_helm_cannot_read_back_is_refused(tmp_path: Path, letter: str) -> None:
    for spec in (launch(letter), launch(env=(("A", f"a{letter}"),))):
        with pytest.raises(InputError, match="noncharacter"):
            TARGET.render(spec)
    # The reason still stands: helm refuses its own output.
    chart = chart_of(launch("mark"), tmp_path)
    chart.values.write_text(chart.values.read_text().replace("mark", f"\\u{ord(letter):04x}"))
    assert "control characters are not allowed" in chart.template().stderr


def test_an_image_that_is_built_brings_its_dockerfile_and_every_chart_the_same_templates() -> None:
    without, pinned = dict(TARGET.companions(plain())), dict(TARGET.companions(k3()))
    assert set(without) - set(pinned) == {"Dockerfile"}
    assert {name for name in pinned if without[name] != pinned[name]} == {"helm/Chart.yaml"}
