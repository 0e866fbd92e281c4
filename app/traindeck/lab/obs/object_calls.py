"""Objects over the wire: storing, sending, copying, removing one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import BinaryIO
from urllib.parse import unquote_plus

from aiohttp import web

from traindeck.lab.obs.answers import document, element, empty, object_headers, stamp
from traindeck.lab.obs.bucket_calls import Buckets, check_headers
from traindeck.lab.obs.conditions import ByteRange, byte_range, check_replacement, is_not_modified
from traindeck.lab.obs.errors import (
    AccessDenied,
    InvalidArgument,
    InvalidRequest,
    NoSuchKey,
    NotImplementedHere,
    ObsError,
    PreconditionFailed,
)
from traindeck.lab.obs.incoming import IncomingBody, too_large
from traindeck.lab.obs.index import ObjectInfo
from traindeck.lab.obs.names import key_bytes
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.obs.store import COPY_BLOCK, DEFAULT_CONTENT_TYPE, BodyWriter, Condition, ObjectStore
from traindeck.lab.workers import Workers

SMALL = 256 * 1024
MAX_METADATA = 8 * 1024
_STORED_HEADERS = ("Cache-Control", "Expires", "Content-Encoding", "Content-Disposition", "Content-Language")
_OVERRIDES = {
    "response-content-type": "Content-Type",
    "response-content-language": "Content-Language",
    "response-expires": "Expires",
    "response-cache-control": "Cache-Control",
    "response-content-disposition": "Content-Disposition",
    "response-content-encoding": "Content-Encoding",
}
_PUT_HEADERS = frozenset(
    {"acl", "date", "content-sha256", "security-token", "storage-class", "forbid-overwrite", "trailer"}
    | {"decoded-content-length", "sdk-checksum-algorithm"}
)
_COPY_HEADERS = _PUT_HEADERS | {
    "copy-source",
    "metadata-directive",
    "copy-source-if-match",
    "copy-source-if-none-match",
    "copy-source-if-modified-since",
    "copy-source-if-unmodified-since",
}


@dataclass(frozen=True, slots=True)
class _Attributes:
    """What a PUT says about an object beside its bytes."""

    content_type: str
    metadata: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Opened:
    """An object made ready to be sent: small ones as bytes, others as an open file."""

    info: ObjectInfo
    part: ByteRange | None
    is_not_modified: bool = False
    data: bytes | None = None
    file: BinaryIO | None = None


class Objects:
    """The operations on one object."""

    def __init__(self, store: ObjectStore, buckets: Buckets, workers: Workers) -> None:
        self._store = store
        self._buckets = buckets
        self._workers = workers

    async def put(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these()
        verified = request.verified
        if verified is None:
            raise AccessDenied
        key_bytes(request.key)
        check_headers(request, _PUT_HEADERS)
        attributes = _attributes(request)
        incoming = IncomingBody(request.http, request.raw, verified)
        await self._buckets.owned(request, request.bucket)
        if incoming.announced_size is not None and incoming.announced_size <= SMALL:
            body = await incoming.whole(SMALL)
            info = await self._workers.run(self._put_small, request, body, incoming, attributes)
        else:
            info = await self._put_stream(request, incoming, attributes)
        return empty(request, 200, {"ETag": f'"{info.etag}"', **incoming.checksums})

    async def get(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these(*_OVERRIDES)
        overrides = _overrides(request)
        await self._buckets.owned(request, request.bucket)
        opened = await self._workers.run(self._opened, request)
        with ExitStack() as stack:
            if opened.file:
                stack.callback(opened.file.close)
            headers = {**object_headers(request, opened.info), **overrides}
            if opened.is_not_modified:
                return _not_modified(headers)
            length = opened.part.length if opened.part else opened.info.size
            if opened.part:
                headers["Content-Range"] = _content_range(opened.part, opened.info.size)
            status = 206 if opened.part else 200
            if opened.data is not None:
                return web.Response(status=status, body=opened.data, headers=headers)
            if opened.file is None:
                raise NoSuchKey(request.key)
            first = opened.part.first if opened.part else 0
            return await _send(request.http, status, headers, opened.file, first, length)

    async def head(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these(*_OVERRIDES)
        overrides = _overrides(request)
        await self._buckets.owned(request, request.bucket)
        info = await self._workers.run(self._store.info, request.bucket, request.key)
        if info is None:
            raise NoSuchKey(request.key)
        headers = {**object_headers(request, info), **overrides}
        if is_not_modified(request.raw.header, info, now=datetime.now(UTC)):
            return _not_modified(headers)
        part = byte_range(request.raw.header("range"), info.size)
        headers["Content-Length"] = str(part.length if part else info.size)
        if part:
            headers["Content-Range"] = _content_range(part, info.size)
        return web.Response(status=206 if part else 200, headers=headers)

    async def delete(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these()
        await self._buckets.owned(request, request.bucket)
        await self._workers.run(self._store.delete, request.bucket, request.key)
        return empty(request, 204)

    async def copy(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these()
        key_bytes(request.key)
        check_headers(request, _COPY_HEADERS)
        await self._buckets.owned(request, request.bucket)
        source_bucket, source_key = _copy_source(request)
        await self._buckets.owned(request, source_bucket)
        directive = request.ours("metadata-directive") or "COPY"
        if directive not in ("COPY", "REPLACE"):
            raise InvalidArgument("metadata-directive", directive)
        if directive == "COPY" and (source_bucket, source_key) == (request.bucket, request.key):
            raise InvalidRequest("An object can be copied onto itself only with new metadata.")
        attributes = _attributes(request) if directive == "REPLACE" else None
        info = await self._workers.run(self._copied, request, source_bucket, source_key, attributes)
        content = element("LastModified", stamp(info.modified)) + f"<ETag>&quot;{info.etag}&quot;</ETag>"
        return document(request, "CopyObjectResult", content)

    def _put_small(
        self, request: ObsRequest, body: bytes, incoming: IncomingBody, attributes: _Attributes
    ) -> ObjectInfo:
        with self._store.new_body() as writer:
            writer.write(body)
            return self._committed(writer, request, incoming, attributes)

    async def _put_stream(self, request: ObsRequest, incoming: IncomingBody, attributes: _Attributes) -> ObjectInfo:
        writer = await self._workers.run(self._store.new_body)

        def take(block: bytes) -> None:
            incoming.update(block)
            writer.write(block)

        # One block is hashed and written while the next one arrives.
        taken: asyncio.Future[None] | None = None
        try:
            async for block in incoming.blocks():
                if taken:
                    await self._workers.ended(taken)
                taken = self._workers.start(take, block)
            if taken:
                await self._workers.ended(taken)
            return await self._workers.run(self._committed, writer, request, incoming, attributes)
        finally:
            # A file must not be closed under a thread that still writes to it.
            if taken:
                await self._workers.settled(taken)
            await asyncio.shield(self._workers.run(writer.discard))

    def _committed(
        self, writer: BodyWriter, request: ObsRequest, incoming: IncomingBody, attributes: _Attributes
    ) -> ObjectInfo:
        incoming.finish(lambda: writer.md5)
        return writer.commit(
            request.bucket,
            request.key,
            content_type=attributes.content_type,
            metadata=attributes.metadata,
            headers=attributes.headers,
            condition=_replacement(request),
        )

    def _opened(self, request: ObsRequest) -> _Opened:
        info, file = self._store.open(request.bucket, request.key)
        with ExitStack() as stack:
            stack.callback(file.close)
            if is_not_modified(request.raw.header, info, now=datetime.now(UTC)):
                return _Opened(info, None, is_not_modified=True)
            part = byte_range(request.raw.header("range"), info.size)
            length = part.length if part else info.size
            if length <= SMALL:
                file.seek(part.first if part else 0)
                return _Opened(info, part, data=file.read(length))
            stack.pop_all()
            return _Opened(info, part, file=file)

    def _copied(
        self, request: ObsRequest, source_bucket: str, source_key: str, attributes: _Attributes | None
    ) -> ObjectInfo:
        source, file = self._store.open(source_bucket, source_key)
        with file, self._store.new_body() as writer:
            _check_copy_source(request, source)
            if source.size > 5 * 1024**3:
                raise too_large()
            while block := file.read(COPY_BLOCK):
                writer.write(block)
            kept = attributes or _Attributes(source.content_type, source.metadata, source.headers)
            return writer.commit(
                request.bucket,
                request.key,
                content_type=kept.content_type,
                metadata=kept.metadata,
                headers=kept.headers,
                condition=_replacement(request),
            )


async def _send(
    http: web.BaseRequest, status: int, headers: Mapping[str, str], file: BinaryIO, first: int, length: int
) -> web.StreamResponse:
    """Hand the file to the system's own copying, which neither fills memory nor passes through Python."""
    response = web.StreamResponse(status=status, headers=headers)
    response.content_length = length
    await response.prepare(http)
    if http.transport is None:
        raise ConnectionResetError("The client has gone.")
    sent = await asyncio.get_running_loop().sendfile(http.transport, file, first, length)
    if sent != length:
        # The length is promised already; a closed connection is the only way to say that the rest is missing.
        http.transport.abort()
    await response.write_eof()
    return response


