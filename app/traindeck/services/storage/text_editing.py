"""Texts edited in place: read whole, written back as they were but for the words."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from traindeck.domain.errors import Conflict, InvalidInput, NotOffered
from traindeck.domain.previews import MOST_EDITED, NotShown
from traindeck.domain.storage.objects import ObjectPath, size_words
from traindeck.domain.texts import text
from traindeck.services.previews.reading import fetched, head_of
from traindeck.services.previews.texts import Encoding, encoding_of
from traindeck.services.storage.content_check import checked
from traindeck.services.storage.data_ports import BytesBody, ObjectHead

if TYPE_CHECKING:
    from traindeck.services.storage.planes import Planes
    from traindeck.services.storage.wire.data_plane import DataPlane

_ENDS = re.compile("\r\n|\r|\n")
UTF_8 = Encoding("utf-8")


@dataclass(frozen=True, slots=True)
class EditedText:
    """A text as it is stored, and how."""

    found: ObjectHead
    encoding: Encoding
    words: str
    """With the ends of lines that are in the file."""

    @property
    def shown(self) -> str:
        """With one kind of them, as an editor has it."""
        return _ENDS.sub("\n", self.words)

    @property
    def end_of_lines(self) -> str:
        """What most lines end with."""
        counted = Counter(_ENDS.findall(self.words))
        return max(counted, key=lambda end: counted[end], default="\n")

    def with_shown(self, shown: str) -> str:
        """The words to be stored: lines that were not touched end as they did."""
        before, after = _lines(self.words), shown.split("\n")
        ends = [end for _, end in before]
        same_first = _same([line for line, _ in before], after)
        most_last = min(len(before), len(after)) - same_first
        same_last = min(most_last, _same([line for line, _ in reversed(before)], after[::-1]))
        usual = self.end_of_lines
        kept = ends[:same_first] + [usual] * (len(after) - same_first - same_last)
        kept += ends[len(ends) - same_last :]
        # What was the last line may stand among others now, and had no end.
        kept = [end or usual for end in kept[:-1]]
        for number in range(1, len(kept)):
            if kept[number - 1] == "\r" and kept[number] == "\n" and not after[number]:
                kept[number] = "\r"  # together they would be one end, and the empty line would be gone
        return "".join(line + end for line, end in zip(after, [*kept, ""], strict=True))


class ChangedMeanwhile(Conflict):
    """Somebody else has written to it, or removed it, since it was read."""


async def load_text(planes: Planes, profile: str, path: ObjectPath) -> EditedText:
    found = await head_of(planes, profile, path)
    if found.size_bytes > MOST_EDITED:
        raise NotShown(
            text("“{name}” has {size}; texts up to 1 MiB can be edited here.", name=path.name,
                 size=size_words(found.size_bytes)),
            text("Download it, edit it, and upload it again."),
        )  # fmt: skip
    content = checked(found, await fetched(planes, profile, found, 0, found.size_bytes)) if found.size_bytes else b""
    encoding = encoding_of(content, is_whole=True)
    words = "" if encoding is None else content[len(encoding.mark) :].decode(encoding.name)
    # Some bytes stand for letters that would be written in another way.
    if encoding is None or encoding.mark + words.encode(encoding.name) != content:
        raise NotShown(
            text("“{name}” is not text, or its encoding is not recognized.", name=path.name),
            text("Download it and open it with another program."),
        )
    return EditedText(found, encoding, words)


async def save_text(
    planes: Planes, profile: str, edited: EditedText, shown: str, *, overwrite: bool = False
) -> EditedText:
    """ChangedMeanwhile: nothing was written; `overwrite`: whatever is there now."""
    content, words = _content(edited, shown)
    found = edited.found
    now = await planes.run(profile, lambda plane: plane.head(found.path))
    if now is not None and now.etag == _etag(content):
        return EditedText(now, edited.encoding, words)  # an earlier try whose answer was lost has done it
    if not overwrite and (now is None or now.etag != found.etag):
        raise _changed(found.path, is_gone=now is None)
    like = now or found
    pinned = now.etag if now is not None and not overwrite else ""
    try:
        stored = await planes.run(profile, partial(_stored, like, content, pinned))
    except Conflict as error:
        after = await planes.run(profile, lambda plane: plane.head(found.path))
        if after is not None and after.etag == _etag(content):
            return EditedText(after, edited.encoding, words)
        if pinned and (after is None or after.etag != pinned):
            raise _changed(found.path, is_gone=after is None) from error
        raise
    return EditedText(stored, edited.encoding, words)


async def save_text_as(planes: Planes, profile: str, edited: EditedText, shown: str, target: ObjectPath) -> EditedText:
    """Beside the other; Conflict: there is something of that name."""
    content, words = _content(edited, shown)
    if await planes.run(profile, lambda plane: plane.head(target)) is not None:
        raise Conflict(text("The object “{name}” already exists.", name=target.name), text("Enter another name."))
    like = replace(edited.found, path=target)
    stored = await planes.run(profile, partial(_stored, like, content, ""))
    return EditedText(stored, edited.encoding, words)


async def _stored(like: ObjectHead, content: bytes, pinned: str, plane: DataPlane) -> ObjectHead:
    """Put with the type, class and notes of what was there."""
    put = partial(
        plane.put,
        like.path,
        BytesBody(content),
        metadata=like.metadata,
        content_type=like.content_type,
        web_headers=like.web_headers,
        storage_class=like.storage_class,
    )
    try:
        stored = await put(if_match=pinned)
    except NotOffered:
        if not pinned:
            raise
        stored = await put()  # such a service cannot look; we have, a moment ago
    return replace(like, size_bytes=len(content), etag=stored.etag, version=stored.version, modified=None)


def _content(edited: EditedText, shown: str) -> tuple[bytes, str]:
    words = edited.with_shown(shown)
    try:
        content = edited.encoding.mark + words.encode(edited.encoding.name)
    except UnicodeEncodeError as error:
        raise InvalidInput(
            text("“{letter}” cannot be written in {encoding}, the encoding of this text.",
                 letter=error.object[error.start], encoding=edited.encoding.title),
            text("Replace it, or save the text in UTF-8."),
        ) from error  # fmt: skip
    if len(content) > MOST_EDITED:
        raise InvalidInput(
            text("The text has {size} now; up to 1 MiB can be saved here.", size=size_words(len(content))),
            text("Save it as a file and upload that."),
        )
    return content, words


def _changed(path: ObjectPath, *, is_gone: bool) -> ChangedMeanwhile:
    if is_gone:
        title = text("“{name}” was deleted while you edited it.", name=path.name)
    else:
        title = text("“{name}” was changed by someone else while you edited it.", name=path.name)
    return ChangedMeanwhile(title, text("Nothing was written yet; your text is still here."))


def _lines(words: str) -> list[tuple[str, str]]:
    """Each with its end; the last has none."""
    lines: list[tuple[str, str]] = []
    at = 0
    for match in _ENDS.finditer(words):
        lines.append((words[at : match.start()], match[0]))
        at = match.end()
    return [*lines, (words[at:], "")]


def _same(one: list[str], other: list[str]) -> int:
    """How many at the beginning are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(one), len(other)))


def _etag(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
