"""Buckets over the wire: making, finding, listing, emptying in batches."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import unquote_plus
from xml.etree import ElementTree

from aiohttp import web

from traindeck.lab.obs.answers import document, element, empty, stamp, url_text
from traindeck.lab.obs.errors import (
    AccessDenied,
    BucketAlreadyOwnedByYou,
    InvalidArgument,
    InvalidRequest,
    MalformedXML,
    NoSuchBucket,
    NotImplementedHere,
    ObsError,
)
from traindeck.lab.obs.incoming import IncomingBody
from traindeck.lab.obs.index import BucketInfo, ObjectInfo
from traindeck.lab.obs.listing import Listing
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.signing.signatures import Dialect
from traindeck.lab.workers import Workers

MAX_PAGE = 1000
MAX_BATCH = 1000
_MAX_DOCUMENT = 8 << 20
_LIST_NAMES = ("prefix", "marker", "delimiter", "max-keys", "encoding-type")
_LIST_V2_NAMES = ("list-type", "continuation-token", "start-after", "fetch-owner")
# A refused header may be the one that protects the data: no other ACL than the private one exists here yet.
_CREATE_HEADERS = frozenset({"acl", "date", "content-sha256", "security-token", "location", "storage-class"})


class Buckets:
    """The operations on the service and on a bucket."""

    def __init__(self, store: ObjectStore, workers: Workers, region: str) -> None:
        self._store = store
        self._workers = workers
        self._region = region

    async def list_all(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("marker", "max-keys")
        owner = request.payer.domain_id
        found = await self._workers.run(self._store.buckets, owner)
        found = [bucket for bucket in found if bucket.name > request.query.get("marker", "")]
        limit = _max_keys(request.query) if "max-keys" in request.query else len(found)
        shown = found[:limit]
        buckets = "".join(f"<Bucket>{self._bucket_elements(bucket)}</Bucket>" for bucket in shown)
        content = f"<Owner>{_owner(request, owner)}</Owner><Buckets>{buckets}</Buckets>"
        if len(shown) < len(found):
            content += element("IsTruncated", True) + element("NextMarker", shown[-1].name if shown else "")
        return document(request, "ListAllMyBucketsResult", content)

    async def create(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these()
        owner = request.payer.domain_id
        check_headers(request, _CREATE_HEADERS)
        body = await self._small_body(request)
        self._check_location(body)
        # The same owner asks again: the bucket is there with its first attributes, and that is a success.
        with suppress(BucketAlreadyOwnedByYou):
            await self._workers.run(self._store.create_bucket, request.bucket, owner)
        return empty(request, 200, {"Location": f"/{request.bucket}"})

    async def head(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these()
        await self.owned(request, request.bucket)
        location = "bucket-location" if request.dialect is Dialect.OBS else "bucket-region"
        headers = {f"{request.dialect.value}{location}": self._region, "x-obs-version": "3.0"}
        if request.dialect is Dialect.OBS:
            headers["x-obs-storage-class"] = "STANDARD"
        return empty(request, 200, headers)

    async def probe(self, request: ObsRequest) -> web.StreamResponse:
        """The unsigned question which dialect is spoken here."""
        if request.bucket and await self._workers.run(self._store.bucket, request.bucket) is None:
            raise NoSuchBucket(request.bucket)
        return empty(request, 200, {"x-obs-api": "3.0"})

    async def location(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("location")
        await self.owned(request, request.bucket)
        if request.dialect is Dialect.OBS:
            return document(request, "Location", self._region)
        # The OBS SDK looks for a child of this name, S3 clients read the text of the root: both find it.
        return document(request, "LocationConstraint", self._region + element("LocationConstraint", self._region))

    async def delete(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these()
        await self.owned(request, request.bucket)
        await self._workers.run(self._store.delete_bucket, request.bucket)
        return empty(request, 204)

    async def list_objects(self, request: ObsRequest) -> web.StreamResponse:
        is_v2 = "list-type" in request.query
        request.only_these(*_LIST_NAMES, *(_LIST_V2_NAMES if is_v2 else ()))
        if is_v2 and request.query["list-type"] != "2":
            raise InvalidArgument("list-type", request.query["list-type"])
        bucket = await self.owned(request, request.bucket)
        query = request.query
        encoding = query.get("encoding-type", "")
        if encoding not in ("", "url"):
            raise InvalidArgument("encoding-type", encoding, "Invalid Encoding Method specified in Request")
        limit = _max_keys(query)
        marker = _v2_marker(query) if is_v2 else query.get("marker", "")
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        page = await self._workers.run(self._store.listing, bucket.name, prefix, marker, delimiter, limit)
        with_owner = not is_v2 or query.get("fetch-owner") == "true"
        body = await self._workers.run(_list_body, request, bucket, page, is_v2, limit, with_owner)
        return document(request, "ListBucketResult", body)

    async def delete_objects(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("delete")
        bucket = await self.owned(request, request.bucket)
        body = await self._small_body(request, digest_needed=True)
        content = await self._workers.run(self._deleted, bucket.name, body)
        return document(request, "DeleteResult", content)

    async def owned(self, request: ObsRequest, name: str) -> BucketInfo:
        account = request.payer
        bucket = await self._workers.run(self._store.bucket, name)
        if bucket is None:
            raise NoSuchBucket(name)
        if bucket.owner != account.domain_id:
            raise AccessDenied
        return bucket

    def _deleted(self, bucket: str, body: bytes) -> str:
        root = _parsed(body)
        quiet = (_child(root, "Quiet") or "").strip().lower() == "true"
        is_encoded = _child(root, "EncodingType") == "url"
        shown: Callable[[str], str] = url_text if is_encoded else str
        objects = [node for node in root if _local(node.tag) == "Object"]
        if not objects or len(objects) > MAX_BATCH:
            raise MalformedXML
        parts: list[str] = []
        for node in objects:
            given = _child(node, "Key")
            if given is None:
                raise MalformedXML
            key = unquote_plus(given) if is_encoded else given
            try:
                if _child(node, "VersionId") not in (None, "", "null"):
                    raise NotImplementedHere("versions of objects")
                self._store.delete(bucket, key)
            except ObsError as error:
                detail = element("Code", error.code) + element("Message", error.message)
                parts.append(f"<Error>{element('Key', shown(key))}{detail}</Error>")
            else:
                if not quiet:
                    parts.append(f"<Deleted>{element('Key', shown(key))}</Deleted>")
        return (element("EncodingType", "url") if is_encoded else "") + "".join(parts)

    async def _small_body(self, request: ObsRequest, *, digest_needed: bool = False) -> bytes:
        if request.verified is None:
            raise AccessDenied
        incoming = IncomingBody(request.http, request.raw, request.verified)
        if digest_needed and not incoming.has_digest and not _has_any_checksum(request):
            raise InvalidRequest("Missing required header for this request: Content-MD5.")
        body = await incoming.whole(_MAX_DOCUMENT)
        incoming.finish(lambda: hashlib.md5(body, usedforsecurity=False).digest())
        return body

    def _check_location(self, body: bytes) -> None:
        if not body.strip():
            return
        root = _parsed(body)
        wanted = _child(root, "Location") or _child(root, "LocationConstraint") or self._region
        if wanted != self._region:
            message = f"The Lab has one region, {self._region}; {wanted} is not it."
            raise ObsError(400, "InvalidLocationConstraint", message)

    def _bucket_elements(self, bucket: BucketInfo) -> str:
        return (
            element("Name", bucket.name)
            + element("CreationDate", stamp(bucket.created))
            + element("Location", self._region)
            + element("BucketType", "OBJECT")
        )


def check_headers(request: ObsRequest, known: frozenset[str]) -> None:
    """Refuse headers that ask for something the Lab would silently not do."""
    for name, value in request.our_headers().items():
        is_plain = name.startswith(("meta-", "checksum-")) or name in known
        allowed = {"acl": ("private", "bucket-owner-full-control"), "storage-class": ("STANDARD",)}.get(name)
        if not is_plain or (allowed and value not in allowed):
            raise NotImplementedHere(f"the header {request.dialect.value}{name} with this value")


def _list_body(
    request: ObsRequest, bucket: BucketInfo, page: Listing, is_v2: bool, limit: int, with_owner: bool
) -> str:
    query = request.query
    is_url = query.get("encoding-type") == "url"
    shown: Callable[[str], str] = url_text if is_url else str
    owner = f"<Owner>{_owner(request, bucket.owner)}</Owner>" if with_owner else ""
    head = [element("Name", bucket.name), element("Prefix", shown(query.get("prefix", "")))]
    if is_v2:
        head.append(element("KeyCount", len(page.contents) + len(page.common_prefixes)))
        for name, parameter in (("StartAfter", "start-after"), ("ContinuationToken", "continuation-token")):
            if parameter in query:
                head.append(element(name, shown(query[parameter]) if name == "StartAfter" else query[parameter]))
        if page.is_truncated:
            head.append(element("NextContinuationToken", _token(page.next_marker)))
    else:
        head.append(element("Marker", shown(query.get("marker", ""))))
        if page.is_truncated:
            head.append(element("NextMarker", shown(page.next_marker)))
    head.append(element("MaxKeys", limit))
    if query.get("delimiter"):
        head.append(element("Delimiter", shown(query["delimiter"])))
    head.append(element("IsTruncated", page.is_truncated))
    if is_url:
        head.append(element("EncodingType", "url"))
    head += [_entry(info, shown, owner) for info in page.contents]
    head += [f"<CommonPrefixes>{element('Prefix', shown(one))}</CommonPrefixes>" for one in page.common_prefixes]
    return "".join(head)


def _entry(info: ObjectInfo, shown: Callable[[str], str], owner: str) -> str:
    return (
        f"<Contents>{element('Key', shown(info.key))}<LastModified>{stamp(info.modified)}</LastModified>"
        f"<ETag>&quot;{info.etag}&quot;</ETag><Size>{info.size}</Size>{owner}<StorageClass>STANDARD</StorageClass>"
        "</Contents>"
    )


def _owner(request: ObsRequest, owner: str) -> str:
    return element("ID", owner) + (element("DisplayName", owner) if request.dialect is Dialect.S3 else "")


def _max_keys(query: Mapping[str, str]) -> int:
    text = query.get("max-keys", "")
    if not text:
        return MAX_PAGE
    try:
        value = int(text)
    except ValueError as error:
        raise InvalidArgument("max-keys", text) from error
    # Zero asks for no entries; anything else outside the limits means a full page.
    return value if 0 <= value <= MAX_PAGE else MAX_PAGE


def _token(marker: str) -> str:
    return base64.urlsafe_b64encode(marker.encode("utf-8")).decode("ascii")


def _v2_marker(query: Mapping[str, str]) -> str:
    token = query.get("continuation-token")
    if token is None:
        return query.get("start-after", "")
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode("utf-8")
    except ValueError as error:
        raise InvalidArgument("continuation-token", token, "The continuation token provided is incorrect") from error


def _has_any_checksum(request: ObsRequest) -> bool:
    return any(name.startswith("checksum-") for name in request.our_headers())


def _parsed(body: bytes) -> ElementTree.Element:
    # A document type is the door to entities that grow without end, and no request has one.
    if b"<!DOCTYPE" in body:
        raise MalformedXML
    try:
        return ElementTree.fromstring(body)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise MalformedXML from error


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _child(node: ElementTree.Element, name: str) -> str | None:
    for child in node:
        if _local(child.tag) == name:
            return child.text or ""
    return None
