import json
import re
from pathlib import Path

import msgspec

from dayzero.adapters.package_files.schema import PackageTable

FILE = Path(__file__).parents[2] / "docs" / "reference" / "package.schema.json"


def test_the_published_schema_is_the_one_that_the_code_enforces():
    assert json.loads(FILE.read_text(encoding="utf-8")) == json.loads(json.dumps(msgspec.json.schema(PackageTable)))


def test_every_key_of_the_schema_is_documented():
    text = (FILE.parent / "package-definition.md").read_text(encoding="utf-8")
    schema = msgspec.json.schema(PackageTable)
    keys = {key for table in schema["$defs"].values() for key in table.get("properties", {})}
    assert len(keys) > 40
    assert sorted(key for key in keys if not re.search(rf"[`.\[]{key}[`\]]", text)) == []
