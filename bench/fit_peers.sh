#!/usr/bin/env bash
# Install the tools that bench/fit_peers.py holds beside dayzero, each in an environment of its own, in pinned versions.
#
#   bench/fit_peers.sh [FOLDER]        (default: fit-peers in dayzero's cache folder; about 1.5 GB, most of it the CPU build of torch)
#
# Safe to call again: what is there stays. $PYTHON names the Python 3.11 (default: python3.11).
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/peer_env.sh" fit-peers "$@"

install hf-mem 'hf-mem==0.5.6'
install aiconfigurator 'aiconfigurator-core==0.12.0'
install accelerate 'torch==2.13.0+cpu' 'transformers==5.24.0' 'accelerate==1.15.0'
echo "ready in $peers; run: python -m bench.fit_peers CASE... --peers $peers --out FOLDER" >&2
