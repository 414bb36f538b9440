#!/usr/bin/env bash
# Written by dayzero from one launch and parsed back equal to it. It belongs in the unpacked kit and needs Docker's client 23 or
# newer. Exit codes before the engine starts: 3 weights or their folder are missing, 4 a digest differs.
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

make_image() {
  docker build --tag "$1" --file Dockerfile . >&2
}

check_weights tiny.gguf 'more/second half.gguf'
make_image localhost/demo:built-from-this-kit

# Declared difference: --host 0.0.0.0 (inside a container the loopback address is the container's own; the port published on the host's 127.0.0.1 could not reach the engine).
exec docker run --rm --init \
  --name demo \
  --pull never \
  --user 10001:10001 \
  --workdir /srv/dayzero \
  --cap-drop ALL \
  --security-opt no-new-privileges \
  --memory 536870912b \
  --mount type=bind,source=./model,target=/srv/dayzero/model,readonly \
  --publish 127.0.0.1:8080:8080 \
  --stop-signal SIGTERM \
  --stop-timeout 30 \
  --health-cmd 'python3 -c "import sys, urllib.request as u; u.build_opener(u.ProxyHandler({})).open(sys.argv[1], timeout=5)" http://127.0.0.1:8080/health' \
  --health-interval 10s \
  --health-timeout 10s \
  --health-retries 3 \
  --health-start-period 95s \
  --env OMP_NUM_THREADS=2 \
  --env ENGINE_LOG=info \
  --entrypoint python3 \
  localhost/demo:built-from-this-kit serve.py \
  --model model/tiny.gguf \
  --host 0.0.0.0 \
  --port 8080 \
  --ctx-size 2048 \
  --no-warmup