def _attributes(request: ObsRequest) -> _Attributes:
    metadata = {
        name.removeprefix("meta-"): _clean(name, value)
        for name, value in request.our_headers().items()
        if name.startswith("meta-")
    }
    if sum(len(name) + len(value.encode("utf-8")) for name, value in metadata.items()) > MAX_METADATA:
        message = "Your metadata headers exceed the maximum allowed metadata size."
        raise ObsError(400, "MetadataTooLarge", message)
    headers = {
        name: _clean(name, value) for name in _STORED_HEADERS if (value := request.raw.header(name.lower())) is not None
    }
    # aws-chunked is how the body travelled, not what it is.
    codings = [one.strip() for one in headers.pop("Content-Encoding", "").split(",")]
    if kept := [one for one in codings if one and one != "aws-chunked"]:
        headers["Content-Encoding"] = ", ".join(kept)
    content_type = _clean("Content-Type", request.raw.header("content-type") or DEFAULT_CONTENT_TYPE)
    return _Attributes(content_type, metadata, headers)


def _overrides(request: ObsRequest) -> dict[str, str]:
    return {header: _clean(name, request.query[name]) for name, header in _OVERRIDES.items() if name in request.query}


def _clean(name: str, value: str) -> str:
    """A value fit to be sent as a header: a line break in it would begin a header of its own."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidArgument(name, ascii(value), "The value is not valid UTF-8.") from error
    if any(ord(letter) < 32 and letter != "\t" for letter in value) or "\x7f" in value:
        raise InvalidArgument(name, ascii(value), "The value holds control characters.")
    return value


def _replacement(request: ObsRequest) -> Condition:
    forbidden = (request.ours("forbid-overwrite") or "").lower() == "true"

    def check(current: ObjectInfo | None) -> None:
        check_replacement(request.raw.header, request.key, current, forbid_overwrite=forbidden)

    return check


def _copy_source(request: ObsRequest) -> tuple[str, str]:
    given = request.ours("copy-source") or ""
    path, question, query = given.partition("?")
    if question and query.startswith("versionId="):
        raise NotImplementedHere("versions of objects")
    bucket, slash, key = unquote_plus(path.replace("+", "%2B")).removeprefix("/").partition("/")
    if question or not bucket or not slash or not key:
        raise InvalidArgument("copy-source", ascii(given), "The copy source must be /bucket/key, percent-encoded.")
    return bucket, key


def _check_copy_source(request: ObsRequest, source: ObjectInfo) -> None:
    def header(name: str) -> str | None:
        return request.ours(f"copy-source-{name}")

    if is_not_modified(header, source, now=datetime.now(UTC)):
        raise PreconditionFailed("copy-source-If-None-Match")


def _not_modified(headers: Mapping[str, str]) -> web.Response:
    kept = {name: value for name, value in headers.items() if name != "Content-Type"}
    return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=kept)


def _content_range(part: ByteRange, size: int) -> str:
    return f"bytes {part.first}-{part.last}/{size}"
