"""Which question a diagnosis puts to which files."""

from pathlib import Path

import pytest
from tests.simulators.elf_symbols import shared_object
from tests.triage.samples import root_found

from dayzero.core.errors import InputError
from dayzero.core.verdict import Proven, Refuted, Undecided
from dayzero.wiring.triage_audit import audit_claim, open_builds

SYMBOL = "_ZN3c105ErrorC2E"
LIBRARY = "/opt/site-packages/vllm/_C.abi3.so"


@pytest.fixture
def site(tmp_path) -> Path:
    """An installed environment: an extension that asks for a symbol, a torch that lacks it, and a module."""
    files = {
        "vllm/_C.abi3.so": shared_object(undefined=[SYMBOL], needed=["libc10.so"], versions=["GLIBC_2.34"]),
        "torch/lib/libc10.so": shared_object(exports=["_ZN3c105ErrorC1E"]),
        "lib/kind.py": b"class Kind:\n    TENSOR = 1\n\n\ndef run(a): ...\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    ("wall", "values", "checks"),
    [
        ("api-skew", {"callee": "run", "keyword": "k"}, {"keyword:run:k": Proven}),
        ("api-skew", {"callee": "lib.kind.run", "keyword": "a"}, {"keyword:lib.kind.run:a": Refuted}),
        ("api-skew", {"module": "lib.kind", "name": "Other"}, {"name:lib.kind:Other": Proven}),
        ("api-skew", {"module": "lib.kind", "attribute": "Kind"}, {"name:lib.kind:Kind": Refuted}),
        ("api-skew", {"class": "Kind", "attribute": "HEAD"}, {"attribute:Kind:HEAD": Proven}),
        ("api-skew", {"object": "Kind", "attribute": "TENSOR"}, {"attribute:Kind:TENSOR": Refuted}),
        ("api-skew", {"object": "Absent", "attribute": "x"}, {"attribute:Absent:x": Undecided}),
        ("api-skew", {"callee": "run", "missing": "2", "names": "'a' and 'b'"}, {"claim": Undecided}),
        ("api-skew", {"keyword_only": "k"}, {"claim": Undecided}),
        (
            "native-abi",
            {"library": LIBRARY, "symbol": SYMBOL},
            {f"undefined:_C.abi3.so:{SYMBOL}": Proven, f"exported:{SYMBOL}": Proven},
        ),
        ("native-abi", {"bare": "_ZN3c105ErrorC1E"}, {"exported:_ZN3c105ErrorC1E": Refuted}),
        ("native-abi", {"bare": SYMBOL}, {f"exported:{SYMBOL}": Undecided}),
        (
            "native-abi",
            {"symbol_version": "GLIBC_2.34", "library": LIBRARY},
            {"version:_C.abi3.so:GLIBC_2.34": Proven},
        ),
        ("native-abi", {"library": "libcudart.so.12"}, {"library:libcudart.so.12": Proven}),
        ("native-abi", {"library": "libc10.so"}, {"library:libc10.so": Refuted}),
        ("native-abi", {"operator": "nms"}, {"claim": Undecided}),
        ("kv-capacity", {"callee": "run", "keyword": "k"}, {"claim": Undecided}),
    ],
)
def test_each_claim_is_put_to_the_files_as_its_own_question(site, wall, values, checks):
    diagnosis = root_found(wall=wall, numbers=tuple((name, value, "") for name, value in values.items()))
    assert {check.id: type(check.verdict) for check in audit_claim(diagnosis, open_builds((site,)))} == checks


def test_a_folder_that_holds_no_build_is_refused(tmp_path):
    with pytest.raises(InputError, match="is no build"):
        open_builds((tmp_path,))
