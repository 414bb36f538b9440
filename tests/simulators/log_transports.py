"""What stands between an engine and a file: a log is carried, coloured, cut and mixed, and its lines can be followed.

Every function takes a log as lines and gives another; each line remembers which lines of the original it holds, so that a test
knows where the root went.
"""

import itertools
import json
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its newline, and the lines of the original (1-based) that it holds, whole or in part."""

    raw: bytes
    origins: frozenset[int] = frozenset()


Log: TypeAlias = tuple[Line, ...]
Transport: TypeAlias = Callable[[Log], Log]

ANSI = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
PREFIX = re.compile(rb"\((?P<name>[A-Za-z]\w*) pid=(?P<pid>\d+)(?:, ip=[\d.]+)?\) ?")
_LEVEL = re.compile(rb"\b(?:ERROR|WARNING|INFO)(?= \d\d-\d\d )")
_V1_HEAD = re.compile(
    rb"(?P<prefix>\((?P<name>\w+) pid=(?P<pid>\d+)\) )"
    rb"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<day>\d\d-\d\d) (?P<time>\d\d:\d\d:\d\d) \[(?P<at>[\w./-]+:\d+)\] ?"
)


def lines_of(log: bytes) -> Log:
    """Split a log as ``sed`` counts."""
    parts = log.split(b"\n")
    if parts[-1] == b"":
        parts.pop()
    return tuple(Line(raw, frozenset({number})) for number, raw in enumerate(parts, 1))


def joined(log: Log) -> bytes:
    """Put the lines together again."""
    return b"".join(line.raw + b"\n" for line in log)


def where(log: Log, origins: Iterable[int]) -> set[int]:
    """Give the numbers that lines of the original have now."""
    wanted = set(origins)
    return {number for number, line in enumerate(log, 1) if wanted & line.origins}


def _carried(log: Log, head: Callable[[int], str]) -> Log:
    return tuple(replace(line, raw=head(index).encode() + line.raw) for index, line in enumerate(log))


def _seconds(index: int) -> str:
    seconds = 36_000 + index // 3
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def plain(log: Log) -> Log:
    """Carry it as it is."""
    return log


def docker(log: Log) -> Log:
    """``docker logs --timestamps``."""
    return _carried(log, lambda index: f"2026-03-11T{_seconds(index)}.{143821875 + index:09}Z ")


def docker_file(log: Log) -> Log:
    """Docker's own json-file, as it lies on the node."""
    return tuple(
        replace(
            line,
            raw=json.dumps(
                {
                    "log": line.raw.decode(errors="replace") + "\n",
                    "stream": ("stderr", "stdout")[index % 2],
                    "time": f"2026-03-11T{_seconds(index)}.{143821875 + index:09}Z",
                },
                ensure_ascii=False,
                separators=(",", ":"),
            ).encode(),
        )
        for index, line in enumerate(log)
    )


def compose(log: Log) -> Log:
    """``docker compose logs``, with a healthy neighbour and the end of the service."""
    neighbour = Line(
        b'proxy-1   | 10.0.0.9 - - [11/Mar/2026:17:58:00 +0000] "GET /health HTTP/1.1" 200 2 "-" "curl/8.5.0"'
    )
    carried = _carried(log, lambda _: "engine-1  | ")
    mixed = ((line, neighbour) if index % 9 == 4 else (line,) for index, line in enumerate(carried))
    return (*itertools.chain.from_iterable(mixed), Line(b"engine-1 exited with code 1"))


def compose_timestamps(log: Log) -> Log:
    """``docker compose logs --timestamps``: both prefixes."""
    return _carried(docker(log), lambda _: "engine  | ")


_CRI_PIECE = 300  # a node cuts at 16 KiB; so does this, sooner


def cri(log: Log) -> Log:
    """What containerd writes to /var/log/pods: a stream, a tag, and long lines in parts."""
    out = []
    for index, line in enumerate(log):
        pieces = [line.raw[at : at + _CRI_PIECE] for at in range(0, max(1, len(line.raw)), _CRI_PIECE)]
        for piece in pieces:
            tag = b"F" if piece is pieces[-1] else b"P"
            head = f"2026-03-11T{_seconds(index)}.{143821875 + index:09}+02:00 stderr ".encode()
            out.append(Line(head + tag + b" " + piece, line.origins))
    return tuple(out)


def kubectl_prefix(log: Log) -> Log:
    """``kubectl logs --prefix``."""
    return _carried(log, lambda _: "[pod/engine-7d9c4b-x2x9p/engine] ")


