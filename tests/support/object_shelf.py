"""Objects in memory instead of a data plane, for tests of what stands on it; it has no wire and no faults."""

from __future__ import annotations

import hashlib
import inspect
import itertools
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from urllib.parse import unquote

from support.listed_names import ListedNames
from traindeck.domain.errors import Conflict, NotFound
from traindeck.domain.storage.object_facts import ObjectFacts
from traindeck.domain.storage.objects import ObjectPath, ObjectRow, as_written
from traindeck.domain.texts import text
from traindeck.services.storage.data_ports import (
    Body,
    Counted,
    Fragment,
    ListingPage,
    NotRemoved,
    ObjectHead,
    Part,
    Sink,
    StoredObject,
    VersionPage,
)
from traindeck.services.storage.errors import occupied
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.storage.wire.versions import VersionOfKey

META = "x-obs-meta-"


@dataclass
class _Object:
    content: bytes
    etag: str
    modified: datetime
    metadata: dict[str, str] = field(default_factory=dict)
    is_encrypted: bool = False
    content_type: str = ""
    web_headers: dict[str, str] = field(default_factory=dict)
    storage_class: str = ""
    told_part_bytes: int = 0
    """How large its first part is, where this service tells that."""


@dataclass
class _Upload:
    path: ObjectPath
    metadata: dict[str, str]
    parts: dict[int, tuple[bytes, str]] = field(default_factory=dict)


