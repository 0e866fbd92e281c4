"""Copies over the wire: of a whole object, or of a range into a part of an upload."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import unquote_plus

from aiohttp import web

from traindeck.lab.obs.answers import document, element, stamp
from traindeck.lab.obs.body_streams import Operations
from traindeck.lab.obs.calls.object_calls import replacement
from traindeck.lab.obs.conditions import ByteRange, is_not_modified
from traindeck.lab.obs.errors import (
    InvalidArgument,
    InvalidRequest,
    NoSuchKey,
    ObsError,
    PreconditionFailed,
)
from traindeck.lab.obs.incoming import too_large
from traindeck.lab.obs.object_headers import (
    COPY_HEADERS,
    acl_text,
    attributes,
    check_headers,
    is_frozen,
    owner_of,
    storage_class,
    written_headers,
)
from traindeck.lab.obs.records import Attributes, BucketInfo, ObjectInfo, Traits, key_bytes
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.obs.storage import NULL
from traindeck.lab.obs.store import BodyWriter

MAX_COPY = 5 * 1024**3
_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Source:
    """What is to be copied."""

    bucket: str
    key: str
    version: str | None


class Copies(Operations):
    """The operations that read one object to write another."""

    async def copy(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these()
        key_bytes(request.key)
        check_headers(request, COPY_HEADERS)
        bucket = self._access.bucket(request, "PutObject", key=request.key)
        source = source_of(request)
        directive = request.ours("metadata-directive") or "COPY"
        if directive not in ("COPY", "REPLACE", "REPLACE_NEW"):
            raise InvalidArgument("metadata-directive", directive)
        changes = directive != "COPY" or request.ours("storage-class") or request.ours("website-redirect-location")
        if not changes and (source.bucket, source.key) == (request.bucket, request.key) and source.version is None:
            raise InvalidRequest("An object can be copied onto itself only with new metadata.")
        given = attributes(request, bucket)
        await self._receiver.document(request)

        def copied() -> tuple[ObjectInfo, ObjectInfo]:
            with self._store.new_body() as writer:
                read = self.read(request, source, writer)
                kept = _kept(request, bucket, read, given, directive)
                return read, writer.commit(request.bucket, request.key, kept, condition=replacement(request))

        read, info = await self._workers.run(copied)
        content = element("LastModified", stamp(info.modified)) + f"<ETag>&quot;{info.etag}&quot;</ETag>"
        headers = written_headers(request, bucket, info)
        del headers["ETag"]
        source_bucket = self._store.bucket(source.bucket)
        if source_bucket and source_bucket.versioning:
            headers[f"{request.dialect.value}copy-source-version-id"] = read.version or NULL
        return document(request, "CopyObjectResult", content, headers)

    def read(
        self,
        request: ObsRequest,
        source: Source,
        writer: BodyWriter,
        part: Callable[[ObjectInfo], ByteRange | None] = lambda info: None,
    ) -> ObjectInfo:
        """Fill the writer from the source, where the request may read it and its conditions hold."""
        bucket = self._store.bucket(source.bucket)
        if bucket is None:
            self._access.bucket(request, "GetObject", name=source.bucket)
        try:
            info, file = self._store.open(source.bucket, source.key, source.version)
        except NoSuchKey as error:
            raise (self._access.missing(request, bucket, error) if bucket else error) from error
        with file:
            if bucket:
                action = "GetObject" if source.version is None else "GetObjectVersion"
                self._access.object(request, bucket, info, action)
            _check_conditions(request, info)
            if is_frozen(info):
                raise ObsError(403, "InvalidObjectState", "The source of the copy must be restored first.")
            chosen = part(info)
            length = chosen.length if chosen else info.size
            if length > MAX_COPY:
                raise too_large()
            file.seek(chosen.first if chosen else 0)
            writer.take_from(file, length)
        return info


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


def source_range(request: ObsRequest) -> Callable[[ObjectInfo], ByteRange | None]:
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
            encryption=given.traits.encryption or old.encryption,
        )
        return Attributes(source.content_type, source.metadata, source.headers, _of_copy(traits))
    traits = replace(given.traits, tags=tags, crc64=old.crc64, checksums=old.checksums, checksum_type=old.checksum_type)
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


def _check_conditions(request: ObsRequest, source: ObjectInfo) -> None:
    def header(name: str) -> str | None:
        return request.ours(f"copy-source-{name}")

    if is_not_modified(header, source, now=datetime.now(UTC)):
        raise PreconditionFailed("copy-source-If-None-Match")
