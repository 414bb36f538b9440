"""Run the demo on this machine, file what it left in the repository's evidence, and show its output in the README.

Run it on a quiet machine: ``.venv/bin/python tools/record_demo.py``. Earlier claims stay in the ledger, superseded.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from dayzero.evidence.claims import Capture, file_raw
from dayzero.evidence.ledger import file_records
from dayzero.evidence.model import NotMeasured, RawFile, Record
from dayzero.wiring import clock
from dayzero.wiring.store import evidence_folder, open_ledger

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"<!--raw [0-9a-f]{64} lines \d+-\d+-->\n```text\n.*?```\n<!--/raw-->", re.DOTALL)


def run_demo(name: str, folder: Path) -> str:
    """Run one demo in a scratch folder and give what it printed."""
    command = [sys.executable, "-m", "dayzero", "demo", name, "--no-serve"]
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the demo ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout.strip("\n") + "\n"


def main() -> None:
    """Record both demos."""
    evidence = evidence_folder(ROOT / "evidence")
    records: list[Record] = []
    known = {entry.record for entry in open_ledger(ROOT / "evidence").entries if isinstance(entry.record, NotMeasured)}
    for name in ("kimi-k3-tiny", "smollm2"):
        with tempfile.TemporaryDirectory() as scratch:
            printed = run_demo(name, Path(scratch))
            left = Path(scratch) / "dayzero-demo" / f"demo-{name}" / "evidence"
            for entry in open_ledger(left).entries:
                if isinstance(entry.record, RawFile):
                    evidence.raw.put((left / "raw" / entry.record.sha256.hex).read_bytes())
                if entry.record not in known:
                    records.append(entry.record)
                if isinstance(entry.record, NotMeasured):
                    known.add(entry.record)
        now = clock.now()
        capture = Capture(name=f"demo-{name}.txt", captured_at=now, command=f"dayzero demo {name} --no-serve")
        output = file_raw(evidence.raw, printed.encode(), capture)
        records.append(output)
        if name == "kimi-k3-tiny":
            show(output, printed)
    file_records(evidence.ledger, lambda _: records)


def show(output: RawFile, printed: str) -> None:
    """Put the output into the README, bound to its raw file."""
    lines = printed.count("\n")
    block = f"<!--raw {output.sha256} lines 1-{lines}-->\n```text\n{printed}```\n<!--/raw-->"
    text, count = BLOCK.subn(lambda _: block, README.read_text(encoding="utf-8"))
    if count != 1:
        sys.exit(f"README.md has {count} blocks of demo output instead of one")
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
