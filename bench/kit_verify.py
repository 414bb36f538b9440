"""What checking a kit and its weights costs, beside the field's tools, in one run and one table.

    python -m bench.kit_verify [PART ...]      parts: weights quick kit resume; default: all of them

Goals: full check at most 1.05 times the processor time of plain hashlib, 0.90 times model_signing, 48 MiB; quick check of
96 shards of 1,000 tensors in 0.3 s; a kit of 2.4 MB and 120 files in 0.10 s as a whole process; after kill -9 a second run
hashes only what was not finished. Makes 4 GB of random bytes in a temporary folder and deletes them. Warm cache; run it on a
quiet machine. model_signing 1.1.1 lies in an environment of its own, $DAYZERO_PEERS/model-signing (with pyOpenSSL, which it needs
and does not ask for); where it is missing, the table says so.
"""

import base64
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dayzero_verify.canonical_zip import ArchivedFile, build
from dayzero_verify.dsse import PAYLOAD_TYPE, pae
from dayzero_verify.keys import PublicKey
from dayzero_verify.statement import KIT_TYPE, STATEMENT_TYPE

RUNS = 3
SHARDS, SHARD_BYTES = 8, 500_000_000
QUICK_SHARDS, QUICK_TENSORS = 96, 1000
KIT_FILES, KIT_BYTES = 120, 2_400_000
_CHUNK = 1 << 20
_HASHLIB = """
import hashlib, sys, threading, queue
def work(todo):
    buffer = memoryview(bytearray(1 << 20))
    while True:
        try: path = todo.get_nowait()
        except queue.Empty: return
        state = hashlib.sha256()
        with open(path, "rb", buffering=0) as file:
            while count := file.readinto(buffer): state.update(buffer[:count])
        print(state.hexdigest())
todo = queue.SimpleQueue()
for path in sys.argv[1:]: todo.put(path)
threads = [threading.Thread(target=work, args=(todo,)) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a command cost: processor and wall seconds, and the most memory, in MiB."""

    cpu_s: float
    wall_s: float
    peak_mib: float


