"""Listings over the wire, and the deletion of many objects at once."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from urllib.parse import unquote_plus

from aiohttp import web

from traindeck.lab.obs.answers import document, element, stamp, url_text
from traindeck.lab.obs.body_streams import Operations
from traindeck.lab.obs.errors import InvalidArgument, MalformedXML, ObsError
from traindeck.lab.obs.listing import Listing
from traindeck.lab.obs.object_headers import shown_class
from traindeck.lab.obs.records import NO_TRAITS, BucketInfo, ObjectInfo, VersionEntry
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.obs.settings import child, children, parsed
from traindeck.lab.obs.storage import NULL
from traindeck.lab.signing.signatures import Dialect

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
        shown_by(request)
        body = await self._workers.run(self._object_page, request, bucket, is_v2)
        return document(request, "ListBucketResult", body)

    async def versions(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these(*_VERSION_NAMES)
        bucket = self._access.bucket(request, "ListBucketVersions")
        shown_by(request)
        body = await self._workers.run(self._version_page, request, bucket)
        return document(request, "ListVersionsResult", body)

    async def delete(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("delete")
        bucket = self._store.bucket(request.bucket)
        # Only a policy tells one key from another.
        if bucket is None or "policy" not in bucket.settings:
            bucket = self._access.bucket(request, "DeleteObject")
        body = await self._receiver.document(request, digest_needed=True)
        content = await self._workers.run(self._deleted, request, bucket, body)
        return document(request, "DeleteResult", content)

    def _object_page(self, request: ObsRequest, bucket: BucketInfo, is_v2: bool) -> str:
        query = request.query
        limit = max_keys(query)
        marker = _v2_marker(query) if is_v2 else query.get("marker", "")
        page = self._store.listing(bucket.name, query.get("prefix", ""), marker, query.get("delimiter", ""), limit)
        return _list_body(request, bucket, page, is_v2, limit)

    def _version_page(self, request: ObsRequest, bucket: BucketInfo) -> str:
        query = request.query
        limit = max_keys(query)
        prefix, delimiter, marker, id_marker = (
            query.get(name, "") for name in ("prefix", "delimiter", "key-marker", "version-id-marker")
        )
        if id_marker and not marker:
            raise InvalidArgument("version-id-marker", id_marker, "A version-id marker needs a key marker.")
        page = self._store.version_listing(bucket.name, prefix, marker, id_marker, delimiter, limit)
        return _version_body(request, bucket, page, limit)

    def _deleted(self, request: ObsRequest, bucket: BucketInfo, body: bytes) -> str:
        root = parsed(body, "Delete")
        quiet = (child(root, "Quiet") or "").strip().lower() == "true"
        is_encoded = child(root, "EncodingType") == "url"
        shown: Callable[[str], str] = url_text if is_encoded else str
        objects = list(children(root, "Object"))
        if not objects or len(objects) > MAX_BATCH:
            raise MalformedXML
        parts: list[str] = []
        for node in objects:
            given = child(node, "Key")
            if given is None:
                raise MalformedXML
            key = unquote_plus(given) if is_encoded else given
            version = child(node, "VersionId") or None
            named = element("Key", shown(key)) + (element("VersionId", version) if version else "")
            try:
                told = self._delete_one(request, key, version)
            except ObsError as error:
                detail = element("Code", error.code) + element("Message", error.message)
                parts.append(f"<Error>{named}{detail}</Error>")
            else:
                if not quiet:
                    parts.append(f"<Deleted>{named}{told}</Deleted>")
        return (element("EncodingType", "url") if is_encoded else "") + "".join(parts)

    def _delete_one(self, request: ObsRequest, key: str, version: str | None) -> str:
        if version is None:
            self._access.bucket(request, "DeleteObject", key=key)
            marker = self._store.delete(request.bucket, key)
            if marker is None:
                return ""
            return element("DeleteMarker", True) + element("DeleteMarkerVersionId", marker.version or NULL)
        self._access.bucket(request, "DeleteObjectVersion", key=key)
        gone = self._store.delete_version(request.bucket, key, version)
        if gone is None or not gone.is_marker:
            return ""
        return element("DeleteMarker", True) + element("DeleteMarkerVersionId", version)


def owner_xml(request: ObsRequest, owner: str) -> str:
    return element("ID", owner) + (element("DisplayName", owner) if request.dialect is Dialect.S3 else "")


def max_keys(query: Mapping[str, str], name: str = "max-keys") -> int:
    text = query.get(name, "")
    if not text:
        return MAX_PAGE
    try:
        value = int(text)
    except ValueError as error:
        raise InvalidArgument(name, text) from error
    # Zero asks for no entries; anything else outside the limits means a full page.
    return value if 0 <= value <= MAX_PAGE else MAX_PAGE


def shown_by(request: ObsRequest) -> Callable[[str], str]:
    encoding = request.query.get("encoding-type", "")
    if encoding not in ("", "url"):
        raise InvalidArgument("encoding-type", encoding, "Invalid Encoding Method specified in Request")
    return url_text if encoding else str


def _list_body(request: ObsRequest, bucket: BucketInfo, page: Listing[ObjectInfo], is_v2: bool, limit: int) -> str:
    query = request.query
    shown = shown_by(request)
    with_owner = not is_v2 or query.get("fetch-owner") == "true"
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
    head += _tail(request, page.is_truncated)
    owners = {"": f"<Owner>{owner_xml(request, bucket.owner)}</Owner>" if with_owner else ""}
    for info in page.contents:
        owner = info.traits.owner if with_owner else ""
        if owner not in owners:
            owners[owner] = f"<Owner>{owner_xml(request, owner)}</Owner>"
        head.append(f"<Contents>{_entry(request, info, shown(info.key), owners[owner])}</Contents>")
    head += [f"<CommonPrefixes>{element('Prefix', shown(one))}</CommonPrefixes>" for one in page.common_prefixes]
    return "".join(head)


def _version_body(request: ObsRequest, bucket: BucketInfo, page: Listing[VersionEntry], limit: int) -> str:
    query = request.query
    shown = shown_by(request)
    head = [
        element("Name", bucket.name),
        element("Prefix", shown(query.get("prefix", ""))),
        element("KeyMarker", shown(query.get("key-marker", ""))),
        element("VersionIdMarker", query.get("version-id-marker", "")),
    ]
    if page.is_truncated:
        last = page.contents[-1].info if page.contents else None
        head.append(element("NextKeyMarker", shown(page.next_marker)))
        if last and last.key == page.next_marker:
            head.append(element("NextVersionIdMarker", last.version or NULL))
    head.append(element("MaxKeys", limit))
    head += _tail(request, page.is_truncated)
    for entry in page.contents:
        info = entry.info
        owner = f"<Owner>{owner_xml(request, info.traits.owner or bucket.owner)}</Owner>"
        version = element("VersionId", info.version or NULL) + element("IsLatest", entry.is_latest)
        if info.is_marker:
            modified = element("LastModified", stamp(info.modified))
            head.append(f"<DeleteMarker>{element('Key', shown(info.key))}{version}{modified}{owner}</DeleteMarker>")
        else:
            head.append(f"<Version>{_entry(request, info, shown(info.key), owner, version)}</Version>")
    head += [f"<CommonPrefixes>{element('Prefix', shown(one))}</CommonPrefixes>" for one in page.common_prefixes]
    return "".join(head)


def _tail(request: ObsRequest, is_truncated: bool) -> list[str]:
    query, shown = request.query, shown_by(request)
    parts = [element("Delimiter", shown(query["delimiter"]))] if query.get("delimiter") else []
    parts.append(element("IsTruncated", is_truncated))
    if query.get("encoding-type"):
        parts.append(element("EncodingType", "url"))
    return parts


def _entry(request: ObsRequest, info: ObjectInfo, key: str, owner: str, version: str = "") -> str:
    kind, storage = "", "STANDARD"
    if info.traits is not NO_TRAITS:
        storage = shown_class(info.traits.storage_class, request.dialect)
        kind = "<Type>Appendable</Type>" if info.traits.is_appendable else ""
    return (
        f"{element('Key', key)}{version}<LastModified>{stamp(info.modified)}</LastModified>"
        f"<ETag>&quot;{info.etag}&quot;</ETag><Size>{info.size}</Size>{owner}"
        f"<StorageClass>{storage}</StorageClass>{kind}"
    )


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
