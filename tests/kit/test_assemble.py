import dataclasses
import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.contents import CONTENTS, LAUNCH, LOG, PACKAGE, START, digest, kit
from tests.samples import DIGEST, package, recipe

from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.launch import HubModel, LocalModel, Nodes, Placeholder
from dayzero.core.pins import Commit, FilePin, HubRevision, Sha256, WheelPin
from dayzero.core.quantities import Bytes
from dayzero.kit.assemble import MAX_FILE_BYTES, assemble
from dayzero.kit.documents import requirements_lock
from dayzero_verify.canonical_zip import read

REPOSITORY = Path(__file__).parents[2]
MAKE_A_KIT = """
import os, sys
os.umask(int(sys.argv[1], 8))
sys.path.insert(0, sys.argv[2])
from tests.kit.contents import kit, signed
print(kit().sha256, hash("x"), signed().hex())
"""


def files() -> dict[str, bytes]:
    return {file.path: file.content for file in read(kit().archive)}


def test_a_kit_holds_what_a_stranger_needs_and_nothing_else():
    assert sorted(files()) == sorted(
        [
            "CARD.md",
            "Dockerfile",
            "README.md",
            "compose.yaml",
            "evidence/ledger.jsonl",
            f"evidence/raw/{digest(LOG)}",
            f"evidence/raw/{digest(START)}",
            "launch.json",
            "manifest.json",
            "model.sha256",
            "package.toml",
            "requirements.lock",
            "serve.py",
            "serve.sh",
        ]
    )


def test_the_kit_lists_its_files_as_they_lie_in_the_archive():
    made = kit()
    assert [(f.path, f.size, f.sha256, f.mode) for f in made.files] == [
        (f.path, len(f.content), digest(f.content), f.mode) for f in read(made.archive)
    ]
    assert made.sha256 == digest(made.archive)
    assert (made.file_name, made.attestation_name) == ("demo-tiny-1.0.0.kit.zip", "demo-tiny-1.0.0.kit.intoto.jsonl")


def test_only_scripts_are_executable():
    assert [file.path for file in kit().files if file.mode == "0755"] == ["serve.sh"]


def test_the_manifest_lists_every_other_file():
    manifest = json.loads(files()["manifest.json"])
    assert manifest["schema"] == "dayzero/kit-manifest/v1"
    assert manifest["kit"] == {"name": "demo-tiny", "version": "1.0.0"}
    assert manifest["files"] == [file.document() for file in kit().files if file.path != "manifest.json"]


def test_the_launch_is_written_with_its_order_kept():
    launch = json.loads(files()["launch.json"])
    assert launch["schema"] == "dayzero/launch/v2"
    assert tuple(launch["argv"]) == LAUNCH.argv
    assert launch["env"] == [["OMP_NUM_THREADS", "1"]]
    assert launch["model"]["files"] == [{"path": "tiny.gguf", "size": 1000, "sha256": DIGEST.hex}]
    assert launch["budgets"]["start_s"] == 60
    assert set(launch) == {"schema", *(field.name for field in dataclasses.fields(LAUNCH))}


def test_the_lock_holds_one_entry_a_version_with_a_hash_for_each_wheel():
    assert files()["requirements.lock"].decode() == (
        "# Install with: pip install --require-hashes --no-deps -r requirements.lock\n"
        "xllamacpp==2.0 \\\n"
        f"    --hash=sha256:{DIGEST} \\\n"
        f"    --hash=sha256:{'cd' * 32}\n"
    )


def test_the_lock_refuses_what_is_no_wheel():
    with pytest.raises(InputError, match="not the file name of a wheel"):
        requirements_lock((WheelPin(filename="xllamacpp-2.0.tar.gz", sha256=DIGEST),))


def test_sha256sum_checks_the_weights_with_the_list_in_the_kit(tmp_path: Path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "w.gguf").write_bytes(b"weights")
    pin = FilePin(path="w.gguf", sha256=digest(b"weights"), size=Bytes(7))
    model = replace(recipe().model, files=(pin,))
    made = assemble(
        replace(
            CONTENTS,
            package=package(recipe=replace(recipe(), model=model)),
            launch=replace(LAUNCH, model=LocalModel(files=(pin,))),
        )
    )
    sums = next(file.content for file in read(made.archive) if file.path == "model.sha256")
    (tmp_path / "model.sha256").write_bytes(sums)
    command = ["sha256sum", "--check", "--strict", "model.sha256"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "model" / "w.gguf").write_bytes(b"Weights")
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 1


def test_the_readme_tells_a_stranger_what_it_is_how_to_check_and_how_to_start():
    text = files()["README.md"].decode()
    assert text.startswith("# demo-tiny 1.0.0\n\nTiny\n\nFor tests.\n")
    for expected in (
        "dayzero-verify demo-tiny-1.0.0.kit.zip --key KEY.pub.pem",
        "dayzero weights package.toml -o model",
        "sha256sum --check --strict model.sha256",
        "    ./serve.sh\n",
        "zero weight bytes",
        "- `Dockerfile`\n- `compose.yaml`\n",
        "curl --fail http://127.0.0.1:18480/health\n",
        """-d '{"model": "tiny", "prompt": "The capital of France is", "max_tokens": 16}'""",
        "Deploy files that were not asked for when it was built: docker-run, dockerfile, helm",
        "seed 7",
        "A number for quality: random weights",
        "port 18480",
    ):
        assert expected in text, expected
    assert "\n\n\n" not in text


def test_a_kit_without_a_script_says_so_instead_of_naming_one():
    made = assemble(replace(CONTENTS, deploy_files=()))
    text = next(file.content for file in read(made.archive) if file.path == "README.md").decode()
    assert "./" not in text.replace("unzip", "")
    assert "There is no other deploy file." in text


