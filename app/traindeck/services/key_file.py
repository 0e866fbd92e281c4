"""Reading a credentials.csv from the disk; blocks, so call it in a worker where a loop runs."""

from __future__ import annotations

import codecs
from pathlib import Path

from traindeck.domain.credentials_file import parse_credentials, too_long
from traindeck.domain.secret import Credentials
from traindeck.runtime.platform_files import local_errors

MOST_BYTES = 64 * 1024


def read_credentials(path: Path) -> Credentials:
    with local_errors(path), path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:  # something else, and not looked at
        raise too_long(path.name)
    return parse_credentials(_decoded(content), path.name)


def _decoded(content: bytes) -> str:
    """The console writes UTF-8; a spreadsheet program may have written it again in its own way."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("gb18030", "replace")
