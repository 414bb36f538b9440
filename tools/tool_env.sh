#!/usr/bin/env bash
# Install a tool that dayzero starts as a program, or asks in a test, into an environment of its own. Safe to call again: a finished
# environment is left as it is.
#
#   tools/tool_env.sh skypilot|lm-eval|aiconfigurator VENV_DIR
#
# $PYTHON names the Python 3.11 to build on (default: python3.11). Packages come from wherever pip is set up to find them, each
# held to a hash in requirements/TOOL.txt. No cloud and no hub is asked. A module is compiled when it is first imported.
set -euo pipefail

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 2
}

[[ $# -eq 2 && $2 != -* ]] || fail "tools/tool_env.sh takes a tool and a folder" "Call it as: tools/tool_env.sh TOOL VENV_DIR"
tool=$1 venv=$2
case $tool in
    skypilot) module=sky ;;
    lm-eval) module=lm_eval ;;
    aiconfigurator) module=aiconfigurator_core ;;
    *) fail "no tool is called $tool" "Call it with skypilot, lm-eval or aiconfigurator." ;;
esac
python=${PYTHON:-python3.11}
requirements=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../requirements/$tool.txt
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null ||
    fail "$python is not a Python 3.11" "Set PYTHON to a Python 3.11, for which the packages are pinned."

stamp=$venv/.dayzero-$tool
want=$(cat "$requirements" "${BASH_SOURCE[0]}" | sha256sum | cut -d' ' -f1)
if [[ -f $stamp && $(<"$stamp") == "$want" ]]; then
    echo "$venv is up to date" >&2
    exit 0
fi
rm -f "$stamp" # what is half installed does not pass for finished
echo "installing $(grep -o "^$tool==[^ ]*" "$requirements") into $venv" >&2
"$python" -m venv "$venv"
"$venv/bin/python" -m pip --disable-pip-version-check -qq install --no-compile --no-deps --require-hashes -r "$requirements"
"$venv/bin/python" -c "import $module"
printf '%s\n' "$want" >"$stamp"
echo "$venv is ready" >&2
