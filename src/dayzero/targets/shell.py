"""Shell: ``serve.sh``, which makes its own environment from the hash-locked wheels, checks the weights and becomes the engine.

Escape rules: every word as :mod:`dayzero.targets.shell_words` writes it, so that bash expands nothing; never ``eval``.
"""

from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Commands, Delta, HubModel, LaunchSpec, apply_deltas
from dayzero.targets.bash_script import CHECK_WEIGHTS, SETTINGS, VALIDATORS, check_line, require_check_line
from dayzero.targets.container import declared, hub_deltas
from dayzero.targets.interface import NotCarriedError, Validator
from dayzero.targets.precondition import require_carriable, require_one_node, require_wheels
from dayzero.targets.shell_words import by_flag, joined, on_one_line, split, taken_by_bash, variable

_OPENING = """\
#!/usr/bin/env bash
# Written by dayzero from one launch and parsed back equal to it. It belongs in the unpacked kit, beside package.toml and
"""
_OF_THE_KIT = """\
# requirements.lock, model.sha256 and model/. Exit codes before the engine starts: 3 weights are missing, 4 a digest differs.
"""
_OF_THE_HUB = """\
# requirements.lock. The engine fetches the weights itself, at the commits that its arguments name.
"""
_MAKE = """\
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
_EXPORT = "export"
_INDENT = "  "
_EXEC = "exec "


@dataclass(frozen=True, slots=True)
class Shell:
    """The shell target: a bash script that needs ``python3`` and ``sha256sum``."""

    name: str = "shell"
    inputs: tuple[str, ...] = ("cache",)
    validators: tuple[Validator, ...] = VALIDATORS

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return "serve.sh"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:  # noqa: ARG002  (no launch needs one)
        """Give nothing: the kit's own files suffice."""
        return ()

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the hub's cache, where the engine fetches its weights; else the script runs the launch as it is."""
        return hub_deltas(spec, spec.site.cache)

    def render(self, spec: LaunchSpec) -> str:
        """Write ``serve.sh``.

        Raises:
            InputError: The script cannot carry the launch word for word.
        """
        require_one_node(spec)
        require_wheels(spec)
        require_carriable(spec)
        deltas = self.deltas(spec)
        command = apply_deltas(spec, deltas).leader
        taken = sorted(name for name, _ in command.env if taken_by_bash(name))
        if taken:
            raise NotCarriedError(
                f"serve.sh cannot set what bash or its own environment sets: {', '.join(taken)}",
                hint="Leave it out of the launch's environment.",
            )
        from_hub = isinstance(spec.model, HubModel)
        lines = (
            *(() if from_hub else (check_line(spec),)),
            _MAKE_ENVIRONMENT,
            "",
            *map(declared, deltas),
            *(f"{_EXPORT} {name}={written}" for name, written in _values(command)),
            _PATH,
            _EXEC + by_flag(joined(command.argv, {}), _INDENT),
        )
        return _prelude(from_hub=from_hub) + "\n".join(lines) + "\n"

    def parse(self, text: str) -> Commands:
        """Read ``serve.sh`` back.

        Raises:
            InputError: The text is not a script of this target.
        """
        from_hub = text.startswith(_OPENING + _OF_THE_HUB)
        prelude = _prelude(from_hub=from_hub)
        if not text.startswith(prelude):
            raise InputError(
                "the checks at the top of serve.sh are not the ones that are rendered", hint="Render the file again."
            )
        lines = on_one_line(text.removeprefix(prelude), _INDENT).split("\n")
        if not from_hub:
            require_check_line(lines.pop(0))
        match lines:
            case ["make_environment", "", *exports, path, command, ""] if path == _PATH and command.startswith(_EXEC):
                exported = (line for line in exports if not line.startswith("#"))
                env = tuple(variable(line, _EXPORT) for line in exported)
                leader = Command(argv=split(command.removeprefix(_EXEC), {}), env=env)
                return Commands(leader=leader, checked=not from_hub)
            case _:
                raise InputError(
                    "serve.sh does not check, make, export and execute once, in this order", hint="Render it again."
                )


TARGET = Shell()


def _prelude(*, from_hub: bool) -> str:
    if from_hub:
        return _OPENING + _OF_THE_HUB + SETTINGS + _MAKE
    return _OPENING + _OF_THE_KIT + SETTINGS + CHECK_WEIGHTS + _MAKE


def _values(command: Command) -> tuple[tuple[str, str], ...]:
    values = joined([value for _, value in command.env], {})
    return tuple((name, written) for (name, _), written in zip(command.env, values, strict=True))
