"""Objects over the wire: storing, sending, describing, copying, removing one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from urllib.parse import unquote_plus

from aiohttp import web

from traindeck.lab.obs.access import read_action
from traindeck.lab.obs.body_streams import (
    CHECKSUM_PREFIX,
    SMALL,
    Body,
    IncomingBody,
    Operations,
    content_range,
    send,
    too_large,
)
from traindeck.lab.obs.checksums import CRC64
from traindeck.lab.obs.conditions import ByteRange, byte_ranges, check_deletion, check_replacement, is_not_modified
from traindeck.lab.obs.documents import child, first, needed, parsed
from traindeck.lab.obs.encryption import CUSTOMER_HEADERS, SERVICE_HEADERS, body_seal, customer_key, reading_key
from traindeck.lab.obs.errors import (
    AccessDenied,
    InvalidArgument,
    InvalidRequest,
    MalformedXML,
    MethodNotAllowed,
    NoSuchKey,
    NotImplementedHere,
    ObsError,
    PreconditionFailed,
)
from traindeck.lab.obs.locks import is_locking
from traindeck.lab.obs.object_headers import (
    COPY_HEADERS,
    DELETE_HEADERS,
    HEAD_HEADERS,
    OVERRIDES,
    PUT_HEADERS,
    acl_text,
    attributes,
    check_headers,
    crc64_header,
    is_frozen,
    metadata,
    object_headers,
    overrides,
    owner_of,
    storage_class,
    stored_headers,
    writable,
    written_headers,
)
from traindeck.lab.obs.records import (
    DEFAULT_CONTENT_TYPE,
    NULL,
    Attributes,
    BucketInfo,
    ObjectInfo,
    Traits,
    now_ms,
    whole_number,
)
from traindeck.lab.obs.request import ObsRequest, document, element, empty, etag_element, stamp, version_header
from traindeck.lab.obs.sealing import Unsealed, check_key
from traindeck.lab.obs.storage import BodyWriter, Condition
from traindeck.lab.obs.uploads import MAX_PARTS

MAX_COPY = 5 * 1024**3
_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Source:
    """What is to be copied."""

    bucket: str
    key: str
    version: str | None


PartOf = Callable[[ObjectInfo], ByteRange | None]
_Chosen = tuple[list[ByteRange], Mapping[str, str]]
# Made ready to be sent, with the parts that are asked for and what is told of them: small ones as bytes, None where it
# is not modified.
_Opened = tuple[ObjectInfo, list[ByteRange], bytes | Body | None, Mapping[str, str]]


class Objects(Operations):
    """The operations on one object."""

    async def put(self, request: ObsRequest) -> web.StreamResponse:
        bucket = writable(request, self._access, PUT_HEADERS)
        given = attributes(request, bucket)
        incoming = IncomingBody(request)

        def commit(writer: BodyWriter) -> ObjectInfo:
            traits = replace(given.traits, checksums=incoming.checksums)
            complete = replace(given, traits=traits)
            return writer.commit(request.bucket, request.key, complete, condition=replacement(request))

        info = await self._stored(incoming, commit, body_seal(request, given.traits))
        return empty(request, 200, written_headers(request, bucket, info, incoming))

    async def append(self, request: ObsRequest) -> web.StreamResponse:
        bucket = writable(request, self._access, PUT_HEADERS, "append", "position")
        text = request.query.get("position", "")
        position = whole_number(text)
        if position is None:
            raise InvalidArgument("position", text)
        given = attributes(request, bucket)
        if is_locking(bucket):
            raise AccessDenied("What is locked cannot be appended to.")
        if given.traits.customer:
            raise NotImplementedHere("appending to what is encrypted with a customer's key")
        incoming = IncomingBody(request)

        def add(writer: BodyWriter) -> tuple[str, str, ObjectInfo]:
            info = self._store.append(request.bucket, request.key, position, writer, given)
            return writer.md5.hex(), str(writer.crc64), info

        etag, crc64, info = await self._stored(incoming, add)
        told = {"ETag": f'"{etag}"', "x-obs-next-append-position": str(info.size), **crc64_header(request, crc64)}
        return empty(request, 200, {**written_headers(request, bucket, info, incoming), **told})

    async def get(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("versionId", "partNumber", "attname", *OVERRIDES)
        overridden = overrides(request)
        key = reading_key(request)
        # With the object comes the decision; without the bucket there is nothing to decide.
        bucket = self._store.existing(request.bucket)
        info, parts, body, told = await self._workers.run(self._opened, request, bucket, key)
        with ExitStack() as stack:
            if body and not isinstance(body, bytes):
                stack.callback(body.close)
            headers = {**object_headers(request, bucket, info), **overridden, **told}
            if body is None:
                return _not_modified(headers)
            if info.traits.redirect and request.account is None:
                headers["Location"] = info.traits.redirect
            part = _told_of_parts(headers, parts, info.size)
            status = 206 if part else 200
            if isinstance(body, bytes):
                return web.Response(status=status, body=body, headers=headers)
            if len(parts) > 1:
                return await self._send_parts(request, headers, body, parts, info.size)
            chosen = part or ByteRange(0, info.size - 1)
            if isinstance(body, Unsealed):
                return await self._send_unsealed(request, status, headers, body, chosen)
            return await send(request, status, headers, body, chosen)

    async def head(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("versionId", "partNumber", *OVERRIDES)
        overridden = overrides(request)
        key = reading_key(request)
        bucket = self._store.existing(request.bucket)
        info, chosen = await self._workers.run(self._described, request, bucket, key)
        headers = {**object_headers(request, bucket, info), **overridden}
        if chosen is None:
            return _not_modified(headers)
        parts, told = chosen
        headers |= told
        part = _told_of_parts(headers, parts if len(parts) == 1 else [], info.size)
        headers["Content-Length"] = str(part.length if part else info.size)
        return web.Response(status=206 if part else 200, headers=headers)

    async def delete(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("versionId")
        check_headers(request, DELETE_HEADERS)
        version = request.version
        action = "DeleteObject" if version is None else "DeleteObjectVersion"
        bucket = self._access.bucket(request, action, key=request.key)
        etag, told_size = request.raw.header("if-match"), request.ours("if-match-size")
        condition = check_deletion(request.key, version, etag, told_size, request.ours("if-match-last-modified-time"))
        gone = await self._workers.run(self._store.delete, request.bucket, request.key, version, condition)
        told = version_header(request, bucket, version or (gone.version if gone else "")) if version or gone else {}
        if gone and gone.is_marker:
            told[f"{request.dialect.value}delete-marker"] = "true"
        return empty(request, 204, told)

    async def set_metadata(self, request: ObsRequest) -> web.StreamResponse:
        """Replace what is said about an object; REPLACE_NEW keeps the standard headers that are not named."""
        request.only_these("metadata", "versionId")
        check_headers(request, HEAD_HEADERS)
        directive = request.ours("metadata-directive") or "REPLACE_NEW"
        if directive not in ("REPLACE", "REPLACE_NEW"):
            raise InvalidArgument("metadata-directive", directive)
        await self._document(request)
        bucket = self._access.bucket(request, "ModifyObjectMetaData", key=request.key)
        given = _metadata_change(request, replacement(request), keep_unnamed=directive == "REPLACE_NEW")
        info = await self._workers.run(self._store.update, request.bucket, request.key, request.version, given)
        return empty(request, 200, object_headers(request, bucket, info))

    async def restore(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("restore", "versionId")
        self._access.bucket(request, "RestoreObject", key=request.key)
        root = parsed(await self._document(request), "RestoreRequest")
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

    async def copy(self, request: ObsRequest) -> web.StreamResponse:
        bucket = writable(request, self._access, COPY_HEADERS)
        source = source_of(request)
        directive = request.ours("metadata-directive") or "COPY"
        if directive not in ("COPY", "REPLACE", "REPLACE_NEW"):
            raise InvalidArgument("metadata-directive", directive)
        named = ("storage-class", "website-redirect-location", *SERVICE_HEADERS, *CUSTOMER_HEADERS)
        changes = directive != "COPY" or any(request.ours(name) for name in named)
        if not changes and (source.bucket, source.key) == (request.bucket, request.key) and source.version is None:
            raise InvalidRequest("An object can be copied onto itself only with new metadata.")
        given = attributes(request, bucket)
        seal = body_seal(request, given.traits)
        await self._document(request)

        def copied() -> tuple[ObjectInfo, ObjectInfo]:
            with self._store.new_body(seal) as writer:
                read = self.read(request, source, writer)
                kept = _kept(request, bucket, read, given, directive)
                return read, writer.commit(request.bucket, request.key, kept, condition=replacement(request))

        read, info = await self._workers.run(copied)
        content = element("LastModified", stamp(info.modified_ms)) + etag_element(info.etag)
        headers = {**written_headers(request, bucket, info), **self.source_version(request, source, read)}
        del headers["ETag"]
        return document(request, "CopyObjectResult", content, headers)

    def source_version(self, request: ObsRequest, source: Source, read: ObjectInfo) -> dict[str, str]:
        """Which version was copied, where there are versions: told of copies and of copied parts."""
        bucket = self._store.bucket(source.bucket)
        if not bucket or not bucket.versioning:
            return {}
        return {f"{request.dialect.value}copy-source-version-id": read.version or NULL}

    def read(
        self, request: ObsRequest, source: Source, writer: BodyWriter, part: PartOf = lambda info: None
    ) -> ObjectInfo:
        """Fill the writer from the source, where the request may read it and its conditions hold."""
        bucket = self._store.existing(source.bucket)
        key = customer_key(request, of_source=True)
        self._access.expected(bucket, request.ours("source-expected-bucket-owner"))
        try:
            info, file = self._store.open(source.bucket, source.key, source.version, key)
        except NoSuchKey as error:
            raise self._access.missing(request, bucket, error) from error
        with file:
            self._access.object(request, bucket, info, read_action(source.version))
            if is_not_modified(lambda name: request.ours(f"copy-source-{name}"), info, now=datetime.now(UTC)):
                raise PreconditionFailed("copy-source-If-None-Match")
            if is_frozen(info):
                raise ObsError(403, "InvalidObjectState", "The source of the copy must be restored first.")
            chosen = part(info)
            length = chosen.length if chosen else info.size
            if length > MAX_COPY:
                raise too_large()
            file.seek(chosen.first if chosen else 0)
            writer.take_from(file, length)
        return info

    def _found(self, request: ObsRequest, bucket: BucketInfo) -> ObjectInfo:
        prefix = request.dialect.value
        try:
            info = self._store.found(request.bucket, request.key, request.version)
        except NoSuchKey as error:
            if error.marker:
                error.headers = {f"{prefix}delete-marker": "true", f"{prefix}version-id": error.marker}
            raise self._access.missing(request, bucket, error) from error
        if info.is_marker:
            told = {f"{prefix}delete-marker": "true", f"{prefix}version-id": info.version or NULL, "Allow": "DELETE"}
            raise MethodNotAllowed(headers=told)
        self._access.object(request, bucket, info, read_action(request.version))
        return info

    def _described(
        self, request: ObsRequest, bucket: BucketInfo, key: bytes | None
    ) -> tuple[ObjectInfo, _Chosen | None]:
        info = self._found(request, bucket)
        check_key(info.traits.customer, key)
        if is_not_modified(request.raw.header, info, now=datetime.now(UTC)):
            return info, None
        return info, self._asked_for(request, info)

    def _asked_for(self, request: ObsRequest, info: ObjectInfo) -> _Chosen:
        """The parts of the object that are asked for, none where it is the whole, and what is told of them."""
        text = request.query.get("partNumber")
        if text is None:
            return byte_ranges(request.raw.header, info), {}
        number = whole_number(text, MAX_PARTS)
        if not number:
            message = f"Part number must be an integer between 1 and {MAX_PARTS}, inclusive"
            raise InvalidArgument("partNumber", text, message)
        if request.raw.header("range") is not None:
            raise InvalidRequest("Cannot specify both Range header and partNumber query parameter")
        sizes = [size for size, _ in self._store.pieces(info)]
        if number > len(sizes):
            raise ObsError(416, "InvalidPartNumber", "The requested partnumber is not satisfiable")
        first = sum(sizes[: number - 1])
        # "GetObject" of the S3 reference: the number of parts is told where the object was made of parts.
        told = {f"{request.dialect.value}mp-parts-count": str(len(sizes))} if "-" in info.etag else {}
        length = sizes[number - 1]
        return [ByteRange(first, first + length - 1)] if length else [], told

    def _opened(self, request: ObsRequest, bucket: BucketInfo, key: bytes | None) -> _Opened:
        self._found(request, bucket)
        info, file = self._store.open(request.bucket, request.key, request.version, key)
        with ExitStack() as stack:
            stack.callback(file.close)
            if is_not_modified(request.raw.header, info, now=datetime.now(UTC)):
                return info, [], None, {}
            if is_frozen(info):
                message = "The operation is not valid for the object's storage class."
                raise ObsError(403, "InvalidObjectState", message)
            parts, told = self._asked_for(request, info)
            length = parts[0].length if parts else info.size
            if length <= SMALL and len(parts) <= 1:
                file.seek(parts[0].first if parts else 0)
                return info, parts, file.read(length), told
            stack.pop_all()
            return info, parts, file, told


def source_of(request: ObsRequest) -> Source:
    given = request.ours("copy-source") or ""
    path, question, query = given.partition("?")
    version: str | None = None
    if question:
        name, _, value = query.partition("=")
        if name != "versionId":
            raise InvalidArgument("copy-source", ascii(given))
        version = value or None
    # A plus is a blank here: careful clients send %2B, others encode blanks as plus.
    bucket, slash, key = unquote_plus(path).removeprefix("/").partition("/")
    if not bucket or not slash or not key:
        raise InvalidArgument("copy-source", ascii(given), "The copy source must be /bucket/key, percent-encoded.")
    return Source(bucket, key, version)


def source_range(request: ObsRequest) -> PartOf:
    """The range of a copied part, which must lie within the source."""
    text = request.ours("copy-source-range")
    match = _RANGE.fullmatch(text.strip()) if text else None
    if text and (match is None or int(match[1]) > int(match[2])):
        raise InvalidArgument("copy-source-range", text)

    def chosen(info: ObjectInfo) -> ByteRange | None:
        if match is None:
            return None
        if int(match[2]) >= info.size:
            message = f"Range specified is not valid for source object of size: {info.size}"
            raise InvalidArgument("copy-source-range", text or "", message)
        return ByteRange(int(match[1]), int(match[2]))

    return chosen


def _kept(request: ObsRequest, bucket: BucketInfo, source: ObjectInfo, given: Attributes, directive: str) -> Attributes:
    """Metadata come from the source or from the request; the ACL never comes from the source."""
    old = source.traits
    wanted_class = request.ours("storage-class")
    tags = given.traits.tags if request.ours("tagging-directive") == "REPLACE" else old.tags
    owner = owner_of(request, bucket)
    if directive == "COPY":
        traits = replace(
            old,
            owner="" if owner == bucket.owner else owner,
            acl=acl_text(request, bucket),
            storage_class=storage_class(wanted_class) if wanted_class else bucket.storage_class,
            tags=tags,
            redirect=given.traits.redirect,
            upload_id="",
            appended=0,
            restored_days=0,
            # "CopyObject" of the S3 reference: where the request is silent, the target's bucket decides.
            encryption=given.traits.encryption,
            customer=given.traits.customer,
            locked_until_ms=given.traits.locked_until_ms,
        )
        return Attributes(source.content_type, source.metadata, source.headers, _of_copy(traits))
    traits = replace(given.traits, tags=tags, checksums=old.checksums, checksum_type=old.checksum_type)
    fresh = replace(given, traits=_of_copy(traits))
    if directive == "REPLACE":
        return fresh
    has_type = request.raw.header("content-type") is not None
    return replace(
        fresh,
        content_type=given.content_type if has_type else source.content_type,
        metadata={**source.metadata, **given.metadata},
        headers={**source.headers, **given.headers},
    )


def _of_copy(traits: Traits) -> Traits:
    """A copy is one piece: checksums of parts say nothing about it."""
    is_composite = traits.checksum_type == "COMPOSITE"
    return replace(traits, checksums={}, checksum_type="") if is_composite else traits


def replacement(request: ObsRequest) -> Condition:
    """The conditions of a write, to be looked at in the moment of the write."""
    forbidden = (request.ours("forbid-overwrite") or "").lower() == "true"

    def check(current: ObjectInfo | None) -> None:
        check_replacement(request.raw.header, request.key, current, forbid_overwrite=forbidden)

    return check


def _metadata_change(
    request: ObsRequest, condition: Condition, *, keep_unnamed: bool
) -> Callable[[ObjectInfo], ObjectInfo]:
    told = metadata(request)
    named = stored_headers(request)
    content_type = request.raw.header("content-type")
    wanted_class = request.ours("storage-class")
    redirect = request.ours("website-redirect-location")
    days = request.raw.header("x-obs-expires")

    def changed(info: ObjectInfo) -> ObjectInfo:
        condition(info)
        traits = info.traits
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
            content_type=content_type or (info.content_type if keep_unnamed else DEFAULT_CONTENT_TYPE),
            metadata=told if told or not keep_unnamed else info.metadata,
            headers={**info.headers, **named} if keep_unnamed else named,
            traits=traits,
        )

    return changed


# Checksums are those of the whole object, and S3 clients compare them with any body they get. None looks at CRC-64,
# which the clients of OBS know to be that of the whole.
def _told_of_parts(headers: dict[str, str], parts: Sequence[ByteRange], size: int) -> ByteRange | None:
    """The part, where it is one, said in the headers."""
    part = parts[0] if len(parts) == 1 else None
    for name in [name for name in headers if parts and name.startswith(CHECKSUM_PREFIX)]:
        if not name.endswith(CRC64):
            del headers[name]
    if part:
        headers["Content-Range"] = content_range(part, size)
    return part


def _not_modified(headers: Mapping[str, str]) -> web.Response:
    left_out = ("Content-Type", CHECKSUM_PREFIX)
    kept = {name: value for name, value in headers.items() if not name.startswith(left_out)}
    return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=kept)
