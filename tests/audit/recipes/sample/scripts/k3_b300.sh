#!/usr/bin/env bash
# Serves the model on one node.
set -euo pipefail
MODEL=moonshotai/Kimi-K3
export VLLM_ENGINE_READY_TIMEOUT_S=3600
pip install "vllm==0.27.0"
ARGS=(
  --tensor-parallel-size 8
  --trust-remote-code
)
vllm serve "$MODEL" --port "${PORT:-8000}" \
  --max-model-len "$MAX_LEN" \
  "${ARGS[@]}" > server.log 2>&1 &
