"""How fast dayzero reads a log, in how much memory, beside ``grep -c Error`` on the same file.

bench/triage.py [--lines LOG] [--failure LOG] [--mib 1024] [--in DIR]

Three files of records (an eighth, a half, the whole of ``--mib``), each with one real failure at its end, and one whose failure
stands before a line of 200 MB. Each is read by ``diagnose`` in a fresh process; the process says its own time and its peak memory.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

LOGS = Path(__file__).parents[1] / "tests" / "triage" / "logs"
MIB = 1024**2
LONG_LINE_BYTES = 200_000_000


def pieces(path: Path, size: int) -> Iterator[bytes]:
    """Read a file as a pipe would give it."""
    with path.open("rb") as file:
        while piece := file.read(size):
            yield piece


def child(path: Path) -> None:
    """Diagnose one file and say how that went."""
    from dayzero.wiring.triage import diagnose  # noqa: PLC0415 - only the child pays for it

    diagnose(b"")  # the dialects and the rules are read once in a process
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, began_cpu = time.perf_counter(), time.process_time()
    found = diagnose(pieces(path, 256 * 1024))
    print(
        json.dumps(
            {
                "verdict": type(found).__name__,
                "line": getattr(getattr(found, "root", None), "line", 0),
                "lines": found.log.lines,
                "wall_s": time.perf_counter() - began,
                "cpu_s": time.process_time() - began_cpu,
                "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "before_mib": before_kib / 1024,
            }
        )
    )


def written(path: Path, filler: bytes, failure: bytes, size: int) -> Path:
    """Write records up to a size, then the failure."""
    block = filler * max(1, 4 * MIB // len(filler))
    with path.open("wb") as file:
        left = size - len(failure)
        while left > 0:
            file.write(block[: max(left, 0)])
            left -= len(block)
        file.write(b"\n" + failure)
    return path


def long_line(path: Path, failure: bytes) -> Path:
    """Write the failure and one line of 200 MB after it."""
    with path.open("wb") as file:
        file.write(failure)
        for _ in range(LONG_LINE_BYTES // 1_000_000):
            file.write(b"x" * 1_000_000)
        file.write(b"\n")
    return path


def row(name: str, path: Path) -> None:
    """Read one file both ways and print how they compare."""
    size = path.stat().st_size
    subprocess.run(["cat", str(path)], stdout=subprocess.DEVNULL, check=True)  # noqa: S603, S607 - into the page cache
    began = time.perf_counter()
    # Not into /dev/null: grep notices, and stops at the first match.
    subprocess.run(["grep", "-c", "Error", str(path)], stdout=subprocess.PIPE, check=False)  # noqa: S603, S607
    grep_s = time.perf_counter() - began
    done = subprocess.run([sys.executable, __file__, "--child", str(path)], stdout=subprocess.PIPE, check=True)  # noqa: S603
    said = json.loads(done.stdout)
    print(
        f"{name:26} {size / 1e6:8.1f} MB  diagnose {size / 1e6 / said['wall_s']:7.1f} MB/s"
        f"  {said['wall_s']:7.2f} s  peak {said['peak_mib']:6.1f} MiB ({said['before_mib']:.1f} before)"
        f"  grep -c Error {size / 1e6 / grep_s:8.1f} MB/s  {said['verdict']} line {said['line']} of {said['lines']}",
        flush=True,
    )


def main() -> None:
    """Make the files, read them, print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=Path, default=LOGS / "told-to-end-while-loading.log")
    parser.add_argument("--failure", type=Path, default=LOGS / "vocabulary-shape.log")
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--in", dest="folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--child", type=Path)
    chosen = parser.parse_args()
    if chosen.child:
        child(chosen.child)
        return
    records = [line for line in chosen.lines.read_bytes().splitlines(keepends=True) if b" INFO " in line]
    failure = chosen.failure.read_bytes()
    folder = Path(tempfile.mkdtemp(prefix="triage-", dir=chosen.folder))
    try:
        for part in (8, 2, 1):
            size = chosen.mib * MIB // part
            row(f"records, {size // MIB} MiB", written(folder / "log", b"".join(records), failure, size))
        row("failures over and over", written(folder / "log", failure, failure, chosen.mib * MIB // 8))
        row("one line of 200 MB", long_line(folder / "log", failure))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
