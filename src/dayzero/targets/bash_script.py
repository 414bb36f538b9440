"""What every bash script of a target starts with: strict settings, the folder of the kit, and the check of the weights."""

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec
from dayzero.targets.interface import Validator
from dayzero.targets.shell_words import line, split

VALIDATORS = (Validator(command=("bash", "-n")), Validator(command=("shellcheck", "--norc")))

# Variables are local to functions, so that none of them reaches the engine where the caller had exported its name.
SETTINGS = """\
# shellcheck disable=SC1003,SC2016,SC2088  # no word of the launch is meant to be expanded
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

"""
CHECK_WEIGHTS = """\
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

"""
_CHECK = "check_weights "


def check_line(spec: LaunchSpec) -> str:
    """Write the line that checks the weights: each file of them by its path, so that a missing one is named."""
    return _CHECK + line([file.path for file in spec.model.files])


def require_check_line(text: str) -> None:
    """Refuse a line that does not check the weights.

    Raises:
        InputError: It is not one of :func:`check_line`.
    """
    if not text.startswith(_CHECK):
        raise InputError(f"not a check of the weights: {text!r}", hint="Render the file again.")
    split(text.removeprefix(_CHECK), {})
