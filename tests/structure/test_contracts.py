"""The import contracts hold, and each of them fails when the fault that it is there for is planted."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys; sys.path[:0] = ['src', 'verifier/src'];"
        "from importlinter.cli import lint_imports;"
        "sys.exit(lint_imports(config_filename='.importlinter', no_cache=True))"
    )
    return subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=root, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture
def house(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        ROOT / "verifier" / "src", tmp_path / "verifier" / "src", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / ".importlinter", tmp_path)
    return tmp_path


def test_the_house_as_it_stands_keeps_every_contract():
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout
    assert "9 kept, 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("audit/check.py", "import dayzero.fit.model", "What may see what, high to low"),
        ("core/errors.py", "import dayzero.evidence.model", "What may see what, high to low"),
        ("fit/check.py", "import httpx", "A part does no I/O of its own"),
        ("evidence/model.py", "import subprocess", "A part does no I/O of its own"),
        ("bench/report.py", "import numpy", "else waits for them"),
        ("wiring/window.py", "import scipy.stats", "else waits for them"),
        ("serve/model.py", "import dayzero.serve.ports", "A model never imports its ports"),
        ("catalog/model.py", "import dayzero.bench.model", "The catalog never imports the laboratory"),
        ("core/pins.py", "import dayzero.core.recipe", "No cycles, at any depth"),
        ("collector/timing.py", "import msgspec", "of its libraries"),
        ("adapters/weights.py", "import dayzero.adapters.evidence_folder", "Only the wiring opens the store"),
    ],
)
def test_a_planted_fault_breaks_its_contract(house, module, line, contract):
    file = house / "src" / "dayzero" / module
    file.write_text(file.read_text(encoding="utf-8") + f"\n\n{line}\n", encoding="utf-8")
    done = lint(house)
    assert done.returncode == 1, done.stdout
    assert f"{contract} BROKEN" in done.stdout


def test_a_verifier_that_leans_on_dayzero_breaks_its_contract(house):
    file = house / "verifier" / "src" / "dayzero_verify" / "report.py"
    file.write_text(file.read_text(encoding="utf-8") + "\n\nimport dayzero.core.errors\n", encoding="utf-8")
    done = lint(house)
    assert done.returncode == 1
    assert "The verifier knows nothing of dayzero BROKEN" in done.stdout