def journald(log: Log) -> Log:
    """``journalctl -u``, with what systemd says about the end."""
    start = Line(b"Aug 19 09:59:59 node-a systemd[1]: Started engine.service - The engine.")
    end = Line(b"Aug 19 18:00:00 node-a systemd[1]: engine.service: Main process exited, code=exited, status=1/FAILURE")
    failed = Line(b"Aug 19 18:00:00 node-a systemd[1]: engine.service: Failed with result 'exit-code'.")
    return (start, *_carried(log, lambda index: f"Aug 19 {_seconds(index)} node-a engine[4711]: "), end, failed)


def journald_iso(log: Log) -> Log:
    """``journalctl -o short-iso``."""
    return _carried(log, lambda index: f"2026-08-19T{_seconds(index)}+0200 node-a.example.org engine[4711]: ")


def buildkite(log: Log) -> Log:
    """A CI's stamp in brackets."""
    return _carried(log, lambda index: f"[2026-02-24T{_seconds(index)}Z] ")


def github_actions(log: Log) -> Log:
    """A CI's stamp with ten-millionths of a second."""
    return _carried(log, lambda index: f"2026-02-24T{_seconds(index)}.{1234567 + index:07}Z ")


def cloud_function(log: Log) -> Log:
    """A hosted runner's stamp before a bar."""
    return _carried(log, lambda index: f"Aug 04  {_seconds(index)}.{47 + index % 900:03} | ")


def wrapper(log: Log) -> Log:
    """A desktop application that logs its child's output as errors."""
    return _carried(log, lambda index: f"2026-06-09 {_seconds(index)}.{index % 1000:03} [Error] (Process) ")


TRANSPORTS: Mapping[str, Transport] = {
    carry.__name__: carry
    for carry in (
        plain,
        docker,
        docker_file,
        compose,
        compose_timestamps,
        cri,
        kubectl_prefix,
        journald,
        journald_iso,
        buildkite,
        github_actions,
        cloud_function,
        wrapper,
    )
}


def without_colours(log: Log) -> Log:
    """Take ANSI sequences out."""
    return tuple(replace(line, raw=ANSI.sub(b"", line.raw)) for line in log)


def with_colours(log: Log) -> Log:
    """Colour process prefixes and levels as vLLM does on a terminal."""

    def coloured(raw: bytes) -> bytes:
        raw = PREFIX.sub(lambda m: b"\x1b[1;36m" + m[0].rstrip() + b"\x1b[0;0m ", raw, count=1)
        return _LEVEL.sub(lambda m: b"\x1b[31m" + m[0] + b"\x1b[0m", raw, count=1)

    return tuple(replace(line, raw=coloured(line.raw)) for line in without_colours(log))


def with_crlf(log: Log) -> Log:
    """End every line with a carriage return too."""
    return tuple(replace(line, raw=line.raw.removesuffix(b"\r") + b"\r") for line in log)


def without_crlf(log: Log) -> Log:
    """Take the carriage return before the newline away."""
    return tuple(replace(line, raw=line.raw.removesuffix(b"\r")) for line in log)


def prefix_of(raw: bytes) -> bytes:
    """Give the outermost process prefix of a line, or nothing."""
    found = PREFIX.search(ANSI.sub(b"", raw[:160]))
    return found[0] if found else b""


def shuffled(log: Log, seed: int, skew: int) -> Log:
    """Let processes race: lines move by up to ``skew``, the order within each process stays.

    A line without a process prefix belongs to the line before it and nobody may pass it: its process is not known.
    """
    chance = random.Random(seed)  # noqa: S311 - a seed, not a secret
    runs = [(named, tuple(run)) for named, run in itertools.groupby(log, key=lambda line: bool(prefix_of(line.raw)))]
    return tuple(itertools.chain.from_iterable(_raced(run, chance, skew) if named else run for named, run in runs))


def _raced(run: Sequence[Line], chance: random.Random, skew: int) -> list[Line]:
    last: dict[bytes, float] = {}
    at = []
    for index, line in enumerate(run):
        name = prefix_of(line.raw)
        last[name] = max(last.get(name, 0.0), index + chance.uniform(0, skew))
        at.append((last[name], index, line))
    return [line for _, _, line in sorted(at, key=lambda entry: entry[:2])]


_WORKER = re.compile(
    rb"\((?P<name>(?:VllmWorker|Worker|EngineCore)\w*?)(?P<rank>(?:_TP|_DP| rank=|_)?\d+)? pid=(?P<pid>\d+)\)"
)


def rank_prefixes(log: Log) -> tuple[bytes, ...]:
    """Give the prefixes of workers, or, where no worker speaks, of engine cores; the first to fail comes first."""
    names = list(
        dict.fromkeys(prefix_of(line.raw) for line in log if b"ERROR" in line.raw[:120] and prefix_of(line.raw))
    )
    workers = [name for name in names if b"Worker" in name]
    return tuple(workers or [name for name in names if b"EngineCore" in name])