@given(st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_the_order_in_which_files_come_does_not_show(order: random.Random):
    shuffled = replace(
        CONTENTS,
        deploy_files=tuple(order.sample(CONTENTS.deploy_files, len(CONTENTS.deploy_files))),
        raw_files=tuple(order.sample(CONTENTS.raw_files, len(CONTENTS.raw_files))),
    )
    assert assemble(shuffled) == kit()


def test_the_same_bytes_come_out_under_another_umask_time_zone_locale_and_hash_seed(tmp_path: Path):
    settings_of = [
        ("0022", {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}),
        ("0077", {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2", "SOURCE_DATE_EPOCH": "1"}),
    ]
    answers = []
    for umask, environment in settings_of:
        command = [sys.executable, "-c", MAKE_A_KIT, umask, str(REPOSITORY)]
        variables = {**os.environ, **environment}
        answer = subprocess.run(
            command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
        )
        answers.append(answer.stdout.split())
    assert answers[0][1] != answers[1][1], "the two runs do not differ in what they should not depend on"
    assert (answers[0][0], answers[0][2]) == (answers[1][0], answers[1][2])
    assert answers[0][0] == kit().sha256.hex


# --- what a kit refuses ----------------------------------------------------------------------------------------------


def test_a_pinned_model_file_is_refused_under_whatever_name():
    pin = FilePin(path="tiny.gguf", sha256=digest(b"weights"), size=Bytes(7))
    model = replace(recipe().model, files=(pin,))
    contents = replace(
        CONTENTS,
        package=package(recipe=replace(recipe(), model=model)),
        launch=replace(LAUNCH, model=LocalModel(files=(pin,))),
    )
    for smuggled in (
        replace(contents, launch_files=(("innocent.py", b"weights"),)),
        replace(contents, raw_files=((digest(b"weights"), b"weights"),)),
        replace(contents, deploy_files=(("compose.yaml", "weights"),)),
        replace(contents, card="weights"),
        replace(contents, ledger=b"weights"),
    ):
        with pytest.raises(InputError, match=r"is the pinned model file tiny\.gguf"):
            assemble(smuggled)


def test_a_file_beyond_sixteen_mebibytes_is_refused():
    with pytest.raises(InputError, match="at most 16777216"):
        assemble(replace(CONTENTS, launch_files=(("big", bytes(MAX_FILE_BYTES + 1)),)))


@pytest.mark.parametrize("path", ["../x", "/x", "a b", ".env", "con", "a\\b", "", "caf\u00e9"])
def test_a_path_that_a_kit_may_not_hold_is_refused(path: str):
    with pytest.raises(InputError, match="cannot hold this file"):
        assemble(replace(CONTENTS, launch_files=((path, b"x"),)))


@pytest.mark.parametrize("path", ["readme.MD", "serve.sh/x", "Evidence/x"])
def test_paths_that_collide_on_some_systems_are_refused(path: str):
    with pytest.raises(InputError, match="cannot hold these files"):
        assemble(replace(CONTENTS, launch_files=((path, b"x"),)))


@pytest.mark.parametrize("path", ["README.md", "manifest.json", "launch.json", "serve.sh", "evidence/ledger.jsonl"])
def test_two_different_files_of_one_path_are_refused(path: str):
    with pytest.raises(InputError, match="two different files"):
        assemble(replace(CONTENTS, launch_files=((path, b"x"),)))


def test_a_raw_file_that_is_not_what_it_is_kept_under_is_refused():
    with pytest.raises(IntegrityError, match="has the digest"):
        assemble(replace(CONTENTS, raw_files=((Sha256("0" * 64), START),)))


def test_a_launch_of_other_weights_is_refused():
    other = replace(PACKAGE.recipe.model.files[0], sha256=Sha256("0" * 64))
    with pytest.raises(InputError, match="pin different weights"):
        assemble(replace(CONTENTS, launch=replace(LAUNCH, model=LocalModel(files=(other,)))))


def test_a_kit_of_weights_on_the_hub_names_their_commits_and_lists_no_checksums():
    commit = Commit("1" * 40)
    model = HubModel(
        repository="o/m",
        revision=commit,
        tokenizer_revision=commit,
        code_revision=commit,
        files=PACKAGE.recipe.model.files,
    )
    origin = HubRevision(repository="o/m", revision=commit)
    of_hub = package(recipe=replace(recipe(), model=replace(recipe().model, origin=origin)))
    spec = replace(LAUNCH, model=model, lock="locked\n", nodes=Nodes(count=2, worker=(Placeholder.NODE_RANK,)))
    made = {file.path: file.content for file in read(assemble(replace(CONTENTS, package=of_hub, launch=spec)).archive)}
    assert "model.sha256" not in made
    assert made["requirements.lock"] == b"locked\n"
    launch = json.loads(made["launch.json"])
    assert (launch["model"]["from"], launch["model"]["code_revision"]) == ("hub", commit.hex)
    assert launch["nodes"]["worker"] == [{"placeholder": "node rank"}]
    readme = made["README.md"].decode()
    assert "model.sha256" not in readme
    assert "The engine fetches them itself, at the commits that its arguments name." in readme
    assert "dayzero weights" not in readme


def test_the_readme_starts_the_script_that_needs_nothing_but_the_kit():
    files_of = (*CONTENTS.deploy_files, ("docker-run.sh", "#!/usr/bin/env bash\n"))
    made = assemble(replace(CONTENTS, deploy_files=files_of))
    readme = next(file.content for file in read(made.archive) if file.path == "README.md").decode()
    assert "\n    ./serve.sh\n" in readme
