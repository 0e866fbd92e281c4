"""What the system says of files, and what helps: of another's disk not what helps with ours."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from traindeck.domain.errors import AppError
from traindeck.domain.texts import text
from traindeck.runtime.files import local_error, local_errors


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO])
def test_the_file_is_named_and_not_our_home(number: int) -> None:
    error = local_error(OSError(number, os.strerror(number), "/elsewhere/file"))
    assert "/elsewhere/file" in error.sentence() and "TRAINDECK_HOME" not in error.sentence()
    assert error.kind == "local"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_who_knows_better_what_helps_says_so(number: int) -> None:
    with pytest.raises(AppError, match="x") as caught, local_errors(Path("x"), text("Take another.")):
        raise OSError(number, os.strerror(number))
    assert caught.value.hint == text("Take another.")
