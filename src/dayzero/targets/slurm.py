"""What the two Slurm targets share: one batch script that starts one step a node, waits for health, drains and ends.

Escape rules: every word as :mod:`dayzero.targets.shell_words` writes it; never ``eval``. The address of the first node and the
rank of a node are the only expansions among the words, as ``"$dayzero_leader"`` and ``"$dayzero_rank"``.
"""

import re
import shlex
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Commands, Delta, HubModel, LaunchSpec, LocalModel, Placeholder, apply_deltas
from dayzero.targets.bash_script import check_line, require_check_line
from dayzero.targets.container import header
from dayzero.targets.interface import NotCarriedError
from dayzero.targets.precondition import require_carriable
from dayzero.targets.shell_words import by_flag, joined, on_one_line, quoted, split, taken_by_bash, variable

INPUTS = ("cache", "partition", "nodes")
FORMS = {Placeholder.LEADER_ADDRESS: '"$dayzero_leader"', Placeholder.NODE_RANK: '"$dayzero_rank"'}

_SHEBANG = "#!/usr/bin/env bash"
_OPTION = "#SBATCH --"
_OPTIONS = {
    "job-name": r"[a-z][a-z0-9-]*",
    "nodes": r"[1-9][0-9]*",
    "ntasks-per-node": "1",
    "gpus-per-node": r"[1-9][0-9]*",
    "mem": r"[1-9][0-9]*M",
    "exclusive": "",
    "signal": r"B:TERM@[1-9][0-9]*",
    "partition": r"[A-Za-z0-9_.,-]+",
    "nodelist": r"[A-Za-z0-9_.,\[\]-]+",
}
_OPTIONAL = frozenset({"gpus-per-node", "partition", "nodelist"})
_START, _INDENT, _WORKER_INDENT = "start ", "  ", "    "
_LOOP = "for ((dayzero_rank = 1; dayzero_rank < {count}; dayzero_rank++)); do"
_MIB = 1024**2
_STOP_SLACK_S = 10
_LAST_LEAD_S = 65535  # slurm 22.05.8, sbatch(1), --signal
_HOST_PATH = re.compile(r"/[A-Za-z0-9_./+@-]*")

