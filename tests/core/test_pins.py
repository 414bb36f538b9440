import pytest

from dayzero.core.errors import InputError
from dayzero.core.pins import Commit, FilePin, Sha256
from dayzero.core.quantities import Bytes

DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "text", ["", DIGEST[:-1], DIGEST + "0", DIGEST.upper(), DIGEST[:-1] + "g", f" {DIGEST}", f"{DIGEST}\n"]
)
def test_a_digest_is_64_lower_case_hexadecimal_digits_and_nothing_else(text):
    with pytest.raises(InputError, match="not a SHA-256 digest"):
        Sha256(text)


@pytest.mark.parametrize("text", ["main", "v1.0", "0123456", DIGEST])
def test_a_branch_a_tag_or_a_short_hash_is_no_commit(text):
    with pytest.raises(InputError, match="not a full commit"):
        Commit(text)


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../b"])
def test_a_pinned_file_stays_inside_the_model(path):
    with pytest.raises(InputError, match="not a relative path"):
        FilePin(path=path, sha256=Sha256(DIGEST), size=Bytes(1))
