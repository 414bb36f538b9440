import contextlib
import errno
import os
from pathlib import Path

import pytest

from dayzero.adapters.disk import disk_errors, whole_file, write_whole
from dayzero.core.errors import RemoteError

FULL = Path("/dev/full")


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    target = tmp_path / "folder" / "file"
    with contextlib.suppress(RuntimeError), whole_file(target) as temporary:
        temporary.write_bytes(b"half")
        raise RuntimeError
    assert list(target.parent.iterdir()) == []
    write_whole(target, b"whole")
    assert target.read_bytes() == b"whole"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said_with_the_path_that_could_not_be_written(tmp_path):
    with pytest.raises(RemoteError, match=f"the disk is full: {tmp_path}"), disk_errors(tmp_path):
        FULL.write_bytes(b"x")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_folder_that_may_not_be_written_is_said(tmp_path, number):
    with pytest.raises(RemoteError, match="cannot be written"), disk_errors(tmp_path):
        raise OSError(number, os.strerror(number))
