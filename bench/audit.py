"""What it costs that wheels enter the cache, what a full audit of them costs, and how much of a wheel a range-read audit moves.

    python -m bench.audit CONFIG [ENGINE LIBRARY [OTHER]]

Everything is fetched through dayzero's own fetch, into a cache that is empty: its seconds (of which the network is a part), its
seconds of CPU and its peak memory come first. Then the same of the whole command for the engine with the library and the model,
from what is kept there: of the first audit, of five after it, and of the first one beside OTHER, a release of the library that was
fetched and that no audit has seen beside this engine. Memory is that of all processes of the command together, shared pages
counted once (the sum of their proportional set sizes, looked at every 20 ms). Then the seconds of the rules with a tenth, a third
and all of the engine's files, to see that the cost is linear in them. Then it rebuilds the engine's wheel as its index has it (what
was not kept is filled with noise of its size), serves it on this machine, and prints the share of its bytes that an audit in ranges
moves.

Last, a type checker answers beside it: how long, how many errors, and whether the
one finding that is known to be true is among them. Goals: 3 s, 400 MiB, 5 %.
"""

import functools
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Set as AbstractSet
from pathlib import Path

from packaging.requirements import Requirement

from dayzero.adapters.artifact_open import with_metadata
from dayzero.adapters.artifact_pack import PackedFiles
from dayzero.adapters.artifact_range import open_url
from dayzero.audit.installed import Installed
from dayzero.audit.report import audited
from dayzero.audit.rules import Subject
from dayzero.wiring.audit import index, model_of, rules
from dayzero.wiring.collector import uncollected

RUNS = 5
LOOK_S = 0.02
CHECKER_S = 110  # seconds that the type checker is given
ENTER = """
import sys
from dayzero.wiring.audit import Builds, Question
Builds(Question(engine=sys.argv[1], beside=tuple(sys.argv[2:]), env={}), print).subject(None, None, ())
"""
SHARES = (0.1, 0.33, 1.0)


def entered(*specs: str) -> None:
    """Fetch an engine and what stands beside it into the cache, and print what that costs."""
    seconds, cpu, peak, _ = timed([sys.executable, "-c", ENTER, *specs])
    print(f"entering the cache: {seconds:.1f} s, {cpu:.1f} s of CPU, {peak:.0f} MiB: {' '.join(specs)}")


def whole(config: str, engine: str, library: str, other: str) -> None:
    """Time the command, process and all: the first audit of these files, those after it, and the first beside another library."""
    command = [sys.executable, "-m", "dayzero", "audit", config, "--engine", engine]
    rest = ["--system", "8xb300", "--offline", "--output-format", "json"]
    first, *again = [timed([*command, "--with", library, *rest]) for _ in range(1 + RUNS)]
    every = [one[0] for one in again]
    print(f"first audit of these files: {line_of(first)}")
    print(
        f"again: {min(every):.2f} s best, {max(every):.2f} s worst of {RUNS}, {min(one[1] for one in again):.2f} s of CPU, "
        f"{max(one[2] for one in again):.0f} MiB: {' '.join({verdict_in(one[3]) for one in again})}"
    )
    index(offline=False).fetch(Requirement(other))
    print(f"first beside {other}: {line_of(timed([*command, '--with', other, *rest]))}")


def line_of(measured: tuple[float, float, float, bytes]) -> str:
    """Write one measured audit."""
    seconds, cpu, peak, said = measured
    return f"{seconds:.2f} s, {cpu:.2f} s of CPU, {peak:.0f} MiB: {verdict_in(said)}"


def verdict_in(said: bytes) -> str:
    """Read the verdict in what an audit said."""
    return str(json.loads(said)["verdict"])


def timed(command: list[str]) -> tuple[float, float, float, bytes]:
    """Run one command: its seconds, its seconds of CPU, its peak memory in MiB, and what it said."""
    peak, ended = 0.0, 0
    with tempfile.TemporaryFile() as said:
        begun = time.perf_counter()
        running = subprocess.Popen(command, stdout=said, stderr=subprocess.DEVNULL)  # noqa: S603
        while not ended:
            peak = max(peak, sum(map(held_mib, (running.pid, *below(running.pid)))))
            time.sleep(LOOK_S)
            ended, status, used = os.wait4(running.pid, os.WNOHANG)
        running.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begun
        said.seek(0)
        return seconds, used.ru_utime + used.ru_stime, peak, said.read()


def below(process: int) -> tuple[int, ...]:
    """Name the processes that a process has begun, and those that they have."""
    try:
        own = tuple(map(int, Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()))
    except OSError:
        return ()
    return (*own, *(one for child in own for one in below(child)))


def held_mib(process: int) -> float:
    """Give the memory that a process holds now, of what it shares its part."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024


class Part:
    """Some of a build's files. Implements ``audit.ports.SearchedFiles``."""

    def __init__(self, files: PackedFiles, share: float) -> None:
        self.artifact, self.read = files.artifact, files.read
        self.digest = f"{share} of {files.digest}"
        self._searched = files.holding
        names = [name for name in files.names() if name.endswith(".py")]
        kept = set(names[: int(len(names) * share)])
        self._kept = kept | {name for name in files.names() if not name.endswith(".py")}
        self._names = tuple(name for name in files.names() if name in kept or not name.endswith(".py"))

    def names(self) -> tuple[str, ...]:
        """List the files."""
        return self._names

    def holding(self, word: bytes) -> AbstractSet[str]:
        """Name the files that hold a word."""
        return self._searched(word) & self._kept


