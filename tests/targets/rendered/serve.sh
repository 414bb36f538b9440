#!/usr/bin/env bash
# Written by dayzero from one launch and parsed back equal to it. It belongs in the unpacked kit, beside package.toml and
# requirements.lock, model.sha256 and model/. Exit codes before the engine starts: 3 weights are missing, 4 a digest differs.
# shellcheck disable=SC1003,SC2016,SC2088  # no word of the launch is meant to be expanded
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

check_weights() {
  local file
  for file in "$@"; do
    if [ ! -f "model/$file" ]; then
      printf 'error: the weights are not here: model/%s\nhint: dayzero weights package.toml -o model\n' "$file" >&2
      exit 3
    fi
  done
  if ! sha256sum --check --quiet --strict model.sha256 >&2; then
    printf 'error: the weights are not the pinned bytes\nhint: remove them, then: dayzero weights package.toml -o model\n' >&2
    exit 4
  fi
}

make_environment() {
  local lock
  lock="$(sha256sum < requirements.lock)"
  if [ -f .venv/requirements.sha256 ] && [ "$(cat .venv/requirements.sha256)" = "$lock" ]; then
    return
  fi
  rm -rf .venv
  python3 -m venv .venv
  .venv/bin/python3 -m pip install --disable-pip-version-check --require-hashes --no-deps -r requirements.lock >&2
  printf '%s\n' "$lock" > .venv/requirements.sha256
}

check_weights tiny.gguf 'more/second half.gguf'
make_environment

export OMP_NUM_THREADS=2
export ENGINE_LOG=info
export PATH="$PWD/.venv/bin:$PATH"
exec python3 serve.py \
  --model model/tiny.gguf \
  --host 127.0.0.1 \
  --port 8080 \
  --ctx-size 2048 \
  --no-warmup