def cost(command: Sequence[str], *, ends_with: int = 0) -> Cost:
    """Run a command to its end."""
    began = time.perf_counter()
    with subprocess.Popen(list(command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:  # noqa: S603
        errors = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != ends_with:
        raise SystemExit(f"{command[:4]} ended with {process.returncode}: {errors[-2000:].decode(errors='replace')}")
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - began, usage.ru_maxrss / 1024)


def medians(commands: dict[str, Sequence[str]], runs: int = RUNS) -> dict[str, Cost]:
    """Run commands in turn, after one round that does not count, and give the median of each."""
    taken: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            one = cost(command)
            if number:
                taken[name].append(one)
    return {
        name: Cost(*(statistics.median(getattr(one, field) for one in ones) for field in Cost.__dataclass_fields__))
        for name, ones in taken.items()
    }


def shard(path: Path, tensors: int, data_bytes: int, name: str, *, random: bool) -> list[str]:
    """Write a safetensors file of tensors of equal size, and give their names."""
    each = data_bytes // tensors // 4
    names = [f"{name}.{number}.self_attn.q_proj.weight" for number in range(tensors)]
    header = {
        tensor: {"dtype": "F32", "shape": [each], "data_offsets": [4 * each * number, 4 * each * (number + 1)]}
        for number, tensor in enumerate(names)
    }
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        left = 4 * each * tensors
        if not random:
            file.truncate(8 + len(text) + left)
        while random and left:
            left -= file.write(os.urandom(min(_CHUNK, left)))
    return names


def model(folder: Path, shards: int, tensors: int, shard_bytes: int, *, random: bool) -> list[dict[str, object]]:
    """Write a model with its index, and give its pins."""
    folder.mkdir()
    weight_map: dict[str, str] = {}
    for number in range(1, shards + 1):
        name = f"model-{number:05}-of-{shards:05}.safetensors"
        weight_map |= dict.fromkeys(shard(folder / name, tensors, shard_bytes, f"layers.{number}", random=random), name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return [pin(path) for path in sorted(folder.iterdir())]


def pin(path: Path) -> dict[str, object]:
    """Pin a file."""
    members: dict[str, object] = {"path": path.name, "size": path.stat().st_size}
    with path.open("rb") as file:
        if path.suffix == ".safetensors":
            prefix = file.read(8)
            members["headerSha256"] = sha256(prefix + file.read(int.from_bytes(prefix, "little"))).hexdigest()
            file.seek(0)
        state = sha256()
        while piece := file.read(_CHUNK):
            state.update(piece)
    return {**members, "sha256": state.hexdigest()}


def kit(folder: Path, pins: list[dict[str, object]]) -> list[str]:
    """Write a signed kit that pins a model, and give the words that verify it."""
    each = KIT_BYTES // KIT_FILES
    contents = {f"docs/{number:03}.txt": os.urandom(each) for number in range(KIT_FILES - 2)}
    contents["evidence/ledger.jsonl"] = b'{"seq":0}\n'
    files = [ArchivedFile(path, content, False) for path, content in contents.items()]  # noqa: FBT003
    listed = [
        {"path": f.path, "size": len(f.content), "sha256": sha256(f.content).hexdigest(), "mode": f.mode} for f in files
    ]
    manifest = ArchivedFile("manifest.json", json.dumps({"files": listed}).encode(), False)  # noqa: FBT003
    listed.append(
        {
            "path": manifest.path,
            "size": len(manifest.content),
            "sha256": sha256(manifest.content).hexdigest(),
            "mode": manifest.mode,
        }
    )
    archive = build([*files, manifest])
    predicate = {
        "kit": {"name": "bench", "version": "1.0.0"},
        "ledger": {"sha256": sha256(contents["evidence/ledger.jsonl"]).hexdigest()},
        "files": listed,
        "receipts": [],
        "weightBytes": 0,
        "signer": {"kind": "release"},
        "model": {"files": pins},
    }
    subject = [{"name": "bench-1.0.0.kit.zip", "digest": {"sha256": sha256(archive).hexdigest()}}]
    statement = {"_type": STATEMENT_TYPE, "subject": subject, "predicateType": KIT_TYPE, "predicate": predicate}
    payload, key = json.dumps(statement).encode(), Ed25519PrivateKey.generate()
    public = key.public_key()
    signature = {
        "keyid": PublicKey(public.public_bytes_raw()).keyid,
        "sig": base64.b64encode(key.sign(pae(payload))).decode(),
    }
    envelope = {"payload": base64.b64encode(payload).decode(), "payloadType": PAYLOAD_TYPE, "signatures": [signature]}
    (folder / "bench-1.0.0.kit.zip").write_bytes(archive)
    (folder / "bench-1.0.0.kit.intoto.jsonl").write_text(json.dumps(envelope) + "\n")
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / "key.pub.pem").write_bytes(pem)
    source = str(Path(sys.modules["dayzero_verify"].__file__ or "").parents[1])
    program = f"import sys; sys.path.insert(0, {source!r}); from dayzero_verify.cli import main; main()"
    words = [sys.executable, "-I", "-S", "-c", program, str(folder / "bench-1.0.0.kit.zip")]
    return [*words, "--key", str(folder / "key.pub.pem")]


def signed_by_peer(folder: Path, work: Path) -> list[str] | None:
    """Sign a folder with model_signing, and give the words that verify it, ``None`` where it is not installed."""
    program = Path(os.environ.get("DAYZERO_PEERS", "peers")) / "model-signing" / "bin" / "model_signing"
    if not program.exists():
        return None
    key = generate_private_key(SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (work / "ec.pem").write_bytes(private)
    (work / "ec.pub.pem").write_bytes(public)
    signature = ["--signature", str(work / "model.sig")]
    cost([str(program), "sign", "key", str(folder), "--private_key", str(work / "ec.pem"), *signature])
    return [str(program), "verify", "key", str(folder), *signature, "--public_key", str(work / "ec.pub.pem")]


def weights(work: Path) -> None:
    """Print the table of the full check."""
    folder = work / "large"
    words = kit(work, model(folder, SHARDS, 100, SHARD_BYTES, random=True))
    shards = [str(path) for path in sorted(folder.glob("*.safetensors"))]
    commands: dict[str, Sequence[str]] = {
        "hashlib, 2 threads": [sys.executable, "-I", "-S", "-c", _HASHLIB, *shards],
        "sha256sum": ["sha256sum", *shards],
        "openssl dgst -sha256": ["openssl", "dgst", "-sha256", *shards],
        "dayzero-verify full": [*words, "--weights", "full", "--model", str(folder)],
    }
    peer = signed_by_peer(folder, work)
    if peer:
        commands["model_signing 1.1.1"] = peer
    found = medians(commands)
    plain, size = found["hashlib, 2 threads"], SHARDS * SHARD_BYTES / 1e9
    print(f"full check of {size:.1f} GB in {SHARDS} files, warm, median of {RUNS} in turn")
    print(f"{'':<22} {'CPU s':>7} {'GB/s/core':>10} {'wall s':>7} {'MiB':>6} {'CPU/hashlib':>12}")
    for name, one in found.items():
        ratio = one.cpu_s / plain.cpu_s
        print(
            f"{name:<22} {one.cpu_s:7.2f} {size / one.cpu_s:10.2f} {one.wall_s:7.2f} {one.peak_mib:6.0f} {ratio:12.2f}"
        )
    ours = found["dayzero-verify full"]
    verdict("CPU against plain hashlib", ours.cpu_s / plain.cpu_s, 1.05)
    verdict("peak MiB", ours.peak_mib, 48)
    if peer:
        verdict("CPU against model_signing", ours.cpu_s / found["model_signing 1.1.1"].cpu_s, 0.90)
        verdict("wall against model_signing", ours.wall_s / found["model_signing 1.1.1"].wall_s, 0.90)
    else:
        print("model_signing is not installed here: nothing is said about it")


def quick(work: Path) -> None:
    """Print what the quick check costs."""
    folder = work / "many"
    words = kit(work, model(folder, QUICK_SHARDS, QUICK_TENSORS, 4096 * QUICK_TENSORS, random=False))
    found = medians({"kit": words, "quick": [*words, "--weights", "quick", "--model", str(folder)]}, runs=9)
    one = found["quick"]
    print(f"quick check of {QUICK_SHARDS} shards of {QUICK_TENSORS} tensors, the kit's own check included: "
          f"{one.cpu_s:.3f} CPU s, {one.wall_s:.3f} s, {one.peak_mib:.0f} MiB")  # fmt: skip
    verdict("quick check alone, wall s", one.wall_s - found["kit"].wall_s, 0.3)


def whole_kit(work: Path) -> None:
    """Print what a kit costs."""
    words = kit(work, [])
    one = medians({"kit": words}, runs=15)["kit"]
    size = (work / "bench-1.0.0.kit.zip").stat().st_size / 1e6
    print(
        f"kit of {size:.1f} MB in {KIT_FILES} files: {one.cpu_s:.3f} CPU s, {one.wall_s:.3f} s, {one.peak_mib:.0f} MiB"
    )
    verdict("whole process, wall s", one.wall_s, 0.10)


def resume(work: Path) -> None:
    """Print what a second run costs after kill -9."""
    folder, known = work / "killed", work / "known.jsonl"
    words = kit(work, model(folder, SHARDS, 100, SHARD_BYTES // 4, random=True))
    words += ["--weights", "full", "--model", str(folder), "--resume", str(known), "--threads", "1"]
    whole = cost(words)
    known.unlink()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:  # noqa: S603
        for line in process.stderr or ():
            if known.exists() and len(known.read_bytes().splitlines()) >= SHARDS // 2:
                break
            del line
        process.send_signal(signal.SIGKILL)
    finished = len(known.read_bytes().splitlines())
    rest, again = cost(words), cost(words)
    print(f"kill -9 after {finished} of {SHARDS} files of {SHARD_BYTES / 4e6:.0f} MB: whole {whole.cpu_s:.2f} CPU s, "
          f"the rest {rest.cpu_s:.2f}, a third run {again.cpu_s:.2f}")  # fmt: skip
    verdict("the rest against its share", rest.cpu_s / (whole.cpu_s * (SHARDS - finished) / SHARDS + again.cpu_s), 1.2)


def verdict(what: str, value: float, goal: float) -> None:
    """Print whether a goal was kept."""
    print(f"  {what}: {value:.3f}, goal at most {goal}: {'kept' if value <= goal else 'MISSED'}")


PARTS = {"weights": weights, "quick": quick, "kit": whole_kit, "resume": resume}


def main() -> None:
    """Run the named parts, each in a folder of its own that is deleted afterwards."""
    for name in sys.argv[1:] or PARTS:
        work = Path(tempfile.mkdtemp(prefix="dayzero-bench-"))
        try:
            PARTS[name](work)
        finally:
            shutil.rmtree(work)


if __name__ == "__main__":
    main()