def linear(config: str, engine: str, library: str) -> None:
    """Ask the rules about parts of the engine."""
    asked = rules()
    for share in SHARES:
        packs = [index(offline=True).fetch(Requirement(one)) for one in (engine, library)]
        opened = [PackedFiles(f"{one.name} {one.version}", one.pack) for one in packs]
        begun = time.process_time()
        held = with_metadata(Part(opened[0], share))
        installed = Installed(engine=held, others=(with_metadata(opened[1]),))
        with uncollected(one_of_many=True):  # as the command does
            audited(asked, Subject(installed=installed, engine=held.name, model=model_of(config), capability=(10, 3)))
        count = sum(name.endswith(".py") for name in held.files.names())
        print(f"rules: {time.process_time() - begun:.2f} s of CPU for {count} Python files of the engine")


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Serves files in ranges."""

    def do_GET(self) -> None:
        """Send the range that is asked for."""
        path = Path(self.translate_path(self.path))
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        start, end = (int(found[1]), int(found[2])) if found else (0, path.stat().st_size - 1)
        with path.open("rb") as file:
            file.seek(start)
            body = file.read(end - start + 1)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{start + len(body) - 1}/{path.stat().st_size}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def ranged(config: str, engine: str) -> None:
    """Serve a wheel of the engine's size and audit it in ranges."""
    kept = index(offline=True).fetch(Requirement(engine))
    note = json.loads((index(offline=True).packs / "by-name" / f"{engine}.json").read_bytes())
    files = PackedFiles(f"{kept.name} {kept.version}", kept.pack)
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(folder) / note["file"]
        libraries = [name for name in files.names() if ".so" in name]
        text = [name for name in files.names() if name not in libraries]
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in text:
                try:
                    archive.writestr(name, files.read(name))
                except Exception:  # noqa: BLE001, S112  (it was not kept)
                    continue
            room = max(note["bytes"] - wheel.stat().st_size, 0) // max(len(libraries), 1)
            for name in libraries:
                archive.writestr(name, os.urandom(room))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Ranges, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        begun = time.perf_counter()
        held, remote = open_url(f"http://127.0.0.1:{server.server_port}/{wheel.name}")
        subject = Subject(
            installed=Installed(engine=held, others=()), engine=held.name, model=model_of(config), capability=(10, 3)
        )
        audited(rules(), subject)
        server.shutdown()
        share = 100 * remote.moved / remote.total
        print(
            f"in ranges: {remote.moved >> 10} of {remote.total >> 10} KiB, {share:.1f} %, {time.perf_counter() - begun:.2f} s"
        )


def beside(config: str, engine: str, library: str, finding: str) -> None:
    """Ask a type checker and this audit for one finding that is known to be true, and print both in one table.

    Args:
        config: The model.
        engine: The engine.
        library: A version of a library that lacks something the engine needs.
        finding: ``FILE:LINE`` of the engine that is known to fail with it.
    """
    entered(engine, library)  # what is kept already costs nothing
    command = ["audit", config, "--engine", engine, "--with", library, "--offline", "--output-format", "json"]
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "dayzero", *command], capture_output=True, text=True, check=False)  # noqa: S603
    ours = json.loads(done.stdout)["findings"]
    places = {f"{one['engine_location']['file']}:{one['engine_location']['line']}" for one in ours if one["refutes"]}
    rows = [("dayzero audit", time.perf_counter() - begun, len(places), finding in places)]
    with tempfile.TemporaryDirectory() as folder:
        asking = finding.partition(":")[0]
        for spec in (engine, library):
            kept = index(offline=True).fetch(Requirement(spec))
            files = PackedFiles(spec, kept.pack)
            # Of the engine only the file that asks: with all of it the type checker takes longer than it is given.
            for name in (one for one in files.names() if one.endswith(".py") and (spec == library or one == asking)):
                target = Path(folder) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(files.read(name))
        begun = time.perf_counter()
        words = ["--ignore-missing-imports", "--no-error-summary", "--no-incremental", "--cache-dir=/dev/null"]
        words += ["--follow-imports=silent", "--check-untyped-defs", asking]
        try:
            said = subprocess.run(  # noqa: S603
                [sys.executable, "-m", "mypy", *words],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=CHECKER_S,
            ).stdout
        except subprocess.TimeoutExpired:
            said = ""
        errors = [line for line in said.splitlines() if ": error:" in line]
        found = any(line.startswith(f"{finding}:") for line in errors)
        rows.append(("mypy", time.perf_counter() - begun, len(errors), found))
    print(f"{'':<14} {'seconds':>8} {'errors':>7}  names {finding}")
    for name, seconds, count, named in rows:
        print(f"{name:<14} {seconds:>8.1f} {count:>7}  {'yes' if named else 'no'}")


if __name__ == "__main__":
    CONFIG, *GIVEN = sys.argv[1:]
    KNOWN = ("vllm==0.27.0", "flashinfer-python==0.6.16.post3", "flashinfer-python==0.6.14")
    ENGINE, LIBRARY, OTHER = (*GIVEN, *KNOWN[len(GIVEN) :])
    with tempfile.TemporaryDirectory() as CACHE:
        os.environ["DAYZERO_CACHE"] = CACHE
        entered(ENGINE, LIBRARY)
        whole(CONFIG, ENGINE, LIBRARY, OTHER)
        linear(CONFIG, ENGINE, LIBRARY)
        ranged(CONFIG, ENGINE)
        beside(CONFIG, KNOWN[0], KNOWN[2], "vllm/model_executor/warmup/kernel_warmup.py:236")
