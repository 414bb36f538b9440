"""Shell: ``serve.sh``, which makes its own environment from the hash-locked wheels, checks the weights and becomes the engine.

Escape rules: every word as ``shlex.quote`` writes it, so that bash expands nothing; never ``eval``.
"""

import shlex
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Delta, LaunchSpec
from dayzero.targets.interface import Validator
from dayzero.targets.precondition import require_carriable

# Variables are local to functions, so that none of them reaches the engine where the caller had exported its name.
_PRELUDE = """\
#!/usr/bin/env bash
# Written by dayzero from one launch and parsed back equal to it. It belongs in the unpacked kit, beside package.toml,
# requirements.lock, model.sha256 and model/. Exit codes before the engine starts: 3 weights are missing, 4 a digest differs.
# shellcheck disable=SC1003,SC2016,SC2088  # no word of the launch is meant to be expanded
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

check_weights() {
  local file
  for file in "$@"; do
    if [ ! -f "model/$file" ]; then
      printf 'error: the weights are not here: model/%s\\nhint: dayzero weights package.toml -o model\\n' "$file" >&2
      exit 3
    fi
  done
  if ! sha256sum --check --quiet --strict model.sha256 >&2; then
    printf 'error: the weights are not the pinned bytes\\nhint: remove them, then: dayzero weights package.toml -o model\\n' >&2
    exit 4
  fi
}

make_environment() {
  local lock
  lock="$(sha256sum < requirements.lock)"
  if [ -f .venv/requirements.sha256 ] && [ "$(cat .venv/requirements.sha256)" = "$lock" ]; then
    return
  fi
  rm -rf .venv
  python3 -m venv .venv
  .venv/bin/python3 -m pip install --disable-pip-version-check --require-hashes --no-deps -r requirements.lock >&2
  printf '%s\\n' "$lock" > .venv/requirements.sha256
}

"""
_MAKE_ENVIRONMENT = "make_environment"
_PATH = 'export PATH="$PWD/.venv/bin:$PATH"'
_CHECK = "check_weights "
_EXPORT = "export "
_EXEC = "exec "
# bash sets, counts or refuses these itself; PATH starts with the environment's own programs.
_TAKEN_BY_BASH = frozenset(
    {
        "PATH",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
        "UID",
        "EUID",
        "PPID",
        "GROUPS",
        "SHELLOPTS",
        "DIRSTACK",
        "FUNCNAME",
        "HISTCMD",
    }
    | {
        "LINENO",
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "EPOCHSECONDS",
        "EPOCHREALTIME",
        "PIPESTATUS",
        "OPTIND",
        "OPTERR",
        "OPTARG",
    }
    | {"POSIXLY_CORRECT"}
)


@dataclass(frozen=True, slots=True)
class Shell:
    """The shell target: a bash script that needs ``python3`` and ``sha256sum``."""

    name: str = "shell"
    validators: tuple[Validator, ...] = (
        Validator(command=("bash", "-n")),
        Validator(command=("shellcheck", "--norc")),
    )

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return "serve.sh"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:  # noqa: ARG002  (no launch needs one)
        """Give nothing: the kit's own files suffice."""
        return ()

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:  # noqa: ARG002  (no launch has one)
        """Declare nothing: the script runs the launch as it is."""
        return ()

    def render(self, spec: LaunchSpec) -> str:
        """Write ``serve.sh``.

        Raises:
            InputError: The script cannot carry the launch word for word.
        """
        require_carriable(spec)
        taken = sorted(name for name, _ in spec.env if name in _TAKEN_BY_BASH or name.startswith(("BASH", "COMP_")))
        if taken:
            raise InputError(
                f"serve.sh cannot set what bash or its own environment sets: {', '.join(taken)}",
                hint="Leave it out of the launch's environment.",
            )
        lines = (
            _CHECK + shlex.join([file.path for file in spec.model_files]),
            _MAKE_ENVIRONMENT,
            "",
            *(f"{_EXPORT}{name}={shlex.quote(value)}" for name, value in spec.env),
            _PATH,
            f"{_EXEC}{_by_flag(spec.argv)}",
        )
        return _PRELUDE + "\n".join(lines) + "\n"

    def parse(self, text: str) -> Command:
        """Read ``serve.sh`` back.

        Raises:
            InputError: The text is not a script of this target.
        """
        if not text.startswith(_PRELUDE):
            raise InputError(
                "the checks at the top of serve.sh are not the ones that are rendered", hint="Render the file again."
            )
        match text.removeprefix(_PRELUDE).replace(" \\\n  ", " ").split("\n"):
            case [check, "make_environment", "", *exports, path, command, ""] if (
                check.startswith(_CHECK) and path == _PATH and command.startswith(_EXEC)
            ):
                _words(check.removeprefix(_CHECK))
                return Command(argv=_words(command.removeprefix(_EXEC)), env=tuple(map(_variable, exports)))
            case _:
                raise InputError(
                    "serve.sh does not check, make, export and execute once, in this order", hint="Render it again."
                )


TARGET = Shell()


def _by_flag(argv: tuple[str, ...]) -> str:
    words = [shlex.quote(word) for word in argv]
    return " ".join(f"\\\n  {word}" if word.startswith("-") else word for word in words)


def _words(text: str) -> tuple[str, ...]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"not shell words: {text!r}: {error}", hint="Render the file again.") from error
    # What bash would expand reads the same as what it would not; only one way of quoting is let through.
    if shlex.join(words) != text:
        raise InputError(f"not quoted so that bash expands nothing: {text!r}", hint="Render the file again.")
    return tuple(words)


def _variable(line: str) -> tuple[str, str]:
    name, equals, quoted = line.removeprefix(_EXPORT).partition("=")
    values = _words(quoted)
    if not line.startswith(_EXPORT) or not equals or not name.isidentifier() or len(values) != 1:
        raise InputError(f"not an export of one variable: {line!r}", hint="Render the file again.")
    return name, values[0]
