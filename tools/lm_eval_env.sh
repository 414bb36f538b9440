#!/usr/bin/env bash
# Install lm-eval, which `dayzero gate task` runs. Safe to call again: a finished environment is left as it is.
#
#   tools/lm_eval_env.sh VENV_DIR
#
# $PYTHON names the Python 3.11 to build on (default: python3.11). Packages come from wherever pip is set up to find them, each
# held to a hash in requirements/lm-eval.txt. It lies beside dayzero, which starts it as a program and imports nothing of it.
set -euo pipefail

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 2
}

[[ $# -eq 1 && $1 != -* ]] || fail "tools/lm_eval_env.sh takes one folder" "Call it as: tools/lm_eval_env.sh VENV_DIR"
venv=$1
python=${PYTHON:-python3.11}
requirements=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../requirements/lm-eval.txt
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null ||
    fail "$python is not a Python 3.11" "Set PYTHON to a Python 3.11, for which the packages are pinned."

stamp=$venv/.dayzero-lm-eval
want=$(cat "$requirements" "${BASH_SOURCE[0]}" | sha256sum | cut -d' ' -f1)
if [[ -f $stamp && $(<"$stamp") == "$want" ]]; then
    echo "$venv is up to date" >&2
    exit 0
fi
rm -f "$stamp" # what is half installed does not pass for finished
echo "installing $(grep -o '^lm-eval==[^ ]*' "$requirements") into $venv (about 0.8 GB on disk)" >&2
"$python" -m venv "$venv"
"$venv/bin/python" -m pip --disable-pip-version-check -qq install --no-deps --require-hashes -r "$requirements"
"$venv/bin/python" -c 'import lm_eval'
printf '%s\n' "$want" >"$stamp"
echo "$venv is ready; run: DAYZERO_LM_EVAL_ENV=$venv pytest -m lm_eval" >&2
