#!/usr/bin/env bash
# Pin every dependency with its hashes; no download address is recorded. Usage: tools/pin_requirements.sh .venv/bin
set -euo pipefail
uv="${1:?folder that holds uv}/uv"
compile=("$uv" pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --universal)
"${compile[@]}" --no-emit-package dayzero-verify pyproject.toml requirements/runtime.in -o requirements/runtime.txt
"${compile[@]}" requirements/development.in -o requirements/development.txt
"${compile[@]}" requirements/skypilot.in -o requirements/skypilot.txt
"${compile[@]}" requirements/lm-eval.in -o requirements/lm-eval.txt
"${compile[@]}" requirements/aiconfigurator.in -o requirements/aiconfigurator.txt
