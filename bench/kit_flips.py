"""Change one random bit of a kit or of its attestation, again and again, and count the verifier's answers.

    python bench/kit_flips.py KIT.zip --key KEY.pub.pem [--cases 20000] [--seed N]

The bits are spread over both files by their size. Ends with 1 if a changed kit verifies, 2 if the kit itself does not. A small kit
takes about five milliseconds a case: no file is read twice.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dayzero_verify.inputs import attestation_path, read_key
from dayzero_verify.kit import examine
from dayzero_verify.report import ExitCode

CASES = 20_000


def flips(archive: bytes, attestation: bytes, cases: int, seed: int) -> Iterator[tuple[int, bytes, bytes]]:
    """Give a kit with one bit changed, as (the bit's place, archive, attestation); the same ones for the same seed.

    Args:
        archive: Of a kit that verifies.
        attestation: Its own.
        cases: How many; a bit may come twice.
        seed: Of the random places.
    """
    places = random.Random(seed)  # noqa: S311  (places, not secrets)
    whole = bytearray(archive + attestation)
    for _ in range(cases):
        place = places.randrange(8 * len(whole))
        whole[place // 8] ^= 1 << place % 8
        yield place, bytes(whole[: len(archive)]), bytes(whole[len(archive) :])
        whole[place // 8] ^= 1 << place % 8


def main() -> int:
    """Run the cases and print how often each exit code was the answer."""
    parser = argparse.ArgumentParser(description="Change one random bit of a kit, again and again.")
    parser.add_argument("kit", type=Path, metavar="KIT.zip")
    parser.add_argument("--key", type=Path, required=True, metavar="KEY.pub.pem")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(64))
    arguments = parser.parse_args()
    archive, attestation = arguments.kit.read_bytes(), attestation_path(arguments.kit).read_bytes()
    trusted = (read_key(arguments.key),)
    if examine(archive, attestation, trusted).report.exit_code is not ExitCode.VERIFIED:
        print("the kit itself does not verify", file=sys.stderr)
        return 2
    print(f"seed {arguments.seed}, {8 * (len(archive) + len(attestation))} bits")
    answers = Counter(
        examine(*changed, trusted).report.exit_code
        for _, *changed in flips(archive, attestation, arguments.cases, arguments.seed)
    )
    for code, count in sorted(answers.items()):
        print(f"{count:>8}  exit {int(code)} {code.name}")
    return 1 if answers[ExitCode.VERIFIED] else 0


if __name__ == "__main__":
    sys.exit(main())
