"""Stand-ins for what a deploy file starts: each writes down its words, its environment and its folder, and starts nothing.

A rendered script is run for real with the stand-ins first on its PATH; what it would have started is then compared with the
launch, word for word::

    recorder = Recorder(tmp_path)
    recorder.answer("docker", "image", "inspect", returncode=1)   # otherwise a stand-in prints nothing and ends with 0
    done = recorder.run("bash", str(script))
    call = recorder.only("docker", "run")
    assert call.argv == (...)

Tests take it as the fixture ``recorder``. A program that a test starts in its own way (sbatch) gets the stand-ins through
``recorder.environment()``. ``python3 -m venv FOLDER`` alone does something: it puts the stand-ins into ``FOLDER/bin``.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("docker", "podman", "vllm", "python3", "srun", "apptainer")
# Names the folder of the record, in the environment of whatever starts a stand-in.
RECORD = "DAYZERO_RECORD"

# The environment is read as the kernel handed it over: Python would change it under the C locale.
_STAND_IN = f"""\
#!{sys.executable} -ISE
import json, os, pathlib, shutil, sys
text = lambda raw: raw.decode("utf-8", "surrogateescape")
me = pathlib.Path(sys.argv[0])
argv = [me.name, *(text(os.fsencode(word)) for word in sys.argv[1:])]
pairs = [text(entry).partition("=") for entry in pathlib.Path("/proc/self/environ").read_bytes().split(b"\\0") if entry]
env = {{name: value for name, _, value in pairs if name != "{RECORD}"}}
folder = pathlib.Path(os.environ["{RECORD}"])
line = json.dumps({{"program": str(me), "argv": argv, "env": env, "cwd": os.getcwd(), "pid": os.getpid()}}) + "\\n"
with (folder / "calls.jsonl").open("a") as calls:
    calls.write(line)
if argv[:3] == ["python3", "-m", "venv"]:
    shutil.copytree(me.parent, pathlib.Path(argv[3]) / "bin")
answers = json.loads((folder / "answers.json").read_text())
given = [answer for answer in answers if argv[:len(answer["words"])] == answer["words"]]
if given:
    answer = max(given, key=lambda answer: len(answer["words"]))
    sys.stdout.write(answer["stdout"])
    sys.exit(answer["returncode"])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One start of a stand-in.

    Attributes:
        program: Path under which it was found.
        argv: Its words, the program's bare name first.
        env: Its whole environment.
        cwd: The folder that it was started in.
        pid: The process that it was.
    """

    program: str
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    pid: int


class Recorder:
    """The stand-ins in a folder of their own, and what was asked of them."""

    def __init__(self, folder: Path, *, programs: tuple[str, ...] = PROGRAMS) -> None:
        self.folder = folder / "recorder"
        self.programs = self.folder / "bin"
        self.programs.mkdir(parents=True)
        for name in programs:
            file = self.programs / name
            file.write_text(_STAND_IN)
            file.chmod(0o755)
        self._answers: list[dict[str, object]] = []
        self._write_answers()

    def answer(self, *words: str, returncode: int = 0, stdout: str = "") -> None:
        """Decide what a call that starts with these words prints and ends with; the longest such rule holds, a later one wins."""
        self._answers = [rule for rule in self._answers if rule["words"] != list(words)]
        self._answers.append({"words": list(words), "returncode": returncode, "stdout": stdout})
        self._write_answers()

    def _write_answers(self) -> None:
        (self.folder / "answers.json").write_text(json.dumps(self._answers))

    def environment(self, **env: str) -> dict[str, str]:
        """Give an environment in which the stand-ins come first and the system's own programs second; nothing else is set."""
        return {"PATH": f"{self.programs}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", RECORD: str(self.folder), **env}

    def run(self, *argv: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a program to its end in that environment."""
        return subprocess.run(
            (shutil.which(argv[0], path="/usr/bin:/bin") or argv[0], *argv[1:]),
            env=self.environment(**env),
            cwd=cwd or self.folder,
            capture_output=True,
            check=False,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )

    def calls(self, *words: str) -> tuple[Call, ...]:
        """List the calls that start with these words, in the order in which they came."""
        log = self.folder / "calls.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        found = (json.loads(line) for line in lines)
        calls = (Call(**{**call, "argv": tuple(call["argv"])}) for call in found)
        return tuple(call for call in calls if call.argv[: len(words)] == words)

    def only(self, *words: str) -> Call:
        """Give the one call that starts with these words."""
        (call,) = self.calls(*words)
        return call

    def forget(self) -> None:
        """Start a new record."""
        (self.folder / "calls.jsonl").unlink(missing_ok=True)