def duplicated(log: Log, copies: int) -> Log:
    """Let the first failing rank speak ``copies`` times, line by line, each with a rank and a pid of its own."""
    chosen = next(iter(rank_prefixes(log)), None)
    if chosen is None:
        return log
    found = PREFIX.match(chosen)
    assert found
    stem = re.sub(rb"(?:_?(?:TP|DP|PP|EP))?_?\d*$", b"", found["name"].split(b"_")[0])
    rank = b"_TP" if b"Worker" in stem else b"_DP"
    out: list[Line] = []
    for line in log:
        out.append(line)
        if prefix_of(line.raw) != chosen:
            continue
        for copy in range(1, copies):
            other = (
                found[0]
                .replace(found["name"], stem + rank + str(8 + copy).encode())
                .replace(found["pid"], str(90_000 + copy).encode())
            )
            out.append(replace(line, raw=line.raw.replace(found[0].rstrip(), other.rstrip(), 1)))
    return tuple(out)


def as_json(log: Log) -> Log:
    """Write vLLM's records as its JSON formatter does; what is no record stays as it is."""
    out: list[Line] = []
    key: tuple[bytes, ...] | None = None
    held: list[tuple[bytes, frozenset[int]]] = []
    head: Mapping[str, bytes] = {}

    def close() -> None:
        if held:
            out.append(_json_record(head, held))
            held.clear()

    for line in without_colours(without_crlf(log)):
        found = _V1_HEAD.match(line.raw)
        here = (found["pid"], found["level"], found["time"], found["at"]) if found else None
        rest = line.raw[found.end() :] if found else b""
        # A record goes on while its head stays; a new one begins where an unindented text follows something else than a traceback.
        if here is None or here != key:
            close()
        if found is None:
            out.append(line)
        else:
            head = {name: value or b"" for name, value in found.groupdict().items()}
            held.append((rest, line.origins))
        key = here
    close()
    return tuple(out)


def _json_record(head: Mapping[str, bytes], held: Sequence[tuple[bytes, frozenset[int]]]) -> Line:
    texts = [text.decode(errors="replace").rstrip("\r") for text, _ in held]
    trace = next(
        (index for index, text in enumerate(texts) if text.startswith("Traceback (most recent call last)")), len(texts)
    )
    level = head["level"].decode()
    trace = trace if level == "ERROR" else len(texts)
    record = {
        "asctime": f"2026-{head['day'].decode()} {head['time'].decode()},{len(texts):03}",
        "levelname": level,
        "name": "vllm." + head["at"].decode().partition(".py")[0],
        "processName": head["name"].decode(),
        "process": int(head["pid"]),
        "message": "\n".join(texts[:trace]),
    }
    if trace < len(texts):
        record["exc_info"] = "\n".join(texts[trace:])
    return Line(json.dumps(record).encode(), frozenset().union(*(origins for _, origins in held)))


def head_cut(log: Log, after: int) -> Log:
    """Keep what comes after a line (1-based)."""
    return log[after:]


def tail_cut(log: Log, until: int) -> Log:
    """Keep the lines up to one (1-based)."""
    return log[:until]


# What engines say when something else has failed: no such line may ever be called a root. In this file's own words, by program.
GENERIC = re.compile(
    rb"""Engine\ core\ initialization\ failed | EngineCore\ (?:failed\ to\ start|encountered)
      | WorkerProc\ (?:initialization\ failed|failed\ to\ start|hit\ an\ exception)
      | Frontend\ process\ failed | died\ unexpectedly | RuntimeError:\ cancelled | Exception:\ cancelled
      | Engine\ process\ failed\ to\ start | Received\ sigquit | scheduler\ is\ dead | Executor\ worker\ returned\ error
      | MPI_ABORT | failed\ to\ load\ all\ models | ShardCannotStart | WebserverFailed | Shard\ \d+\ failed\ to\ start
      | exiting\ due\ to | unable\ to\ load\ model | Failed\ to\ init\ server | resource_tracker
      | destroy_process_group | Main\ process\ exited | Failed\ with\ result | EngineDeadError
    """,
    re.VERBOSE,
)
_EXCEPTION = re.compile(
    rb"(?:^|[\]|)] ?|: )(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Exit|Interrupt|NotFound)\b(?::|\r?$)"
)


def _speaks(raw: bytes) -> bool:
    text = ANSI.sub(b"", raw)
    return bool(_EXCEPTION.search(text)) and not GENERIC.search(text)


def only_generic(log: Log) -> bool:
    """Say whether no line here names an exception of its own."""
    return not any(_speaks(line.raw) for line in log)
