"""The blocks of a tar archive, the same on every computer: POSIX headers, and PAX records where those are too small."""

from __future__ import annotations

BLOCK = 512
_RECORD = 20 * BLOCK
END_BYTES = 2 * BLOCK
FILE_MODE = 0o644
_FOLDER_MODE = 0o755
_NAME_BYTES = 100
_MOST_OCTAL = 8**11
_AFTER_TYPE = b"\0" * 100 + b"ustar\x0000" + b"\0" * 64 + b"\0" * 16 + b"\0" * 167


def padded(size_bytes: int) -> int:
    """What content of this size takes up."""
    return -(-size_bytes // BLOCK) * BLOCK


def archive_bytes(members_bytes: int) -> int:
    """The size of an archive whose members take up so much: an end, and whole records, as tape drives wanted them."""
    return -(-(members_bytes + END_BYTES) // _RECORD) * _RECORD


def header(path: str, size_bytes: int, modified_s: int) -> bytes:
    """What stands before the content; a path that ends with a slash is a folder."""
    name = path.encode()
    mode, kind = (_FOLDER_MODE, b"5") if path.endswith("/") else (FILE_MODE, b"0")
    records = _records(path, name, size_bytes, modified_s)
    if not records:
        return _block(name, mode, size_bytes, modified_s, kind)
    shown = path.encode("ascii", "replace")[:_NAME_BYTES]
    size = size_bytes if size_bytes < _MOST_OCTAL else 0
    return b"".join((
        _block(b"././@PaxHeader", 0, len(records), 0, b"x"),
        records.ljust(padded(len(records)), b"\0"),
        _block(shown, mode, size, modified_s if 0 <= modified_s < _MOST_OCTAL else 0, kind),
    ))  # fmt: skip


def header_bytes(path: str, size_bytes: int, modified_s: int) -> int:
    if len(path) <= _NAME_BYTES and path.isascii() and size_bytes < _MOST_OCTAL and 0 <= modified_s < _MOST_OCTAL:
        return BLOCK
    return 2 * BLOCK + padded(len(_records(path, path.encode(), size_bytes, modified_s)))


def _records(path: str, name: bytes, size_bytes: int, modified_s: int) -> bytes:
    """Empty where an ordinary header holds it all."""
    found = b""
    if len(name) > _NAME_BYTES or not path.isascii():
        found += _record(b"path", name)
    if size_bytes >= _MOST_OCTAL:
        found += _record(b"size", b"%d" % size_bytes)
    if not 0 <= modified_s < _MOST_OCTAL:
        found += _record(b"mtime", b"%d" % modified_s)
    return found


def _record(word: bytes, value: bytes) -> bytes:
    """Begins with its own length, which counts itself."""
    rest = b" %s=%s\n" % (word, value)
    length = len(rest) + 1
    while len(rest) + len(b"%d" % length) != length:
        length += 1
    return b"%d" % length + rest


def _block(name: bytes, mode: int, size_bytes: int, modified_s: int, kind: bytes) -> bytes:
    before = b"%s%07o\x000000000\x000000000\x00%011o\x00%011o\x00" % (
        name.ljust(_NAME_BYTES, b"\0"), mode, size_bytes, modified_s,
    )  # fmt: skip
    after = kind + _AFTER_TYPE
    # The sum is made as if blanks stood in its place.
    total = sum(before) + sum(after) + 8 * 0x20
    return b"%s%06o\x00 %s" % (before, total, after)
