#!/bin/sh
docker run --rm --gpus all -e VLLM_LOGGING_LEVEL=INFO -p 8000:8000 vllm/vllm-openai:v0.27.0 \
  moonshotai/Kimi-K3 --tensor-parallel-size 8
