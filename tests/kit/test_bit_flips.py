"""No bit of a kit or of its attestation can change without the verifier noticing: 500 at random; bench/kit_flips.py does more."""

import random

from bench.kit_flips import flips
from verifier.tests.kits import make

from dayzero_verify.kit import examine
from dayzero_verify.report import ExitCode

CASES = 500
MADE = make()


def test_no_kit_with_one_changed_bit_verifies():
    seed = random.SystemRandom().getrandbits(64)
    print(f"seed {seed}")  # noqa: T201  (pytest shows it when the test fails)
    attestation = MADE.attestation()
    assert MADE.examine().report.exit_code is ExitCode.VERIFIED
    answers = {
        place: examine(archive, changed, MADE.trusted).report.exit_code
        for place, archive, changed in flips(MADE.archive, attestation, CASES, seed)
    }
    assert [place for place, code in answers.items() if code is ExitCode.VERIFIED] == [], f"seed {seed}"
    assert ExitCode.INTERNAL not in answers.values()
