"""Tar archives: from header to header, over what lies between them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from traindeck.domain.previews import ArchiveMember, ArchivePage, Fact, MemberKind
from traindeck.domain.texts import Text, text
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
_LONG_NAME, _LONG_TARGET, _PAX, _PAX_FOR_ALL = b"L", b"K", b"xX", b"g"
_PAX_RECORD = re.compile(rb"(\d{1,7}) ([^=\n]{1,100})=")


@dataclass(frozen=True, slots=True)
class _Found:
    """A header and what stood before it for it."""

    member: ArchiveMember | None
    next_at: int
    body_bytes: int


def is_tar_header(block: bytes) -> bool:
    if len(block) < BLOCK or not block[0]:
        return False
    given = _octal(block[148:156])
    return given is not None and given in _sums(block)


def tar_steps(source: ByteSource, form: str = "") -> Steps:
    """`form`: what it is packed with."""
    offset, shown = 0, 0
    members: list[ArchiveMember] = []
    while True:
        try:
            found = yield from _next(source, offset)
        except Enough:
            if not members:
                yield _page([], form, (text("The search for the next entry goes on when you ask for more."),), True)
            else:
                yield _page(members, form, (), True)
            members = []
            _begin_page(source)
            continue
        if found is None:
            break
        if found.member is not None:
            members.append(found.member)
            shown += 1
        offset = found.next_at
        if shown >= MOST_ROWS:
            note = text("Only the first {count} entries are shown.", count=f"{MOST_ROWS:,}")
            yield _page(members, form, (note,), False)
            return
        if len(members) >= _MEMBERS_A_PAGE:
            yield _page(members, form, (), True)
            members = []
            _begin_page(source)
    notes: tuple[Text, ...] = ()
    if source.size_bytes is not None and offset > source.size_bytes:
        notes = (text("The archive is cut off: its last entry is not whole."),)
    yield _page(members, form, notes, False)


def _begin_page(source: ByteSource) -> None:
    if isinstance(source, UnpackedSource):
        source.new_page()


def _page(members: list[ArchiveMember], form: str, notes: tuple[Text, ...], has_more: bool) -> ArchivePage:
    facts = (Fact(text("Packed with"), form),) if form else ()
    return ArchivePage(text("Tar archive"), facts, tuple(members), has_more=has_more, notes=notes)


def _next(source: ByteSource, offset: int) -> Reading[_Found | None]:
    """The entry there; None: the archive ends."""
    name, target, size = "", "", None
    modified: datetime | None = None
    while True:
        # Where entries are small the next header comes along.
        block = yield from source.take(offset, BLOCK, _NEAR)
        if len(block) < BLOCK or not block.strip(b"\0"):
            return None
        if not is_tar_header(block):
            raise damaged("no header of a tar entry where one should be")
        body_bytes = _octal(block[124:136])
        if body_bytes is None or body_bytes < 0:
            raise damaged("no size of a tar entry")
        kind = block[156:157]
        after = offset + BLOCK
        if kind and kind in _LONG_NAME + _LONG_TARGET + _PAX + _PAX_FOR_ALL:
            if body_bytes > _LONGEST_NAME:
                raise damaged("a name that is too long to be one")
            body = yield from need(source, after, body_bytes)
            if kind == _LONG_NAME:
                name = body.split(b"\0", 1)[0].decode("utf-8", "replace")
            elif kind == _LONG_TARGET:
                target = body.split(b"\0", 1)[0].decode("utf-8", "replace")
            elif kind != _PAX_FOR_ALL:
                records = _pax(body)
                name = records.get("GNU.sparse.name") or records.get("path", name)
                target = records.get("linkpath", target)
                size = _whole(records.get("size", ""))
                modified = _moment(_seconds(records.get("mtime", "")))
            offset = after + _padded(body_bytes)
            continue
        if kind == b"S":  # the map of a file with holes goes on in blocks of its own
            is_longer = block[482]
            while is_longer:
                is_longer = (yield from need(source, after, BLOCK))[504]
                after += BLOCK
        member = _member(block, name, body_bytes if size is None else size)
        if target:
            member = replace(member, target=plain(target))
        if modified:
            member = replace(member, modified=modified)
        stored = 0 if kind in b"123456" and kind else member.size_bytes
        return _Found(member, after + _padded(stored), stored)


def _member(block: bytes, name: str, size: int) -> ArchiveMember:
    """`name`: the whole of it, where it did not fit into the header."""
    if not name:
        name = _words(block[:100])
        if block[257:262] == b"ustar" and block[257:265] != b"ustar  \0" and (before := _words(block[345:500])):
            name = f"{before}/{name}"
    kind = block[156:157]
    member_kind = MemberKind.FILE
    if kind == b"5" or name.endswith("/"):
        member_kind = MemberKind.FOLDER
    elif kind in (b"1", b"2"):
        member_kind = MemberKind.LINK
    is_file = member_kind is MemberKind.FILE
    target = plain(_words(block[157:257])) if member_kind is MemberKind.LINK else ""
    return ArchiveMember(
        plain(name), size if is_file else 0, None, _moment(_octal(block[136:148])), member_kind, target
    )


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
    raw = raw.split(b"\0", 1)[0]
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("gb18030", "replace")


def _octal(raw: bytes) -> int | None:
    if raw[:1] in (b"\x80", b"\xff"):  # too large for digits: the bytes of the number itself
        number = int.from_bytes(raw[1:], "big")
        return number if raw[0] == 0x80 and number < 1 << 63 else None
    digits = raw.strip(b" \0")
    if not digits:
        return 0
    return int(digits, 8) if re.fullmatch(rb"[0-7]+", digits) else None


def _whole(digits: str) -> int | None:
    return int(digits) if digits.isdecimal() and len(digits) < 19 else None


def _seconds(words: str) -> int | None:
    return _whole(words.partition(".")[0])


def _moment(seconds: int | None) -> datetime | None:
    if not seconds:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _sums(block: bytes) -> tuple[int, int]:
    """The field itself counts as blanks; old programs took bytes for signed."""
    counted = block[:148] + b" " * 8 + block[156:BLOCK]
    unsigned = sum(counted)
    return unsigned, unsigned - 256 * sum(byte > 127 for byte in counted)


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
