"""Texts edited in place, in a real Lab: nothing else about them changes, and nobody's work is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.counted_plane import CountedPlane, here
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.stores.stores import lab_store, new_bucket
from traindeck.domain.accounts.profiles import Signature
from traindeck.domain.errors import Conflict, InvalidInput, NotFound
from traindeck.domain.previews import MOST_EDITED, NotShown
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.previews.texts import Encoding
from traindeck.services.storage.data_ports import BytesBody, ObjectHead
from traindeck.services.storage.text_editing import (
    UTF_8,
    ChangedMeanwhile,
    EditedText,
    load_text,
    save_text,
    save_text_as,
)
from traindeck.services.storage.wire.data_plane import DataPlane

WEB_HEADERS = {"Cache-Control": "max-age=60", "Content-Disposition": 'attachment; filename="a.py"'}


@asynccontextmanager
async def stored(
    lab: LabProcess, content: bytes, signature: Signature = Signature.OBS
) -> AsyncIterator[tuple[DataPlane, ObjectPath]]:
    store = lab_store(lab, signature)
    path = new_bucket(store).join("dir/train.py")
    async with store.plane() as plane:
        await plane.put(
            path,
            BytesBody(content),
            metadata={"owner": "Zoë"},
            content_type="text/x-python",
            web_headers=WEB_HEADERS,
            storage_class="WARM",
        )
        yield plane, path


async def content_of(plane: DataPlane, path: ObjectPath) -> bytes:
    pieces: list[bytes] = []
    await plane.get(path, pieces.append)
    return b"".join(pieces)


@pytest.mark.parametrize("signature", [Signature.OBS, Signature.V2, Signature.V4])
@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n"),
        (b"\xef\xbb\xbf" + "学习\n".encode(), "习", "习率", b"\xef\xbb\xbf" + "学习率\n".encode()),
        ("训练集\r\n测试集".encode("gb18030"), "测试", "验证", "训练集\r\n验证集".encode("gb18030")),
        (b"\xff\xfe" + "x = 1\n".encode("utf-16-le"), "1", "2", b"\xff\xfe" + "x = 2\n".encode("utf-16-le")),
        (b"one\r\ntwo\nthree\r\nfour\n", "three", "3", b"one\r\ntwo\n3\r\nfour\n"),
    ],
)
async def test_only_the_words_change(
    lab: LabProcess, signature: Signature, before: bytes, old: str, new: str, after: bytes
) -> None:
    async with stored(lab, before, signature) as (plane, path):
        edited = await load_text(here(plane), "lab", path)
        was = await plane.head(path)
        assert was is not None
        saved = await save_text(here(plane), "lab", edited, edited.shown.replace(old, new))
        assert await content_of(plane, path) == after
        now = await plane.head(path)
        assert now is not None
        assert (now.content_type, now.metadata, now.storage_class) == (
            "text/x-python", {"owner": "Zoë"}, was.storage_class,
        )  # fmt: skip
        assert was.storage_class
        assert now.web_headers == WEB_HEADERS
        again = await save_text(here(plane), "lab", saved, saved.shown + "!")
        assert again.words.endswith("!")


async def test_what_somebody_else_wrote_is_not_overwritten_unless_meant(lab: LabProcess) -> None:
    async with stored(lab, b"mine\n") as (plane, path):
        edited = await load_text(here(plane), "lab", path)
        await plane.put(path, BytesBody(b"theirs\n"))
        with pytest.raises(ChangedMeanwhile) as changed:
            await save_text(here(plane), "lab", edited, "mine too\n")
        assert "changed by someone else" in changed.value.sentence()
        assert await content_of(plane, path) == b"theirs\n"
        beside = await save_text_as(here(plane), "lab", edited, "mine too\n", path.parent.join("train-2.py"))
        assert await content_of(plane, beside.found.path) == b"mine too\n"
        assert beside.found.content_type == "text/x-python"
        with pytest.raises(Conflict):
            await save_text_as(here(plane), "lab", edited, "x", path)
        saved = await save_text(here(plane), "lab", edited, "mine too\n", overwrite=True)
        assert await content_of(plane, path) == b"mine too\n"
        await plane.remove(path.bucket, [path.key])
        with pytest.raises(ChangedMeanwhile) as gone:
            await save_text(here(plane), "lab", saved, "more\n")
        assert "deleted" in gone.value.sentence()
        await save_text(here(plane), "lab", saved, "more\n", overwrite=True)
        assert await content_of(plane, path) == b"more\n"


class _Meddling(CountedPlane):
    """Somebody writes between our look and our write."""

    async def put(self, target: ObjectPath, *given: object, **named: object) -> object:
        await self._plane.put(target, BytesBody(b"theirs\n"))
        return await self._plane.put(target, *given, **named)


async def test_a_write_between_look_and_write_is_seen_by_the_service(lab: LabProcess) -> None:
    async with stored(lab, b"mine\n") as (plane, path):
        edited = await load_text(here(plane), "lab", path)
        with pytest.raises(ChangedMeanwhile):
            await save_text(here(_Meddling(plane)), "lab", edited, "mine too\n")
        assert await content_of(plane, path) == b"theirs\n"


async def test_a_lost_answer_is_not_taken_for_somebody_else(lab: LabProcess) -> None:
    control = Control(lab.root)
    async with stored(lab, b"mine\n") as (plane, path):
        edited = await load_text(here(plane), "lab", path)
        control.rules({"kind": "lost-answer", "operation": "PutObject", "count": 1})
        try:
            saved = await save_text(here(plane), "lab", edited, "mine too\n")
        finally:
            control.rules()
        assert await content_of(plane, path) == b"mine too\n"
        await save_text(here(plane), "lab", saved, "once more\n")


async def test_what_cannot_be_edited_is_refused_with_its_reason(lab: LabProcess) -> None:
    async with stored(lab, bytes(range(256))) as (plane, path):
        with pytest.raises(NotShown):
            await load_text(here(plane), "lab", path)
        await plane.put(path, BytesBody(b"x" * (MOST_EDITED + 1)))
        with pytest.raises(NotShown) as long:
            await load_text(here(plane), "lab", path)
        assert "1 MiB" in long.value.sentence()
        with pytest.raises(NotFound):
            await load_text(here(plane), "lab", path.join("none"))
        await plane.put(path, BytesBody("café\n".encode("latin-1") + b"\xff\n"))
        latin = await load_text(here(plane), "lab", path)
        assert latin.encoding.name == "iso-8859-1"
        with pytest.raises(InvalidInput) as letter:
            await save_text(here(plane), "lab", latin, "学\n")
        assert "“学”" in letter.value.sentence()
        with pytest.raises(InvalidInput):
            await save_text(here(plane), "lab", latin, "x" * (MOST_EDITED + 1))
        await plane.put(path, BytesBody(b""))
        empty = await load_text(here(plane), "lab", path)
        await save_text(here(plane), "lab", empty, "字\n")
        assert await content_of(plane, path) == "字\n".encode()


_LINES = st.lists(st.sampled_from(["a", "b", "", "c d"]), min_size=1, max_size=8)
_ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def _edited(words: str, encoding: Encoding = UTF_8) -> EditedText:
    return EditedText(ObjectHead(ObjectPath("bucket", "k"), len(words), "e"), encoding, words)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "", "c d"]), _ENDS), max_size=8), st.sampled_from(["", "z"]))
def test_a_text_that_was_not_touched_is_written_as_it_was(lines: list[tuple[str, str]], last: str) -> None:
    words = "".join(line + end for line, end in lines) + last
    # A CR and an LF that meet by chance are one end of a line.
    edited = _edited(words)
    assert edited.with_shown(edited.shown) == words


@given(st.lists(st.tuples(st.sampled_from(["a", "b", ""]), _ENDS), max_size=8), _LINES)
def test_whatever_is_typed_is_what_is_stored(lines: list[tuple[str, str]], typed: list[str]) -> None:
    edited = _edited("".join(line + end for line, end in lines))
    kept = edited.with_shown("\n".join(typed))
    assert _edited(kept).shown == "\n".join(typed)
