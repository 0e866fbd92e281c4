"""Listings over the wire, and the deletion of many objects at once."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote_plus

from aiohttp import web

from traindeck.lab.obs.body_streams import Operations
from traindeck.lab.obs.conditions import check_deletion
from traindeck.lab.obs.documents import Node, child, children, parsed
from traindeck.lab.obs.errors import InvalidArgument, MalformedXML, ObsError
from traindeck.lab.obs.object_headers import BYPASS, OF_EVERY_REQUEST, check_headers, shown_class
from traindeck.lab.obs.records import NO_TRAITS, NULL, BucketInfo, ObjectInfo
from traindeck.lab.obs.request import (
    ObsRequest,
    document,
    element,
    elements,
    etag_element,
    fits_xml,
    identity,
    stamp,
    url_text,
)

MAX_PAGE = 1000
MAX_BATCH = 1000
_LIST_NAMES = ("prefix", "marker", "delimiter", "max-keys", "encoding-type")
_LIST_V2_NAMES = ("list-type", "continuation-token", "start-after", "fetch-owner")
_VERSION_NAMES = ("versions", "prefix", "key-marker", "version-id-marker", "delimiter", "max-keys", "encoding-type")


class Listings(Operations):
    """The operations that look at, or remove, many objects."""

    async def objects(self, request: ObsRequest) -> web.StreamResponse:
        is_v2 = "list-type" in request.query
        request.only_these(*_LIST_NAMES, *(_LIST_V2_NAMES if is_v2 else ()))
        if is_v2 and request.query["list-type"] != "2":
            raise InvalidArgument("list-type", request.query["list-type"])
        bucket = self._access.bucket(request, "ListBucket")
        body = await self._workers.run(self._object_page, request, bucket, is_v2)
        return document(request, "ListBucketResult", body)

    async def versions(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these(*_VERSION_NAMES)
        bucket = self._access.bucket(request, "ListBucketVersions")
        body = await self._workers.run(self._version_page, request, bucket)
        return document(request, "ListVersionsResult", body)

    async def delete(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("delete")
        check_headers(request, OF_EVERY_REQUEST | BYPASS)
        bucket = self._store.bucket(request.bucket)
        # Only a policy tells one key from another.
        if bucket is None or "policy" not in bucket.settings:
            self._access.bucket(request, "DeleteObject")
        body = await self._document(request, digest_needed=True)
        return document(request, "DeleteResult", await self._workers.run(self._deleted, request, body))

    def _object_page(self, request: ObsRequest, bucket: BucketInfo, is_v2: bool) -> str:
        query, shown, limit = request.query, shown_by(request), max_keys(request.query)
        prefix, marker = query.get("prefix", ""), _v2_marker(query) if is_v2 else query.get("marker", "")
        page = self._store.listing(bucket.name, prefix, marker, query.get("delimiter", ""), limit)
        with_owner = not is_v2 or query.get("fetch-owner") == "true"
        parts = [elements(Name=bucket.name, Prefix=shown(prefix))]
        if is_v2:
            parts.append(element("KeyCount", len(page.contents) + len(page.common_prefixes)))
            if "start-after" in query:
                parts.append(element("StartAfter", shown(query["start-after"])))
            if "continuation-token" in query:
                parts.append(element("ContinuationToken", query["continuation-token"]))
            if page.is_truncated:
                token = base64.urlsafe_b64encode(page.next_marker.encode("utf-8")).decode("ascii")
                parts.append(element("NextContinuationToken", token))
        else:
            parts.append(element("Marker", shown(marker)))
            if page.is_truncated:
                parts.append(element("NextMarker", shown(page.next_marker)))
        parts += [element("MaxKeys", limit), _tail(request, page.is_truncated)]
        owners = {"": f"<Owner>{identity(bucket.owner, request.dialect)}</Owner>" if with_owner else ""}
        for info in page.contents:
            owner = info.traits.owner if with_owner else ""
            if owner not in owners:
                owners[owner] = f"<Owner>{identity(owner, request.dialect)}</Owner>"
            parts.append(f"<Contents>{_entry(request, info, shown(info.key), owners[owner])}</Contents>")
        return "".join(parts) + prefix_elements(page.common_prefixes, shown)

    def _version_page(self, request: ObsRequest, bucket: BucketInfo) -> str:
        query, shown, limit = request.query, shown_by(request), max_keys(request.query)
        prefix, delimiter, marker, id_marker = (
            query.get(name, "") for name in ("prefix", "delimiter", "key-marker", "version-id-marker")
        )
        if id_marker and not marker:
            raise InvalidArgument("version-id-marker", id_marker, "A version-id marker needs a key marker.")
        page = self._store.version_listing(bucket.name, prefix, marker, id_marker, delimiter, limit)
        told = elements(Name=bucket.name, Prefix=shown(prefix), KeyMarker=shown(marker), VersionIdMarker=id_marker)
        parts = [told]
        if page.is_truncated:
            last = page.contents[-1].info if page.contents else None
            parts.append(element("NextKeyMarker", shown(page.next_marker)))
            if last and last.key == page.next_marker:
                parts.append(element("NextVersionIdMarker", last.version or NULL))
        parts += [element("MaxKeys", limit), _tail(request, page.is_truncated)]
        for entry in page.contents:
            info, key = entry.info, shown(entry.key)
            owner = f"<Owner>{identity(info.traits.owner or bucket.owner, request.dialect)}</Owner>"
            version = elements(VersionId=info.version or NULL, IsLatest=entry.is_latest)
            if info.is_marker:
                modified = element("LastModified", stamp(info.modified_ms))
                parts.append(f"<DeleteMarker>{element('Key', key)}{version}{modified}{owner}</DeleteMarker>")
            else:
                parts.append(f"<Version>{_entry(request, info, key, owner, version)}</Version>")
        return "".join(parts) + prefix_elements(page.common_prefixes, shown)

    def _deleted(self, request: ObsRequest, body: bytes) -> str:
        root = parsed(body, "Delete")
        quiet = (child(root, "Quiet") or "").strip().lower() == "true"
        is_encoded = child(root, "EncodingType") == "url"
        shown: Callable[[str], str] = url_text if is_encoded else str
        objects = list(children(root, "Object"))
        if not objects or len(objects) > MAX_BATCH:
            raise MalformedXML
        parts = [element("EncodingType", "url") if is_encoded else ""]
        for node in objects:
            given = child(node, "Key")
            if given is None:
                raise MalformedXML
            key = unquote_plus(given) if is_encoded else given
            version = child(node, "VersionId") or None
            named = element("Key", shown(key)) + (element("VersionId", version) if version else "")
            try:
                told = self._delete_one(request, key, version, node)
            except ObsError as error:
                parts.append(f"<Error>{named}{elements(Code=error.code, Message=error.message)}</Error>")
            else:
                parts.append("" if quiet else f"<Deleted>{named}{told}</Deleted>")
        return "".join(parts)

    def _delete_one(self, request: ObsRequest, key: str, version: str | None, node: Node) -> str:
        self._access.bucket(request, "DeleteObject" if version is None else "DeleteObjectVersion", key=key)
        needed_to_be = (child(node, name) for name in ("ETag", "Size", "LastModifiedTime"))
        gone = self._store.delete(request.bucket, key, version, check_deletion(key, version, *needed_to_be))
        if gone is None or not gone.is_marker:
            return ""
        return elements(DeleteMarker=True, DeleteMarkerVersionId=version or gone.version or NULL)


def max_keys(query: Mapping[str, str], name: str = "max-keys") -> int:
    text = query.get(name, "")
    if not text:
        return MAX_PAGE
    try:
        value = int(text)
    except ValueError as error:
        raise InvalidArgument(name, text) from error
    if value < 0:
        raise InvalidArgument(name, text, "Argument max-keys must be an integer between 0 and 2147483647")
    # Zero asks for no entries; more than the limit means a full page.
    return min(value, MAX_PAGE)


def shown_by(request: ObsRequest) -> Callable[[str], str]:
    encoding = request.query.get("encoding-type", "")
    if encoding not in ("", "url"):
        raise InvalidArgument("encoding-type", encoding, "Invalid Encoding Method specified in Request")
    return url_text if encoding else _as_it_is


def _as_it_is(key: str) -> str:
    """The service writes a document that no parser takes, and has `encoding-type` against it ("Listing Objects in a
    Bucket" of the API reference). A refusal can be read, and an encoding nobody asked for would name other keys."""
    if not fits_xml(key):
        message = "A key here holds characters that XML cannot carry. Ask again with encoding-type=url."
        raise InvalidArgument("encoding-type", "", message)
    return key


def prefix_elements(prefixes: Sequence[str], shown: Callable[[str], str]) -> str:
    return "".join(f"<CommonPrefixes>{element('Prefix', shown(one))}</CommonPrefixes>" for one in prefixes)


def _tail(request: ObsRequest, is_truncated: bool) -> str:
    query, shown = request.query, shown_by(request)
    delimiter = element("Delimiter", shown(query["delimiter"])) if query.get("delimiter") else ""
    encoding = element("EncodingType", "url") if query.get("encoding-type") else ""
    return delimiter + element("IsTruncated", is_truncated) + encoding


def _entry(request: ObsRequest, info: ObjectInfo, key: str, owner: str, version: str = "") -> str:
    kind, storage = "", "STANDARD"
    if info.traits is not NO_TRAITS:
        storage = shown_class(info.traits.storage_class, request.dialect)
        kind = "<Type>Appendable</Type>" if info.traits.is_appendable else ""
    return (
        f"{element('Key', key)}{version}<LastModified>{stamp(info.modified_ms)}</LastModified>"
        f"{etag_element(info.etag)}<Size>{info.size}</Size>{owner}"
        f"<StorageClass>{storage}</StorageClass>{kind}"
    )


def _v2_marker(query: Mapping[str, str]) -> str:
    token = query.get("continuation-token")
    if token is None:
        return query.get("start-after", "")
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode("utf-8")
    except ValueError as error:
        raise InvalidArgument("continuation-token", token, "The continuation token provided is incorrect") from error
