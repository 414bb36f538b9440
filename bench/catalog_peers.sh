#!/usr/bin/env bash
# Install the site generators that bench/catalog.py holds beside dayzero, each in an environment of its own, in pinned versions.
#
#   bench/catalog_peers.sh [FOLDER]        (default: catalog-peers in dayzero's cache folder)
#
# Safe to call again: what is there stays. $PYTHON names the Python 3.11 (default: python3.11).
set -euo pipefail

cache=${DAYZERO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/dayzero}
peers=${1:-$cache/catalog-peers}
python=${PYTHON:-python3.11}
mkdir -p "$peers"

install() { # install NAME REQUIREMENT...
    local name=$1
    shift
    [[ -f $peers/$name/.ready ]] && return 0
    echo "installing $* into $peers/$name" >&2
    "$python" -m venv "$peers/$name"
    "$peers/$name/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    touch "$peers/$name/.ready"
}

install mkdocs 'mkdocs==1.6.1'
install pelican 'pelican[markdown]==4.12.0'
echo "ready in $peers; run: python -m bench.catalog" >&2
