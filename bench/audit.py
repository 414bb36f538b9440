"""Time and memory of a full audit, and how much of a wheel a range-read audit moves.

    python bench/audit.py CONFIG [ENGINE] [LIBRARY]

Prints the seconds and the peak memory of the whole command for vLLM with FlashInfer and the model, from what is kept here, five
times, and the same with a tenth, a third and all of the engine's files, to see that the cost is linear in them. Then it rebuilds
the engine's wheel as its index has it (what was not kept is filled with noise of its size), serves it on this machine, and prints
the share of its bytes that an audit in ranges moves. Goals: 3 s, 400 MiB, 5 %.
"""

import functools
import http.server
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

from packaging.requirements import Requirement

from dayzero.adapters.artifact_open import with_metadata
from dayzero.adapters.artifact_pack import PackedFiles
from dayzero.adapters.artifact_range import open_url
from dayzero.audit.installed import Installed
from dayzero.audit.report import audited
from dayzero.audit.rules import Subject
from dayzero.wiring.audit import index, model_of, rules

RUNS = 5
SHARES = (0.1, 0.33, 1.0)


def whole(config: str, engine: str, library: str) -> None:
    """Time the command, process and all."""
    command = [
        sys.executable,
        "-m",
        "dayzero",
        "audit",
        config,
        "--engine",
        engine,
        "--with",
        library,
        "--system",
        "8xb300",
    ]
    command += ["--offline", "--output-format", "json"]
    seconds = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
        seconds.append(time.perf_counter() - begun)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    verdict = json.loads(done.stdout)["verdict"]
    print(f"full audit: {min(seconds):.2f} s best, {max(seconds):.2f} s worst of {RUNS}, {peak:.0f} MiB: {verdict}")


class Part:
    """Some of a build's files. Implements ``audit.ports.BuildFiles``."""

    def __init__(self, files: PackedFiles, share: float) -> None:
        self.artifact, self.read = files.artifact, files.read
        names = [name for name in files.names() if name.endswith(".py")]
        kept = set(names[: int(len(names) * share)])
        self._names = tuple(name for name in files.names() if name in kept or not name.endswith(".py"))

    def names(self) -> tuple[str, ...]:
        """List the files."""
        return self._names


def linear(config: str, engine: str, library: str) -> None:
    """Ask the rules about parts of the engine."""
    asked = rules()
    for share in SHARES:
        packs = [index(offline=True).fetch(Requirement(one)) for one in (engine, library)]
        opened = [PackedFiles(f"{one.name} {one.version}", one.pack) for one in packs]
        begun = time.process_time()
        held = with_metadata(Part(opened[0], share))
        installed = Installed(engine=held, others=(with_metadata(opened[1]),))
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
        own = [rule for rule in rules() if rule.id != "native-symbols"]  # which reads the libraries
        audited(own, subject)
        server.shutdown()
        share = 100 * remote.moved / remote.total
        print(
            f"in ranges: {remote.moved >> 10} of {remote.total >> 10} KiB, {share:.1f} %, {time.perf_counter() - begun:.2f} s"
        )


if __name__ == "__main__":
    CONFIG = sys.argv[1]
    ENGINE, LIBRARY = sys.argv[2:4] or ("vllm==0.27.0", "flashinfer-python==0.6.16.post3")
    whole(CONFIG, ENGINE, LIBRARY)
    linear(CONFIG, ENGINE, LIBRARY)
    ranged(CONFIG, ENGINE)
