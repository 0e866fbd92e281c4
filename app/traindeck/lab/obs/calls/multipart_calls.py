"""Multipart uploads over the wire."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from traindeck.lab.life import Workers
from traindeck.lab.obs.access import Access
from traindeck.lab.obs.answers import document, element, empty, stamp, url_text
from traindeck.lab.obs.body_streams import Operations, Receiver, body_of
from traindeck.lab.obs.calls.copy_calls import Copies, source_of, source_range
from traindeck.lab.obs.calls.list_calls import owner_xml, shown_by
from traindeck.lab.obs.calls.object_calls import replacement
from traindeck.lab.obs.checksums import ALGORITHMS
from traindeck.lab.obs.errors import AccessDenied, InvalidArgument, MalformedXML
from traindeck.lab.obs.listing import Listing
from traindeck.lab.obs.object_headers import (
    COPY_HEADERS,
    PUT_HEADERS,
    attributes,
    check_headers,
    checksum_headers,
    shown_class,
    written_headers,
)
from traindeck.lab.obs.records import BucketInfo, PartInfo, UploadInfo, key_bytes, whole_number
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.obs.settings import child, children, needed, parsed
from traindeck.lab.obs.storage import now_ms
from traindeck.lab.obs.store import BodyWriter, ObjectStore
from traindeck.lab.obs.uploads import MAX_PARTS, Completion, WantedPart

_MAX_PAGE = 1000
_ANONYMOUS = "anonymous"
_XML_CHECKSUMS = {
    "ChecksumCRC32": "crc32",
    "ChecksumCRC32C": "crc32c",
    "ChecksumCRC64NVME": "crc64nvme",
    "ChecksumSHA1": "sha1",
    "ChecksumSHA256": "sha256",
}
_CHECKSUM_ELEMENTS = {name: shown for shown, name in _XML_CHECKSUMS.items()}


class Multipart(Operations):
    """The operations on uploads and their parts."""

    def __init__(
        self, store: ObjectStore, access: Access, receiver: Receiver, copies: Copies, workers: Workers
    ) -> None:
        super().__init__(store, access, receiver, workers)
        self._uploads = store.uploads
        self._copies = copies

    async def initiate(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("uploads", "encoding-type")
        key_bytes(request.key)
        check_headers(request, PUT_HEADERS)
        bucket = self._access.bucket(request, "PutObject", key=request.key)
        algorithm = (request.ours("checksum-algorithm") or "").lower()
        if algorithm and algorithm not in ALGORITHMS:
            raise InvalidArgument("checksum-algorithm", algorithm)
        given = attributes(request, bucket)
        await self._receiver.document(request)
        initiator = request.account.domain_id if request.account else _ANONYMOUS
        upload = await self._workers.run(self._uploads.begin, request.bucket, request.key, initiator, given, algorithm)
        content = _names(request) + element("UploadId", upload.upload_id)
        headers = {"x-amz-checksum-algorithm": algorithm.upper()} if algorithm else {}
        return document(request, "InitiateMultipartUploadResult", content, headers)

    async def put_part(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("partNumber", "uploadId")
        number = _part_number(request)
        check_headers(request, PUT_HEADERS)
        self._access.bucket(request, "PutObject", key=request.key)
        incoming = body_of(request)
        await self._own_upload(request)

        def keep(writer: BodyWriter) -> PartInfo:
            return self._kept(request, number, writer, incoming.crc64, dict(incoming.checksums))

        part = await self._receiver.stored(incoming, keep)
        return empty(request, 200, {"ETag": f'"{part.etag}"', **checksum_headers(request, incoming)})

    async def copy_part(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("partNumber", "uploadId")
        number = _part_number(request)
        check_headers(request, COPY_HEADERS)
        self._access.bucket(request, "PutObject", key=request.key)
        await self._own_upload(request)
        await self._receiver.document(request)
        source, chosen = source_of(request), source_range(request)

        def copied() -> PartInfo:
            with self._store.new_body() as writer:
                self._copies.read(request, source, writer, chosen)
                return self._kept(request, number, writer, "", {})

        part = await self._workers.run(copied)
        content = element("LastModified", stamp(part.modified)) + f"<ETag>&quot;{part.etag}&quot;</ETag>"
        return document(request, "CopyPartResult", content)

    async def list_parts(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("uploadId", "max-parts", "part-number-marker", "encoding-type")
        bucket = self._access.bucket(request, "ListMultipartUploadParts", key=request.key)
        upload = await self._own_upload(request, owner_too=bucket)
        limit = _page(request, "max-parts")
        marker = _number(request, "part-number-marker", 0)
        found = await self._workers.run(self._uploads.parts, upload.upload_id, marker, limit + 1)
        shown = found[:limit]
        content = [
            _names(request),
            element("UploadId", upload.upload_id),
            f"<Initiator>{owner_xml(request, upload.initiator)}</Initiator>",
            f"<Owner>{owner_xml(request, bucket.owner)}</Owner>",
            element("StorageClass", shown_class(upload.attributes.traits.storage_class, request.dialect)),
            element("PartNumberMarker", marker),
            element("NextPartNumberMarker", shown[-1].number if shown else 0),
            element("MaxParts", limit),
            element("IsTruncated", len(found) > len(shown)),
        ]
        if upload.checksum_algorithm:
            content.append(element("ChecksumAlgorithm", upload.checksum_algorithm.upper()))
        content += [_part_xml(part) for part in shown]
        return document(request, "ListPartsResult", "".join(content))

    async def list_uploads(self, request: ObsRequest) -> web.StreamResponse:
        names = ("prefix", "delimiter", "key-marker", "upload-id-marker", "max-uploads", "encoding-type")
        request.only_these("uploads", *names)
        bucket = self._access.bucket(request, "ListBucketMultipartUploads")
        limit = _page(request, "max-uploads")
        prefix, delimiter, marker, id_marker = (
            request.query.get(name, "") for name in ("prefix", "delimiter", "key-marker", "upload-id-marker")
        )
        found = await self._workers.run(self._uploads.listing, bucket.name, prefix, marker, id_marker, delimiter, limit)
        return document(request, "ListMultipartUploadsResult", _uploads_xml(request, bucket, found, limit))

    async def complete(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("uploadId", "encoding-type")
        bucket = self._access.bucket(request, "PutObject", key=request.key)
        upload = await self._own_upload(request)
        body = await self._receiver.document(request, checksums_of_object=True)
        root = parsed(body, "CompleteMultipartUpload")
        wanted: list[WantedPart] = []
        for node in children(root, "Part"):
            number = whole_number(needed(node, "PartNumber"))
            if number is None:
                raise MalformedXML
            checksums = {
                name: value for shown, name in _XML_CHECKSUMS.items() if (value := child(node, shown)) is not None
            }
            wanted.append(WantedPart(number, needed(node, "ETag").strip('"').lower(), checksums))
        if not wanted:
            raise MalformedXML
        announced = {
            name: value for name in ALGORITHMS if (value := request.raw.header(f"x-amz-checksum-{name}")) is not None
        }
        completion = Completion(wanted, request.in_any_dialect("checksum-crc64ecma") or "", announced)
        info = await self._workers.run(
            self._uploads.complete, bucket.name, request.key, upload.upload_id, completion, replacement(request)
        )
        location = f"http://{request.raw.header('host') or ''}/{url_text(bucket.name)}/{url_text(request.key)}"
        content = element("Location", location) + _names(request) + f"<ETag>&quot;{info.etag}&quot;</ETag>"
        content += _checksum_elements(info.traits.checksums)
        if info.traits.checksum_type:
            content += element("ChecksumType", info.traits.checksum_type)
        headers = written_headers(request, bucket, info)
        del headers["ETag"]
        if info.traits.crc64:
            headers[f"{request.dialect.value}checksum-crc64ecma"] = info.traits.crc64
        return document(request, "CompleteMultipartUploadResult", content, headers)

    async def abort(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("uploadId")
        bucket = self._access.bucket(request, "AbortMultipartUpload", key=request.key)
        upload = await self._own_upload(request, owner_too=bucket)
        await self._workers.run(self._uploads.abort, request.bucket, request.key, upload.upload_id)
        return empty(request, 204)

    async def _own_upload(self, request: ObsRequest, owner_too: BucketInfo | None = None) -> UploadInfo:
        """The upload of the request; nobody goes on with what somebody else began."""
        upload = await self._workers.run(
            self._uploads.upload, request.bucket, request.key, request.query.get("uploadId", "")
        )
        asking = request.account.domain_id if request.account else _ANONYMOUS
        if asking != upload.initiator and (owner_too is None or asking != owner_too.owner):
            raise AccessDenied
        return upload

    def _kept(
        self, request: ObsRequest, number: int, writer: BodyWriter, crc64: str, checksums: dict[str, str]
    ) -> PartInfo:
        part = PartInfo(number, writer.size, writer.md5.hex(), now_ms(), writer.closed(), crc64, checksums)
        self._uploads.put_part(request.bucket, request.key, request.query["uploadId"], part)
        writer.keep()
        return part


def _part_number(request: ObsRequest) -> int:
    text = request.query.get("partNumber", "")
    number = whole_number(text, MAX_PARTS)
    if "uploadId" not in request.query or not number:
        message = f"Part number must be an integer between 1 and {MAX_PARTS}, inclusive."
        raise InvalidArgument("partNumber", text, message)
    return number


def _number(request: ObsRequest, name: str, usual: int) -> int:
    text = request.query.get(name, "")
    if not text:
        return usual
    number = whole_number(text)
    if number is None:
        raise InvalidArgument(name, text)
    return number


def _page(request: ObsRequest, name: str) -> int:
    value = _number(request, name, _MAX_PAGE)
    return value if 0 < value <= _MAX_PAGE else _MAX_PAGE


def _names(request: ObsRequest) -> str:
    shown = shown_by(request)
    announced = element("EncodingType", "url") if shown is url_text else ""
    return element("Bucket", request.bucket) + element("Key", shown(request.key)) + announced


def _part_xml(part: PartInfo) -> str:
    return (
        f"<Part><PartNumber>{part.number}</PartNumber><LastModified>{stamp(part.modified)}</LastModified>"
        f"<ETag>&quot;{part.etag}&quot;</ETag><Size>{part.size}</Size>{_checksum_elements(part.checksums)}</Part>"
    )


def _checksum_elements(checksums: Mapping[str, str]) -> str:
    return "".join(
        element(_CHECKSUM_ELEMENTS[name], value) for name, value in checksums.items() if name in _CHECKSUM_ELEMENTS
    )


def _uploads_xml(request: ObsRequest, bucket: BucketInfo, page: Listing[UploadInfo], limit: int) -> str:
    query = request.query
    shown = shown_by(request)
    parts = [
        element("Bucket", bucket.name),
        element("KeyMarker", shown(query.get("key-marker", ""))),
        element("UploadIdMarker", query.get("upload-id-marker", "")),
    ]
    if page.is_truncated:
        parts.append(element("NextKeyMarker", shown(page.next_marker)))
        last = page.contents[-1] if page.contents else None
        parts.append(element("NextUploadIdMarker", last.upload_id if last and last.key == page.next_marker else ""))
    parts += [
        element("Prefix", shown(query.get("prefix", ""))),
        element("Delimiter", shown(query.get("delimiter", ""))),
        element("MaxUploads", limit),
        element("IsTruncated", page.is_truncated),
    ]
    if shown is url_text:
        parts.append(element("EncodingType", "url"))
    for upload in page.contents:
        storage = shown_class(upload.attributes.traits.storage_class, request.dialect)
        parts.append(
            f"<Upload>{element('Key', shown(upload.key))}{element('UploadId', upload.upload_id)}"
            f"<Initiator>{owner_xml(request, upload.initiator)}</Initiator>"
            f"<Owner>{owner_xml(request, bucket.owner)}</Owner>"
            f"{element('StorageClass', storage)}{element('Initiated', stamp(upload.initiated))}</Upload>"
        )
    parts += [f"<CommonPrefixes>{element('Prefix', shown(one))}</CommonPrefixes>" for one in page.common_prefixes]
    return "".join(parts)
