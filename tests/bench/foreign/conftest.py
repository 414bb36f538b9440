"""Files that the tools really wrote; samples/README.md says how each was made."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def sample():
    """Give the files of one sample; a JSON file can be changed on the way."""

    def load(name: str, **changes: Callable[[dict], None]) -> dict[str, bytes]:
        folder = SAMPLES / name
        files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        for file, change in changes.items():
            target = next(path for path in files if path.startswith(file))
            document = json.loads(files[target])
            change(document)
            files[target] = json.dumps(document).encode()
        return files

    return load