def md5_of(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


class ObjectShelf(DataPlane):
    """Every method keeps the promise of the one it replaces; `asked` tells what was asked."""

    tells_crc64 = False

    def __init__(self, page_size: int = 1000) -> None:
        self.objects: dict[ObjectPath, _Object] = {}
        self.uploads: dict[str, _Upload] = {}
        self.asked: list[str] = []
        self._page_size = page_size
        self._numbers = itertools.count(1)

    def keep(self, path: ObjectPath, content: bytes, modified: datetime | None = None, **metadata: str) -> None:
        self.objects[path] = _Object(content, md5_of(content), modified or datetime.now(UTC), metadata)

    def keys(self, bucket: str) -> list[str]:
        return sorted(path.key for path in self.objects if path.bucket == bucket)

    def content(self, bucket: str, prefix: str = "") -> dict[str, bytes]:
        return {
            path.key[len(prefix) :]: kept.content
            for path, kept in self.objects.items()
            if path.bucket == bucket and path.key.startswith(prefix)
        }

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
        self.asked.append(f"put {target.key}")
        content = await _read(body, counted)
        self._unless_there(target, only_new)
        if if_match:
            self._pinned(target, if_match)
        self.keep(target, content, None, **(metadata or {}))
        kept = self.objects[target]
        kept.content_type, kept.web_headers, kept.storage_class = content_type, dict(web_headers or {}), storage_class
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
        self.asked.append(f"get {source.key} {offset}")
        kept = self._pinned(source, if_match)
        found, content = _found(source, kept), kept.content
        content = content[offset:] if length is None else content[offset : offset + length]
        for start in range(0, len(content), 64 * 1024):
            waiting = sink(content[start : start + 64 * 1024])
            if inspect.isawaitable(waiting):
                await waiting
        return found

    async def head(self, path: ObjectPath) -> ObjectHead | None:
        self.asked.append(f"head {path.key}")
        kept = self.objects.get(path)
        if kept is None:
            return None
        return _found(path, kept)

    async def part_bytes(self, found: ObjectHead) -> int:
        self.asked.append(f"part size {found.path.key}")
        return self.objects[found.path].told_part_bytes

    async def facts(self, path: ObjectPath, version: str = "") -> ObjectFacts:
        kept = self.objects[path]
        written = {name: as_written(value) for name, value in kept.metadata.items()}
        found = ObjectFacts(path, len(kept.content), kept.etag, kept.modified, kept.content_type)
        return replace(found, metadata=kept.metadata, written=written)

    async def page(
        self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = 1000
    ) -> ListingPage:
        self.asked.append(f"page {marker}")
        names = ListedNames(self.keys(bucket), self._page_size)
        page = await names.page(bucket, prefix, delimiter=delimiter, marker=marker, most=most)
        rows = []
        for key in (row.key for row in page.rows):
            kept = self.objects[ObjectPath(bucket, key)]
            rows.append(ObjectRow(key, len(kept.content), kept.modified, kept.etag, kept.storage_class))
        return ListingPage(rows, page.folders, page.next_marker)

    async def begin_upload(
        self, target: ObjectPath, metadata: Mapping[str, str] | None = None, *,
        head: Mapping[str, str] | None = None, content_type: str = "", storage_class: str = "",
    ) -> str:  # fmt: skip
        upload_id = f"upload-{next(self._numbers)}"
        self.asked.append(f"begin {target.key}")
        said = dict(metadata or {})
        said |= {name[len(META) :]: unquote(value) for name, value in (head or {}).items() if name.startswith(META)}
        self.uploads[upload_id] = _Upload(target, said)
        return upload_id

    async def put_part(
        self, target: ObjectPath, upload_id: str, number: int, body: Body, counted: Counted | None = None
    ) -> Part:
        self.asked.append(f"part {target.key} {number}")
        content = await _read(body, counted)
        return self._keep_part(upload_id, number, content)

    async def copy_part(
        self,
        source: ObjectPath,
        target: ObjectPath,
        upload_id: str,
        number: int,
        offset: int,
        length: int,
        if_match: str,
        version: str = "",
    ) -> Part:
        self.asked.append(f"copy part {target.key} {number}")
        content = self._pinned(source, if_match).content
        return self._keep_part(upload_id, number, content[offset : offset + length])

    def _unless_there(self, target: ObjectPath, only_new: bool) -> None:
        if only_new and target in self.objects:
            raise occupied(target)

    def _pinned(self, source: ObjectPath, if_match: str) -> _Object:
        kept = self.objects.get(source)
        if kept is None:
            raise NotFound(text("There is no such object."), text("Refresh the list."))
        if if_match and if_match != kept.etag:
            raise Conflict(text("The object changed."), text("Begin again."))
        return kept

    def _keep_part(self, upload_id: str, number: int, content: bytes) -> Part:
        if upload_id not in self.uploads:
            raise NotFound(text("There is no such upload."), text("Begin again."))
        self.uploads[upload_id].parts[number] = (content, md5_of(content))
        return Part(number, len(content), md5_of(content))

    async def parts(self, target: ObjectPath, upload_id: str) -> list[Part] | None:
        self.asked.append(f"list parts {target.key}")
        upload = self.uploads.get(upload_id)
        if upload is None:
            return None
        return [Part(number, len(content), etag) for number, (content, etag) in sorted(upload.parts.items())]

    async def finish_upload(
        self, target: ObjectPath, upload_id: str, parts: Sequence[Part], *, only_new: bool = False
    ) -> StoredObject:
        self.asked.append(f"finish {target.key}")
        self._unless_there(target, only_new)
        upload = self.uploads.pop(upload_id)
        assert [upload.parts[part.number][1] for part in parts] == [part.etag for part in parts]
        content = b"".join(upload.parts[part.number][0] for part in parts)
        digests = b"".join(bytes.fromhex(part.etag) for part in parts)
        etag = f"{md5_of(digests)}-{len(parts)}"
        self.objects[target] = _Object(content, etag, datetime.now(UTC), upload.metadata)
        self.objects[target].told_part_bytes = len(upload.parts[parts[0].number][0])
        return StoredObject(etag)

    async def abort_upload(self, target: ObjectPath, upload_id: str) -> None:
        self.asked.append(f"abort {target.key}")
        self.uploads.pop(upload_id, None)

    async def fragments(self, bucket: str, prefix: str = "") -> AsyncIterator[list[Fragment]]:
        self.asked.append(f"fragments {prefix}")
        found = [(upload_id, one.path) for upload_id, one in self.uploads.items() if one.path.bucket == bucket]
        yield [Fragment(path, upload_id) for upload_id, path in found if path.key.startswith(prefix)]

    async def copy(
        self,
        source: ObjectPath,
        target: ObjectPath,
        *,
        metadata: Mapping[str, str] | None = None,
        head: Mapping[str, str] | None = None,
        if_match: str = "",
    ) -> StoredObject:
        self.asked.append(f"copy {target.key}")
        kept = self._pinned(source, if_match)
        self.keep(target, kept.content, None, **(kept.metadata if metadata is None else metadata))
        return StoredObject(md5_of(kept.content))

    async def remove(self, bucket: str, keys: Sequence[str]) -> list[NotRemoved]:
        self.asked.append(f"remove {len(keys)}")
        for key in keys:
            self.objects.pop(ObjectPath(bucket, key), None)
        return []

    async def keeps_versions(self, bucket: str) -> bool:
        return False

    async def versions(
        self, bucket: str, prefix: str = "", *, after: str = "", after_version: str = "", most: int = 1000
    ) -> VersionPage:
        return VersionPage([], "", "")

    async def remove_versions(self, bucket: str, wanted: Collection[VersionOfKey]) -> list[NotRemoved]:
        return []

    async def close(self) -> None:
        """There is nothing to close."""


def _found(path: ObjectPath, kept: _Object) -> ObjectHead:
    size, secret = len(kept.content), kept.is_encrypted
    return ObjectHead(
        path,
        size,
        kept.etag,
        kept.modified,
        storage_class=kept.storage_class,
        content_type=kept.content_type,
        is_encrypted=secret,
        metadata=kept.metadata,
        web_headers=kept.web_headers,
    )


async def _read(body: Body, counted: Counted | None) -> bytes:
    content = b""
    async for piece in body.pieces():
        content += piece
        if counted:
            counted(len(piece))
    assert len(content) == body.size_bytes
    assert hashlib.md5(content, usedforsecurity=False).digest() == body.md5
    return content
