#!/usr/bin/env bash
# Install the site generators that bench/catalog.py holds beside dayzero, each in an environment of its own, in pinned versions.
#
#   bench/catalog_peers.sh [FOLDER]        (default: catalog-peers in dayzero's cache folder)
#
# Safe to call again: what is there stays. $PYTHON names the Python 3.11 (default: python3.11).
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/peer_env.sh" catalog-peers "$@"

install mkdocs 'mkdocs==1.6.1'
install pelican 'pelican[markdown]==4.12.0'
echo "ready in $peers; run: python -m bench.catalog" >&2
