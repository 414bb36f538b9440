from dayzero.adapters.file_digest import digest_of


def test_a_digest_is_that_of_sha256sum(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")
    assert digest_of(tmp_path / "f").hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
