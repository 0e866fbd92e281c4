"""Objects over the wire: storing, sending, describing, removing one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import BinaryIO

from aiohttp import web

from traindeck.lab.obs.answers import empty
from traindeck.lab.obs.body_streams import (
    SMALL,
    Operations,
    body_of,
    content_range,
    send,
    send_parts,
)
from traindeck.lab.obs.conditions import ByteRange, byte_ranges, check_replacement, is_not_modified
from traindeck.lab.obs.errors import InvalidArgument, MalformedXML, NoSuchKey, ObsError
from traindeck.lab.obs.object_headers import (
    OVERRIDES,
    PUT_HEADERS,
    STORED_HEADERS,
    attributes,
    check_headers,
    clean,
    is_frozen,
    metadata,
    object_headers,
    overrides,
    storage_class,
    written_headers,
)
from traindeck.lab.obs.records import Attributes, BucketInfo, ObjectInfo, key_bytes, whole_number
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.obs.settings import child, first, needed, parsed
from traindeck.lab.obs.storage import now_ms
from traindeck.lab.obs.store import BodyWriter, Condition


@dataclass(frozen=True, slots=True)
class _Opened:
    """An object made ready to be sent: small ones as bytes, others as an open file."""

    info: ObjectInfo
    parts: list[ByteRange]
    is_not_modified: bool = False
    data: bytes | None = None
    file: BinaryIO | None = None


class Objects(Operations):
    """The operations on one object."""

    async def put(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these()
        key_bytes(request.key)
        check_headers(request, PUT_HEADERS)
        bucket = self._access.bucket(request, "PutObject", key=request.key)
        given = attributes(request, bucket)
        incoming = body_of(request)

        def commit(writer: BodyWriter) -> ObjectInfo:
            traits = given.traits
            if incoming.crc64 or incoming.checksums:
                traits = replace(traits, crc64=incoming.crc64, checksums=dict(incoming.checksums))
            complete = replace(given, traits=traits)
            return writer.commit(request.bucket, request.key, complete, condition=replacement(request))

        info = await self._receiver.stored(incoming, commit)
        return empty(request, 200, written_headers(request, bucket, info, incoming))

    async def append(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("append", "position")
        key_bytes(request.key)
        check_headers(request, PUT_HEADERS)
        bucket = self._access.bucket(request, "PutObject", key=request.key)
        text = request.query.get("position", "")
        position = whole_number(text)
        if position is None:
            raise InvalidArgument("position", text)
        given = attributes(request, bucket)
        incoming = body_of(request)

        def add(writer: BodyWriter) -> tuple[str, ObjectInfo, int]:
            info, length = self._store.append(request.bucket, request.key, position, writer, given)
            return writer.md5.hex(), info, length

        etag, info, length = await self._receiver.stored(incoming, add)
        headers = written_headers(request, bucket, info, incoming)
        return empty(request, 200, {**headers, "ETag": f'"{etag}"', "x-obs-next-append-position": str(length)})

    async def get(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("versionId", "attname", *OVERRIDES)
        overridden = overrides(request)
        bucket = self._access_to_read(request)
        opened = await self._workers.run(self._opened, request, bucket)
        with ExitStack() as stack:
            if opened.file:
                stack.callback(opened.file.close)
            headers = {**object_headers(request, bucket, opened.info), **overridden}
            if opened.is_not_modified:
                return _not_modified(headers)
            if opened.info.traits.redirect and request.account is None:
                headers["Location"] = opened.info.traits.redirect
            if opened.parts:
                _drop_checksums(headers)
            if len(opened.parts) > 1 and opened.file:
                size = opened.info.size
                return await send_parts(request.http, headers, opened.file, opened.parts, size, self._workers)
            part = opened.parts[0] if opened.parts else None
            length = part.length if part else opened.info.size
            if part:
                headers["Content-Range"] = content_range(part, opened.info.size)
            status = 206 if part else 200
            if opened.data is not None:
                return web.Response(status=status, body=opened.data, headers=headers)
            if opened.file is None:
                raise NoSuchKey(request.key)
            return await send(request, status, headers, opened.file, part.first if part else 0, length)

    async def head(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("versionId", *OVERRIDES)
        overridden = overrides(request)
        bucket = self._access_to_read(request)
        info = await self._workers.run(self._found, request, bucket)
        headers = {**object_headers(request, bucket, info), **overridden}
        if is_not_modified(request.raw.header, info, now=datetime.now(UTC)):
            return _not_modified(headers)
        parts = byte_ranges(request.raw.header, info)
        part = parts[0] if len(parts) == 1 else None
        headers["Content-Length"] = str(part.length if part else info.size)
        if part:
            headers["Content-Range"] = content_range(part, info.size)
            _drop_checksums(headers)
        return web.Response(status=206 if part else 200, headers=headers)

    async def delete(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("versionId")
        version = request.version
        action = "DeleteObject" if version is None else "DeleteObjectVersion"
        bucket = self._access.bucket(request, action, key=request.key)
        prefix = request.dialect.value
        if version is None:
            marker = await self._workers.run(self._store.delete, request.bucket, request.key)
            if marker is None:
                return empty(request, 204)
            told = {f"{prefix}version-id": marker.version or "null", f"{prefix}delete-marker": "true"}
            return empty(request, 204, told)
        gone = await self._workers.run(self._store.delete_version, request.bucket, request.key, version)
        told = {f"{prefix}version-id": version} if bucket.versioning else {}
        if gone and gone.is_marker:
            told[f"{prefix}delete-marker"] = "true"
        return empty(request, 204, told)

    async def set_metadata(self, request: ObsRequest) -> web.StreamResponse:
        """Replace what is said about an object; REPLACE_NEW keeps the standard headers that are not named."""
        request.only_these("metadata", "versionId")
        check_headers(request, PUT_HEADERS | {"metadata-directive"})
        directive = request.ours("metadata-directive") or "REPLACE_NEW"
        if directive not in ("REPLACE", "REPLACE_NEW"):
            raise InvalidArgument("metadata-directive", directive)
        await self._receiver.document(request)
        bucket = self._access.bucket(request, "ModifyObjectMetaData", key=request.key)
        given = _metadata_change(request, keep_unnamed=directive == "REPLACE_NEW")
        info = await self._workers.run(self._store.update, request.bucket, request.key, request.version, given)
        return empty(request, 200, object_headers(request, bucket, info))

    async def restore(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("restore", "versionId")
        self._access.bucket(request, "RestoreObject", key=request.key)
        root = parsed(await self._receiver.document(request), "RestoreRequest")
        days = whole_number(needed(root, "Days"), most=30)
        if not days:
            raise InvalidArgument("Days", needed(root, "Days"))
        job = first(root, "RestoreJob") or first(root, "GlacierJobParameters")
        if job is not None and child(job, "Tier") not in (None, "", "Expedited", "Standard", "Bulk"):
            raise MalformedXML
        was_restored = False

        def restored(info: ObjectInfo) -> ObjectInfo:
            nonlocal was_restored
            was_restored = not is_frozen(info)
            if was_restored and not info.traits.restored_days:
                message = "Restore is not allowed for the object's current storage class."
                raise ObsError(403, "InvalidObjectState", message)
            return replace(info, traits=replace(info.traits, restored_days=days))

        await self._workers.run(self._store.update, request.bucket, request.key, request.version, restored)
        return empty(request, 200 if was_restored else 202)

    def _access_to_read(self, request: ObsRequest) -> BucketInfo:
        bucket = self._store.bucket(request.bucket)
        # With the object comes the decision; without the bucket there is nothing to decide.
        return bucket or self._access.bucket(request, "GetObject", key=request.key)

    def _found(self, request: ObsRequest, bucket: BucketInfo) -> ObjectInfo:
        try:
            info = self._store.found(request.bucket, request.key, request.version)
        except NoSuchKey as error:
            raise self._missing(request, bucket, error) from error
        if info.is_marker:
            raise self._marker_error(request, info)
        action = "GetObject" if request.version is None else "GetObjectVersion"
        self._access.object(request, bucket, info, action)
        return info

    def _opened(self, request: ObsRequest, bucket: BucketInfo) -> _Opened:
        self._found(request, bucket)
        info, file = self._store.open(request.bucket, request.key, request.version)
        with ExitStack() as stack:
            stack.callback(file.close)
            if is_not_modified(request.raw.header, info, now=datetime.now(UTC)):
                return _Opened(info, [], is_not_modified=True)
            if is_frozen(info):
                message = "The operation is not valid for the object's storage class."
                raise ObsError(403, "InvalidObjectState", message)
            parts = byte_ranges(request.raw.header, info)
            length = parts[0].length if parts else info.size
            if length <= SMALL and len(parts) <= 1:
                file.seek(parts[0].first if parts else 0)
                return _Opened(info, parts, data=file.read(length))
            stack.pop_all()
            return _Opened(info, parts, file=file)

    def _missing(self, request: ObsRequest, bucket: BucketInfo, error: NoSuchKey) -> Exception:
        if error.marker:
            prefix = request.dialect.value
            error.headers = {f"{prefix}delete-marker": "true", f"{prefix}version-id": error.marker}
        return self._access.missing(request, bucket, error)

    def _marker_error(self, request: ObsRequest, info: ObjectInfo) -> ObsError:
        prefix = request.dialect.value
        headers = {f"{prefix}delete-marker": "true", f"{prefix}version-id": info.version or "null", "Allow": "DELETE"}
        message = "The specified method is not allowed against this resource."
        return ObsError(405, "MethodNotAllowed", message, headers=headers)


def replacement(request: ObsRequest) -> Condition:
    """The conditions of a write, to be looked at in the moment of the write."""
    forbidden = (request.ours("forbid-overwrite") or "").lower() == "true"

    def check(current: ObjectInfo | None) -> None:
        check_replacement(request.raw.header, request.key, current, forbid_overwrite=forbidden)

    return check


def _metadata_change(request: ObsRequest, *, keep_unnamed: bool) -> Callable[[ObjectInfo], ObjectInfo]:
    told = metadata(request)
    named = {
        name: clean(name, value) for name in STORED_HEADERS if (value := request.raw.header(name.lower())) is not None
    }
    content_type = request.raw.header("content-type")
    wanted_class = request.ours("storage-class")
    redirect = request.ours("website-redirect-location")
    days = request.raw.header("x-obs-expires")

    def changed(info: ObjectInfo) -> ObjectInfo:
        before = info.attributes if keep_unnamed else Attributes(traits=info.traits)
        traits = before.traits
        if wanted_class:
            if is_frozen(info) and storage_class(wanted_class) != traits.storage_class:
                raise ObsError(403, "InvalidObjectState", "The object must be restored before its class is changed.")
            traits = replace(traits, storage_class=storage_class(wanted_class), restored_days=0)
        if redirect is not None or not keep_unnamed:
            traits = replace(traits, redirect=redirect or "")
        if days:
            traits = replace(traits, expires_days=days)
        return replace(
            info,
            modified_ms=now_ms(),
            content_type=content_type or before.content_type,
            metadata=told if told or not keep_unnamed else info.metadata,
            headers={**before.headers, **named},
            traits=traits,
        )

    return changed


def _drop_checksums(headers: dict[str, str]) -> None:
    """They are those of the whole object, and a client would compare them with the part."""
    for name in [name for name in headers if name.startswith("x-amz-checksum-")]:
        del headers[name]


def _not_modified(headers: Mapping[str, str]) -> web.Response:
    kept = {name: value for name, value in headers.items() if name != "Content-Type"}
    return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=kept)
