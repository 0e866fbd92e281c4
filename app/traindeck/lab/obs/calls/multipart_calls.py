"""Multipart uploads over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aiohttp import web

from traindeck.lab.life import Workers
from traindeck.lab.obs.body_streams import IncomingBody, Operations, announced_checksums
from traindeck.lab.obs.calls.list_calls import prefix_elements, shown_by
from traindeck.lab.obs.calls.object_calls import Objects, replacement, source_of, source_range
from traindeck.lab.obs.checksums import ALGORITHMS, CRC64, shown
from traindeck.lab.obs.documents import child, children, needed, parsed
from traindeck.lab.obs.encryption import encryption_headers, part_seal
from traindeck.lab.obs.errors import AccessDenied, InvalidArgument, InvalidRequest, MalformedXML
from traindeck.lab.obs.joined_checksums import ToldOfWhole, upload_kind
from traindeck.lab.obs.object_headers import (
    COMPLETE_HEADERS,
    COPY_HEADERS,
    PUT_HEADERS,
    attributes,
    check_headers,
    checksum_headers,
    crc64_header,
    shown_class,
    writable,
    written_headers,
)
from traindeck.lab.obs.records import BucketInfo, ObjectInfo, PartInfo, UploadInfo, whole_number
from traindeck.lab.obs.request import (
    ObsRequest,
    document,
    element,
    elements,
    empty,
    etag_element,
    fits_xml,
    identity,
    stamp,
    url_text,
)
from traindeck.lab.obs.storage import BodyWriter
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.obs.uploads import MAX_PARTS, WantedPart

_MAX_PAGE = 1000
_ANONYMOUS = "anonymous"
_CHECKSUM_ELEMENTS = {name: f"Checksum{name.upper()}" for name in ALGORITHMS if name != CRC64}


class Multipart(Operations):
    """The operations on uploads and their parts."""

    def __init__(self, store: ObjectStore, workers: Workers) -> None:
        super().__init__(store, workers)
        self._uploads = store.uploads
        self._copies = Objects(store, workers)

    async def initiate(self, request: ObsRequest) -> web.StreamResponse:
        bucket = writable(request, self._access, PUT_HEADERS, "uploads", "encoding-type")
        algorithm = (request.ours("checksum-algorithm") or "").lower()
        if algorithm and algorithm not in _CHECKSUM_ELEMENTS:
            raise InvalidArgument("checksum-algorithm", algorithm)
        kind = upload_kind(algorithm, (request.ours("checksum-type") or "").upper())
        given = attributes(request, bucket)
        given = replace(given, traits=replace(given.traits, checksum_type=kind))
        await self._document(request)
        initiator = request.asker or _ANONYMOUS
        upload = await self._workers.run(self._uploads.begin, request.bucket, request.key, initiator, given, algorithm)
        content = _names(request) + element("UploadId", upload.upload_id)
        headers = {"x-amz-checksum-algorithm": algorithm.upper(), "x-amz-checksum-type": kind} if algorithm else {}
        headers |= encryption_headers(request, given.traits)
        return document(request, "InitiateMultipartUploadResult", content, headers)

    async def put_part(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("partNumber", "uploadId")
        number = _part_number(request)
        check_headers(request, PUT_HEADERS)
        self._access.bucket(request, "PutObject", key=request.key)
        incoming = IncomingBody(request)
        traits = (await self._own_upload(request)).attributes.traits

        def keep(writer: BodyWriter) -> PartInfo:
            return self._uploads.put_part(*_upload(request), number, writer, incoming.checksums)

        part = await self._stored(incoming, keep, part_seal(request, traits))
        told = {
            **checksum_headers(incoming),
            **crc64_header(request, part.crc64),
            **encryption_headers(request, traits),
        }
        return empty(request, 200, {"ETag": f'"{part.etag}"', **told})

    async def copy_part(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("partNumber", "uploadId")
        number = _part_number(request)
        check_headers(request, COPY_HEADERS)
        self._access.bucket(request, "PutObject", key=request.key)
        upload = await self._own_upload(request)
        traits, algorithm = upload.attributes.traits, upload.checksum_algorithm
        seal = part_seal(request, traits)
        await self._document(request)
        source, chosen = source_of(request), source_range(request)
        # Of what is sealed it cannot be had later, when the upload is completed.
        digest = ALGORITHMS[algorithm]() if seal and algorithm else None

        def copied() -> tuple[ObjectInfo, PartInfo]:
            with self._store.new_body(seal) as writer:
                writer.watch = digest.update if digest else None
                read = self._copies.read(request, source, writer, chosen)
                checksums = {algorithm: shown(algorithm, digest.digest())} if digest else {}
                return read, self._uploads.put_part(*_upload(request), number, writer, checksums)

        read, part = await self._workers.run(copied)
        content = element("LastModified", stamp(part.modified_ms)) + etag_element(part.etag)
        headers = {**encryption_headers(request, traits), **self._copies.source_version(request, source, read)}
        return document(request, "CopyPartResult", content, headers | crc64_header(request, part.crc64))

    async def list_parts(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("uploadId", "max-parts", "part-number-marker", "encoding-type")
        bucket = self._access.bucket(request, "ListMultipartUploadParts", key=request.key)
        upload = await self._own_upload(request, owner_too=bucket)
        limit = _page(request, "max-parts")
        marker = _number(request, "part-number-marker", 0)
        found = await self._workers.run(self._uploads.parts, upload.upload_id, marker, limit + 1)
        shown = found[:limit]
        content = _names(request) + element("UploadId", upload.upload_id) + _whose(request, bucket, upload)
        content += elements(
            PartNumberMarker=marker,
            NextPartNumberMarker=shown[-1].number if shown else 0,
            MaxParts=limit,
            IsTruncated=len(found) > len(shown),
        )
        content += _checksum_kind(upload)
        return document(request, "ListPartsResult", content + "".join(map(_part_xml, shown)))

    async def list_uploads(self, request: ObsRequest) -> web.StreamResponse:
        names = ("prefix", "delimiter", "key-marker", "upload-id-marker", "max-uploads", "encoding-type")
        request.only_these("uploads", *names)
        bucket = self._access.bucket(request, "ListBucketMultipartUploads")
        limit = _page(request, "max-uploads")
        prefix, delimiter, marker, id_marker = (
            request.query.get(name, "") for name in ("prefix", "delimiter", "key-marker", "upload-id-marker")
        )
        found = await self._workers.run(self._uploads.listing, bucket.name, prefix, marker, id_marker, delimiter, limit)
        shown = shown_by(request)
        content = elements(Bucket=bucket.name, KeyMarker=shown(marker), UploadIdMarker=id_marker)
        if found.is_truncated:
            last = found.contents[-1] if found.contents else None
            next_id = last.upload_id if last and last.key == found.next_marker else ""
            content += elements(NextKeyMarker=shown(found.next_marker), NextUploadIdMarker=next_id)
        content += elements(Prefix=shown(prefix), Delimiter=shown(delimiter), MaxUploads=limit)
        content += element("IsTruncated", found.is_truncated)
        content += element("EncodingType", "url") if shown is url_text else ""
        for upload in found.contents:
            named = elements(Key=shown(upload.key), UploadId=upload.upload_id) + _whose(request, bucket, upload)
            told = element("Initiated", stamp(upload.initiated_ms)) + _checksum_kind(upload)
            content += f"<Upload>{named}{told}</Upload>"
        content += prefix_elements(found.common_prefixes, shown)
        return document(request, "ListMultipartUploadsResult", content)

    async def complete(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("uploadId", "encoding-type")
        check_headers(request, COMPLETE_HEADERS)
        bucket = self._access.bucket(request, "PutObject", key=request.key)
        # Completed twice: "Completing a Multipart Upload" of the OBS reference answers NoSuchUpload where there is none
        # any more, and lets a client that missed the first answer look at the uploadId of the object.
        await self._own_upload(request)
        body = await self._document(request, checksums_of_object=True)
        root = parsed(body, "CompleteMultipartUpload")
        wanted: list[WantedPart] = []
        for node in children(root, "Part"):
            number = whole_number(needed(node, "PartNumber"))
            if number is None:
                raise MalformedXML
            given = {name: child(node, shown) for name, shown in _CHECKSUM_ELEMENTS.items()}
            checksums = {name: value for name, value in given.items() if value is not None}
            wanted.append(WantedPart(number, needed(node, "ETag").strip('"').lower(), checksums))
        if not wanted:
            raise MalformedXML
        condition = replacement(request)
        info = await self._workers.run(self._uploads.complete, *_upload(request), wanted, condition, _told(request))
        location = f"http://{request.raw.header('host') or ''}/{url_text(bucket.name)}/{url_text(request.key)}"
        content = element("Location", location) + _names(request) + etag_element(info.etag)
        content += _checksum_elements(info.traits.checksums)
        if info.traits.checksum_type:
            content += element("ChecksumType", info.traits.checksum_type)
        headers = written_headers(request, bucket, info)
        del headers["ETag"]
        return document(request, "CompleteMultipartUploadResult", content, headers)

    async def abort(self, request: ObsRequest) -> web.StreamResponse:
        request.only_these("uploadId")
        bucket = self._access.bucket(request, "AbortMultipartUpload", key=request.key)
        await self._own_upload(request, owner_too=bucket)
        await self._workers.run(self._uploads.abort, *_upload(request))
        return empty(request, 204)

    async def _own_upload(self, request: ObsRequest, owner_too: BucketInfo | None = None) -> UploadInfo:
        """The upload of the request; nobody goes on with what somebody else began."""
        upload = await self._workers.run(self._uploads.upload, *_upload(request))
        asking = request.asker or _ANONYMOUS
        if asking != upload.initiator and (owner_too is None or asking != owner_too.owner):
            raise AccessDenied
        return upload


def _upload(request: ObsRequest) -> tuple[str, str, str]:
    return request.bucket, request.key, request.query.get("uploadId", "")


def _told(request: ObsRequest) -> ToldOfWhole:
    text = request.ours("mp-object-size")
    size = None if text is None else whole_number(text)
    if text is not None and size is None:
        raise InvalidRequest("Value for x-amz-mp-object-size header is invalid.")
    kind = (request.ours("checksum-type") or "").upper()
    crc64 = request.in_any_dialect("checksum-crc64ecma") or ""
    return ToldOfWhole(crc64, announced_checksums(request.raw), kind, size)


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
    # The client knows the key, so encoding it unasked misleads nobody, and the upload can go on.
    shown = shown_by(request) if fits_xml(request.key) else url_text
    announced = element("EncodingType", "url") if shown is url_text else ""
    return elements(Bucket=request.bucket, Key=shown(request.key)) + announced


def _part_xml(part: PartInfo) -> str:
    return (
        f"<Part><PartNumber>{part.number}</PartNumber><LastModified>{stamp(part.modified_ms)}</LastModified>"
        f"{etag_element(part.etag)}<Size>{part.size}</Size>{_checksum_elements(part.checksums)}</Part>"
    )


def _checksum_elements(checksums: Mapping[str, str]) -> str:
    return "".join(
        element(_CHECKSUM_ELEMENTS[name], value) for name, value in checksums.items() if name in _CHECKSUM_ELEMENTS
    )


def _checksum_kind(upload: UploadInfo) -> str:
    if not upload.checksum_algorithm:
        return ""
    kind = upload.attributes.traits.checksum_type
    return elements(ChecksumAlgorithm=upload.checksum_algorithm.upper(), ChecksumType=kind)


def _whose(request: ObsRequest, bucket: BucketInfo, upload: UploadInfo) -> str:
    dialect = request.dialect
    traits = upload.attributes.traits
    initiator, owner = identity(upload.initiator, dialect), identity(traits.owner or bucket.owner, dialect)
    storage = element("StorageClass", shown_class(traits.storage_class, dialect))
    return f"<Initiator>{initiator}</Initiator><Owner>{owner}</Owner>{storage}"
