from pathlib import Path

import pytest

from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.wiring.catalog_terms import terms_of
from dayzero.wiring.definitions import package_folders

GOOD = 'name = "Open"\nmaintenance = "For ever."\ntext = "Take it.\\n"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "terms").mkdir()
    return tmp_path


def test_terms_are_read_with_the_digest_of_their_text(folder: Path):
    (folder / "terms" / "open.toml").write_text(GOOD)
    terms = terms_of(folder, "open")
    assert terms
    assert (terms.name, terms.maintenance, terms.sha256) == ("Open", "For ever.", Sha256.of(b"Take it.\n"))
    assert terms_of(folder, "licensed") is None


@pytest.mark.parametrize("text", ["", 'name = "x"', f"{GOOD}more = 1\n", "name = ", GOOD.replace('"Open"', "1")])
def test_terms_that_are_no_such_table_are_refused_with_the_file(folder: Path, text: str):
    (folder / "terms" / "open.toml").write_text(text)
    with pytest.raises(InputError, match=r"terms/open\.toml: "):
        terms_of(folder, "open")


def test_the_open_tier_has_terms():
    terms = terms_of(package_folders()[1], "open")
    assert terms
    assert "Apache License 2.0" in terms.text
