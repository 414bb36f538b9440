# Sourced by the scripts that install peers: `source peer_env.sh NAME [FOLDER]` gives $peers, the folder of their environments
# (default: NAME in dayzero's cache folder), and `install`. $PYTHON names the Python 3.11 (default: python3.11).
cache=${DAYZERO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/dayzero}
peers=${2:-$cache/$1}
python=${PYTHON:-python3.11}
mkdir -p "$peers"

install() { # install NAME REQUIREMENT...: into an environment of its own, once
    local name=$1
    shift
    [[ -f $peers/$name/.ready ]] && return 0
    echo "installing $* into $peers/$name" >&2
    "$python" -m venv "$peers/$name"
    "$peers/$name/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    touch "$peers/$name/.ready"
}
