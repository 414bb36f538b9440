"""A small kit as files, for tests of how kits move."""

from verifier.tests.kits import make

from dayzero.adapters.kit_files import KitFiles

MADE = make()
FILES = KitFiles(
    stem="a-1.0.0", archive=MADE.archive, attestation=MADE.attestation(), proof=b"c2sp.org/tlog-proof@v1\n"
)
OTHER = make({"README.md": b"# another\n", "evidence/ledger.jsonl": b'{"seq":0}\n'})
