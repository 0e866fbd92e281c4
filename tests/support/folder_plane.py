"""The data plane over the folder that stands for a service in tests of the panels."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from support.object_shelf import ObjectShelf, md5_of
from traindeck.domain.errors import Conflict, NotFound, NotOffered
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.services.storage.data_ports import (
    Body,
    Counted,
    ListingPage,
    NotRemoved,
    ObjectHead,
    Sink,
    StoredObject,
)

if TYPE_CHECKING:
    from support.folder_cloud import FolderStorage


class FolderPlane(ObjectShelf):
    """Takes files in one piece only; waits and fails as its storage does, though on another loop."""

    def __init__(self, storage: FolderStorage) -> None:
        super().__init__()
        self._storage = storage

    async def _gate(self) -> None:
        while self._storage.wait is not None and not self._storage.wait.is_set():
            await asyncio.sleep(0.005)
        if self._storage.trouble is not None:
            raise self._storage.trouble

    def _found(self, path: ObjectPath) -> ObjectHead | None:
        place = self._storage.place(path)
        if not place.is_file():
            return None
        content = place.read_bytes()
        return ObjectHead(path, len(content), md5_of(content), datetime.now(UTC))

    async def put(
        self,
        target: ObjectPath,
        body: Body,
        *,
        metadata: Mapping[str, str] | None = None,
        counted: Counted | None = None,
        content_type: str = "",
        web_headers: Mapping[str, str] | None = None,
        storage_class: str = "",
        if_match: str = "",
        only_new: bool = False,
    ) -> StoredObject:
        await self._gate()
        before = self._found(target)
        if if_match and (before is None or before.etag != if_match):
            raise Conflict(text("It was changed."), text("Look at it again."))
        content = b"".join([piece async for piece in body.pieces()])
        place = self._storage.place(target)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        if counted:
            counted(len(content))
        return StoredObject(md5_of(content))

    async def get(
        self,
        source: ObjectPath,
        sink: Sink,
        *,
        offset: int = 0,
        length: int | None = None,
        if_match: str = "",
        version: str = "",
        listed_bytes: int | None = None,
    ) -> ObjectHead:
        await self._gate()
        found = self._found(source)
        if found is None:
            raise NotFound(text("There is no such object."), text("Refresh the list."))
        if if_match and found.etag != if_match:
            raise Conflict(text("It was changed."), text("Look at it again."))
        content = self._storage.place(source).read_bytes()[offset:]
        waiting = sink(content if length is None else content[:length])
        if inspect.isawaitable(waiting):
            await waiting
        return found

    async def head(self, path: ObjectPath, version: str = "") -> ObjectHead | None:
        await self._gate()
        return self._found(path)

    async def page(
        self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = 1000
    ) -> ListingPage:
        await self._gate()
        return await self._storage.listed_page(bucket, prefix, delimiter, marker, most)

    async def begin_upload(
        self, target: ObjectPath, metadata: Mapping[str, str] | None = None, *,
        head: Mapping[str, str] | None = None, content_type: str = "", storage_class: str = "",
    ) -> str:  # fmt: skip
        raise NotOffered(text("This service does not support multipart uploads."), text("Nothing has to be done."))

    async def copy(
        self,
        source: ObjectPath,
        target: ObjectPath,
        *,
        metadata: Mapping[str, str] | None = None,
        head: Mapping[str, str] | None = None,
        if_match: str = "",
    ) -> StoredObject:
        await self._gate()
        content = self._storage.place(source).read_bytes()
        place = self._storage.place(target)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        return StoredObject(md5_of(content))

    async def remove(self, bucket: str, keys: Sequence[str]) -> list[NotRemoved]:
        await self._storage.remove([ObjectPath(bucket, key) for key in keys])
        return []
