"""Tar archives: from header to header, over what lies between them."""

from __future__ import annotations

import re
import tarfile
from dataclasses import replace
from datetime import datetime
from functools import partial

from traindeck.domain.previews import ArchiveMember, ArchivePage, Fact, MemberKind
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.clock import moment_at
from traindeck.services.previews.packed import UnpackedSource
from traindeck.services.previews.steps import (
    MOST_ROWS,
    ByteSource,
    Enough,
    Reading,
    Steps,
    damaged,
    need,
    plain,
)

BLOCK = 512
_MEMBERS_A_PAGE = 2000
_LONGEST_NAME = 1 << 20
_NEAR = 64 * 1024
_BEFORE_AN_ENTRY = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.XGLTYPE,
)
_WITHOUT_CONTENT = (b"1", b"2", b"3", b"4", b"5", b"6")
_PAX_RECORD = re.compile(rb"(\d{1,7}) ([^=\n]{1,100})=")


def is_tar_header(block: bytes) -> bool:
    return bool(block[:1].strip(b"\0")) and _header(block) is not None


def tar_steps(source: ByteSource, form: str = "") -> Steps:
    """`form`: what it is packed with."""
    offset, shown = 0, 0
    members: list[ArchiveMember] = []
    page = partial(ArchivePage, text("Tar archive"), (Fact(text("Packed with"), form),) if form else ())
    while True:
        is_enough = False
        try:
            found = yield from _next(source, offset)
        except Enough:
            is_enough = True
        else:
            if found is None:
                break
            member, offset = found
            members.append(member)
            shown += 1
        if shown >= MOST_ROWS:
            note = count_text("Only the first entry is shown.", "Only the first {count} entries are shown.", MOST_ROWS)
            yield page(tuple(members), notes=(note,))
            return
        if is_enough or len(members) >= _MEMBERS_A_PAGE:
            searching = text("Load more to search for the next entry.")
            yield page(tuple(members), has_more=True, notes=() if members else (searching,))
            members = []
            if isinstance(source, UnpackedSource):
                source.new_page()
    notes: tuple[Text, ...] = ()
    if source.size_bytes is not None and offset > source.size_bytes:
        notes = (text("The archive is incomplete: its last entry is truncated."),)
    yield page(tuple(members), notes=notes)


def _next(source: ByteSource, offset: int) -> Reading[tuple[ArchiveMember, int] | None]:
    """The entry there, and where the next one is; None: the archive ends."""
    name, target, size = "", "", None
    modified: datetime | None = None
    while True:
        # Where entries are small the next header comes along.
        block = yield from source.take(offset, BLOCK, _NEAR)
        if len(block) < BLOCK or not block.strip(b"\0"):
            return None
        header = _header(block)
        if header is None or not block[0] or header.size < 0:
            raise damaged("no header of a tar entry where one should be")
        after = offset + BLOCK
        if header.type in _BEFORE_AN_ENTRY:
            if header.size > _LONGEST_NAME:
                raise damaged("a name that is too long to be one")
            body = yield from need(source, after, header.size)
            if header.type == tarfile.GNUTYPE_LONGNAME:
                name = body.split(b"\0", 1)[0].decode("utf-8", "replace")
            elif header.type == tarfile.GNUTYPE_LONGLINK:
                target = body.split(b"\0", 1)[0].decode("utf-8", "replace")
            elif header.type != tarfile.XGLTYPE:
                records = _pax(body)
                name = records.get("GNU.sparse.name") or records.get("path", name)
                target = records.get("linkpath", target)
                size = _whole(records.get("size", ""))
                modified = _moment(_whole(records.get("mtime", "").partition(".")[0]))
            offset = after + _padded(header.size)
            continue
        if header.type == tarfile.GNUTYPE_SPARSE:  # the map of a file with holes goes on in blocks of its own
            is_longer = block[482]
            while is_longer:
                is_longer = (yield from need(source, after, BLOCK))[504]
                after += BLOCK
        member = _member(block, header, name, header.size if size is None else size)
        if target:
            member = replace(member, target=plain(target))
        if modified:
            member = replace(member, modified=modified)
        stored = 0 if header.type in _WITHOUT_CONTENT else member.size_bytes
        return member, after + _padded(stored)


def _header(block: bytes) -> tarfile.TarInfo | None:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "replace")
    except tarfile.TarError:
        return None


def _member(block: bytes, header: tarfile.TarInfo, name: str, size: int) -> ArchiveMember:
    """`name`: the whole of it, where it did not fit into the header."""
    if not name:
        name = _words(block[:100])
        # What tarfile takes for the beginning of the name has other uses in GNU's own form.
        if block[257:262] == b"ustar" and block[257:265] != tarfile.GNU_MAGIC and (before := _words(block[345:500])):
            name = f"{before}/{name}"
    kind = MemberKind.FILE
    if header.type == tarfile.DIRTYPE or name.endswith("/"):
        kind = MemberKind.FOLDER
    elif header.islnk() or header.issym():
        kind = MemberKind.LINK
    target = plain(_words(block[157:257])) if kind is MemberKind.LINK else ""
    size = size if kind is MemberKind.FILE else 0
    return ArchiveMember(plain(name), size, None, _moment(int(header.mtime)), kind, target)


def _pax(body: bytes) -> dict[str, str]:
    records: dict[str, str] = {}
    at = 0
    while match := _PAX_RECORD.match(body, at):
        length = int(match[1])
        if length <= match.end() - at:
            break
        value = body[match.end() : at + length - 1]
        records[match[2].decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        at += length
    return records


def _words(raw: bytes) -> str:
    """Programs of Chinese systems write GB18030."""
    raw = raw.split(b"\0", 1)[0]
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("gb18030", "replace")


def _whole(digits: str) -> int | None:
    return int(digits) if digits.isdecimal() and len(digits) < 19 else None


def _moment(seconds: int | None) -> datetime | None:
    return moment_at(seconds) if seconds else None


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
