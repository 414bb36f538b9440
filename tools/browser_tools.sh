#!/usr/bin/env bash
# Install axe-core and the Nu HTML Checker, which the tests marked browser put the catalog's pages to. Safe to call again.
#
#   tools/browser_tools.sh FOLDER
#
# What is installed is held to the hashes in tools/browser/package-lock.json; no script of a package is run. The browser itself, and
# the Java that the checker runs on, are the system's (Debian: chromium and default-jre-headless).
set -euo pipefail

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit "${3:-2}"
}

[[ $# -eq 1 && $1 != -* ]] || fail "tools/browser_tools.sh takes one folder" "Call it as: tools/browser_tools.sh FOLDER"
folder=$1
pinned=$(cd "$(dirname "${BASH_SOURCE[0]}")/browser" && pwd)
command -v npm >/dev/null || fail "npm is not installed" "Install Node.js with npm (Debian: nodejs and npm)."

stamp=$folder/.dayzero-browser-tools
if [[ -f $stamp ]] && cmp -s "$stamp" "$pinned/package-lock.json"; then
    echo "$folder is up to date" >&2
    exit 0
fi
mkdir -p "$folder"
rm -f "$stamp" # what is half installed does not pass for finished
cp "$pinned/package.json" "$pinned/package-lock.json" "$folder/"
(cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2) ||
    fail "axe-core and the Nu HTML Checker cannot be installed" "Point npm at a source that has them." 3
for needed in axe-core/axe.min.js vnu-jar/build/dist/vnu.jar; do
    [[ -f $folder/node_modules/$needed ]] || fail "the package lacks $needed" "Pin another release in tools/browser." 3
done
cp "$pinned/package-lock.json" "$stamp"
echo "$folder holds axe-core and the Nu HTML Checker" >&2