_OPENING = """\
# Submit it there, on a file system that every node sees:  sbatch {file}
# Stop it so that it drains:  scancel --batch --signal=TERM JOB_ID  (a plain scancel leaves the site's KillWait and no more)
# Exit codes before the engine serves: 2 not the job that was written, 3 something is missing or late, 4 a digest differs.
# shellcheck disable=SC1003,SC2016,SC2034,SC2088,SC2317  # no word of the launch is meant to be expanded
set -euo pipefail
cd -- "${{SLURM_SUBMIT_DIR:?submit this file with sbatch}}"
# Slurm hands on the limit of the machine that submits; locked memory is what GPUs and their network need.
ulimit -S -l "$(ulimit -H -l)"
dayzero_steps=() dayzero_names=''
{prepare}
fail() {{ # CODE MESSAGE HINT
  printf 'error: %s\\nhint: %s\\n' "$2" "$3" >&2
  exit "$1"
}}

case "$PWD" in
  *[:,]*) fail 2 "a container cannot be given a folder whose path holds : or , : $PWD" 'move the kit' ;;
esac

"""
_CHECK_WEIGHTS = """\
check_weights() { # FILE...
  local file
  for file in "$@"; do
    [ -f "model/$file" ] || fail 3 "the weights are not here: model/$file" 'dayzero weights package.toml -o model'
  done
  sha256sum --check --quiet --strict model.sha256 >&2 ||
    fail 4 'the weights are not the pinned bytes' 'remove them, then: dayzero weights package.toml -o model'
}

"""
_GET_IMAGE = """\
get_image() { # FILE REFERENCE
  if [ -f "$1" ] && [ -f "$1.sha256" ]; then
    [ "$(sha256sum < "$1")" = "$(cat -- "$1.sha256")" ] ||
      fail 4 "the image is not the one that was made: $1" "remove $1 and $1.sha256"
    return
  fi
  [ -n "$2" ] || fail 3 "the image is not here: $1" \\
    "docker build -t dayzero-engine:kit . && %(build)s && sha256sum < $1 > $1.sha256"
  rm -f -- "$1"
  %(fetch)s >&2 || fail 3 "the image cannot be fetched: $2" 'see above for what %(program)s said'
  sha256sum < "$1" > "$1.sha256"
}

give() { # NAME=VALUE: to the engine
  %(give)s
}

"""
_SUPERVISE = """\
find_nodes() { # COUNT
  mapfile -t dayzero_nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
  [ "${#dayzero_nodes[@]}" -eq "$1" ] ||
    fail 2 "the launch takes $1 nodes, and this job has ${#dayzero_nodes[@]}" 'submit this file as it is, without --nodes'
  dayzero_leader="${dayzero_nodes[0]}"
}

start() { # RANK WORD...
  srun --nodes=1 --ntasks=1 --nodelist="${dayzero_nodes[$1]}" --export=ALL --mpi=none --cpu-bind=none "${@:2}" &
  dayzero_steps+=("$!")
}

exit_with() { # STEP: with its exit code, if it has ended; Slurm ends the other steps with the job
  kill -0 "$1" 2> /dev/null && return
  wait "$1" || exit "$?"
  exit 0
}

stop() { # PRE_STOP_S STOP_S
  local began="$SECONDS" engine
  trap '' TERM
  printf 'asked to stop\\n' >&2
  sleep "$1"
  # The first node's engine gets the signal itself and alone, as from any other supervisor; its own processes are its to end.
  engine="$(scontrol listpids "$SLURM_JOB_ID" | awk '$3 ~ /^[0-9]+$/ && $4 == 0 { print $1 }')" || engine=''
  # shellcheck disable=SC2086  # one or more numbers
  if [ -z "$engine" ] || ! kill -TERM $engine; then
    scancel --signal=TERM "$SLURM_JOB_ID"
  fi
  while ((SECONDS - began <= $2)); do # whole seconds, the first of which had begun
    exit_with "${dayzero_steps[0]}"
    sleep 1
  done
  # shellcheck disable=SC2086
  [ -z "$engine" ] || kill -KILL $engine || true
  fail 3 "the engine still ran $2 s after the request to stop" 'give the stop more time, or drain for less'
}

healthy() ( # PORT PATH
  { exec 3<> "/dev/tcp/127.0.0.1/$1"; } 2> /dev/null || exit 1
  printf 'GET %s HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\n\\r\\n' "$2" >&3
  IFS=' ' read -r -t 5 _ status _ <&3 && [ "$status" = 200 ]
)

supervise() { # PORT PATH START_S
  local began="$SECONDS" step
  until healthy "$1" "$2"; do
    for step in "${dayzero_steps[@]}"; do exit_with "$step"; done
    ((SECONDS - began <= $3)) || fail 3 "not healthy after $3 s" 'read the log above, or give the start more time'
    sleep 1
  done
  printf 'healthy after %s s\\n' "$((SECONDS - began))" >&2
  while :; do
    for step in "${dayzero_steps[@]}"; do exit_with "$step"; done
    sleep 1
  done
}

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What differs between the programs that run a container in a step.

    Attributes:
        file: Name of the batch script.
        suffix: Ending of the image's file.
        program: Who fetches an image.
        fetch: The command that fetches ``$2`` into ``$1``.
        build: The command that makes ``$1`` of an image that was built here.
        prepare: Line of the script that makes what the program needs, ``""`` for none.
        give: The command that hands the variable ``$1`` in.
        refused: Variables that the program sets or reads itself.
        options: Pattern of what stands between the step and the engine's words, in the script, with a group ``image``, and a
            group ``listed`` where the program has to be told which variables are handed in.
    """

    file: str
    suffix: str
    program: str
    fetch: str
    build: str
    prepare: str
    give: str
    refused: re.Pattern[str]
    options: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How a runtime starts the engine of one launch.

    Attributes:
        image: File of the image.
        reference: From where the image is fetched; ``""`` where it is built here.
        options: What stands between the step and the engine's words, written for the shell.
    """

    image: str
    reference: str
    options: tuple[str, ...]


def image_file(spec: LaunchSpec, suffix: str) -> str:
    """Name the file of the image, another one for another digest."""
    digest = spec.image.partition("@sha256:")[2]
    return f"{spec.name}-{digest[:12]}{suffix}" if digest else f"{spec.name}{suffix}"


def untagged(image: str) -> str:
    """Name a pinned image by its digest alone: a tag beside it says nothing more, and not every program takes both."""
    name, at, digest = image.partition("@")
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}{at}{digest}"


def render(spec: LaunchSpec, deltas: tuple[Delta, ...], runtime: Runtime, step: Step) -> str:
    """Write the batch script.

    Raises:
        InputError: The script cannot carry the launch word for word.
    """
    require_carriable(spec)
    _require_site(spec)
    commands = apply_deltas(spec, deltas)
    env = commands.leader.env
    refused = sorted(name for name, _ in env if taken_by_bash(name) or runtime.refused.match(name))
    if refused:
        raise NotCarriedError(
            f"{runtime.file} cannot set what bash, Slurm or {runtime.program} sets itself: {', '.join(refused)}",
            hint="Leave it out of the launch's environment.",
        )
    lines = (
        *_check(spec),
        f"get_image {step.image} {shlex.quote(step.reference)}",
        f"find_nodes {spec.nodes.count}",
        "",
        *(f"give {name}={quoted(value)}" for name, value in env),
        f"trap 'stop {spec.budgets.pre_stop_s} {spec.budgets.stop_s}' TERM",
        _started("0", step, commands.leader, _INDENT),
        *_workers(spec, step, commands),
        f"supervise {spec.port} {spec.health_path} {spec.budgets.start_s}",
    )
    opening = "\n".join((_SHEBANG, *_sbatch(spec), header(spec, deltas)))
    return opening + _prelude(runtime, local=isinstance(spec.model, LocalModel)) + "\n".join(lines) + "\n"


def _require_site(spec: LaunchSpec) -> None:
    site = spec.site
    for key, value in (("partition", site.partition), ("nodelist", site.nodes)):
        if value and not re.fullmatch(_OPTIONS[key], value):
            raise InputError(f"not a Slurm {key}: {value!r}", hint="Give it as sbatch takes it, without spaces.")
    if isinstance(spec.model, HubModel) and not _HOST_PATH.fullmatch(site.cache):
        raise InputError(
            f"the cache of the site cannot be mounted: {site.cache!r}",
            hint="Give an absolute path of letters, digits and _ . / + @ -.",
        )
    if spec.budgets.stop_s + _STOP_SLACK_S > _LAST_LEAD_S:
        raise NotCarriedError(
            f"Slurm cannot announce the end of a job {spec.budgets.stop_s} s ahead",
            hint=f"Give the stop at most {_LAST_LEAD_S - _STOP_SLACK_S} s.",
        )


def _sbatch(spec: LaunchSpec) -> tuple[str, ...]:
    options = {
        "job-name": spec.name,
        "nodes": str(spec.nodes.count),
        "ntasks-per-node": "1",
        "gpus-per-node": str(spec.accelerators or ""),
        "mem": f"{-(-spec.memory_bytes // _MIB)}M",
        "signal": f"B:TERM@{spec.budgets.stop_s + _STOP_SLACK_S}",
        "partition": spec.site.partition,
        "nodelist": spec.site.nodes,
    }
    return (
        *(f"{_OPTION}{key}={value}" for key, value in options.items() if value),
        f"{_OPTION}exclusive",
    )


def _prelude(runtime: Runtime, *, local: bool) -> str:
    image = _GET_IMAGE % {
        "build": runtime.build,
        "fetch": runtime.fetch,
        "program": runtime.program,
        "give": runtime.give,
    }
    return (
        _OPENING.format(file=runtime.file, prepare=runtime.prepare)
        + (_CHECK_WEIGHTS if local else "")
        + image
        + _SUPERVISE
    )


def _check(spec: LaunchSpec) -> tuple[str, ...]:
    match spec.model:
        case LocalModel():
            return (check_line(spec),)
        case HubModel():
            return ()


def _started(rank: str, step: Step, command: Command, indent: str) -> str:
    options, words = (f"{_START}{rank}", *step.options), joined(command.argv, FORMS)
    return f"{by_flag(options, indent)} \\\n{indent}{by_flag(words, indent)}"


def _workers(spec: LaunchSpec, step: Step, commands: Commands) -> tuple[str, ...]:
    if commands.worker is None:
        return ()
    start = _started(FORMS[Placeholder.NODE_RANK], step, commands.worker, _WORKER_INDENT)
    return (_LOOP.format(count=spec.nodes.count), f"{_INDENT}{start}", "done")


def parse(text: str, runtime: Runtime) -> Commands:
    """Read a batch script back.

    Raises:
        InputError: The text is not a script of this runtime.
    """
    for local in (True, False):
        opening, prelude, body = text.partition(_prelude(runtime, local=local))
        if prelude:
            return _commands(body, runtime, local=local, nodes=_nodes(opening))
    raise InputError(
        f"the functions at the top of {runtime.file} are not the ones that are rendered", hint="Render the file again."
    )


def _nodes(opening: str) -> int:
    shebang, *lines, last = opening.split("\n")
    if shebang != _SHEBANG or last or not all(line.startswith("#") for line in lines):
        raise InputError("a command stands before the functions of the script", hint="Render the file again.")
    options = [line.removeprefix(_OPTION).partition("=") for line in lines if line.startswith("#SBATCH")]
    values = {key: value for key, _, value in options}
    if len(values) != len(options) or not set(_OPTIONS) - _OPTIONAL <= set(values):
        raise InputError("the script does not ask for each thing once", hint="Render the file again.")
    for key, value in values.items():
        if not re.fullmatch(_OPTIONS.get(key, r"(?!)"), value):
            raise InputError(f"an option that no rendered file has: {key}={value}", hint="Render the file again.")
    return int(values["nodes"])


def _commands(body: str, runtime: Runtime, *, local: bool, nodes: int) -> Commands:
    joined_lines = on_one_line(on_one_line(body, _WORKER_INDENT), _INDENT)
    check, lines = joined_lines.split("\n")[:local], joined_lines.split("\n")[local:]
    loop = (_LOOP.format(count=nodes), "done") if nodes > 1 else ()
    for line in check:
        require_check_line(line)
    match lines:
        case [image, count, "", *given, trap, leader, supervise, ""] if nodes == 1:
            worker = ""
        case [image, count, "", *given, trap, leader, opening, worker, closing, supervise, ""] if (
            opening,
            closing,
        ) == loop and worker.startswith(_INDENT):
            pass
        case _:
            raise InputError(f"{runtime.file} has another order of commands", hint="Render the file again.")
    file = _require_frame((image, count, trap, supervise), nodes=nodes, suffix=runtime.suffix)
    env = tuple(variable(line, "give") for line in given)
    return Commands(
        leader=_command(leader, "0", runtime, file, env),
        worker=_command(worker.removeprefix(_INDENT), FORMS[Placeholder.NODE_RANK], runtime, file, env)
        if worker
        else None,
        checked=local,
    )


def _require_frame(frame: tuple[str, str, str, str], *, nodes: int, suffix: str) -> str:
    image, count, trap, supervise = frame
    made = re.fullmatch(rf"get_image ([a-z][a-z0-9-]*{re.escape(suffix)}) (''|'?docker://[a-z0-9._:/@#-]+'?)", image)
    lines = (
        (made is not None, image),
        (count == f"find_nodes {nodes}", count),
        (re.fullmatch(r"trap 'stop [0-9]+ [1-9][0-9]*' TERM", trap), trap),
        (re.fullmatch(r"supervise [0-9]+ /[A-Za-z0-9._~/-]* [1-9][0-9]*", supervise), supervise),
    )
    for well, line in lines:
        if not well:
            raise InputError(f"not a line of a rendered script: {line!r}", hint="Render the file again.")
    return made[1] if made else ""


def _command(line: str, rank: str, runtime: Runtime, image: str, env: tuple[tuple[str, str], ...]) -> Command:
    start = f"{_START}{rank} "
    options = runtime.options.match(line.removeprefix(start)) if line.startswith(start) else None
    if options is None or options["image"] != image:
        raise InputError(f"not a start of the engine: {line!r}", hint="Render the file again.")
    if env and options.groupdict().get("listed", "") is None:
        raise InputError("the image's own values would win over the launch's", hint="Render the file again.")
    return Command(argv=split(line.removeprefix(start)[options.end() :], FORMS), env=env)
