"""Large objects in parts, and what is left of those nobody finished."""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from traindeck.domain.errors import AppError, InvalidInput, NotOffered, ServiceTrouble
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.object_limits import MOST_PARTS
from traindeck.runtime.crc import crc64_of_pieces
from traindeck.services.http import bounds
from traindeck.services.http.errors import not_understood
from traindeck.services.storage.data_ports import Body, BytesBody, Counted, Fragment, Part, StoredObject
from traindeck.services.storage.documents import bare, decoding_of, element, moment
from traindeck.services.storage.errors import (
    again_and_again,
    changed,
    damaged,
    need_key,
    not_asked_for,
    not_offered,
    obs_error,
    occupied,
)
from traindeck.services.storage.page_count import PageCount
from traindeck.services.storage.wire.exchange import Answered
from traindeck.services.storage.wire.objects import (
    KEY,
    MD5,
    OCCUPIED,
    Objects,
    confirmed,
    document_of,
    etag_in,
    is_encrypted,
)
from traindeck.services.storage.wire.requests import (
    Request,
    crc64_header,
    crc64_in,
    head_headers,
)
from traindeck.services.storage.wire.versions import NEVER

# The parts at the service are not those that were sent.
_OTHER_PARTS = ("BadDigest", "InvalidCRC64")
_NO_PARTS = ("NotImplemented", "ServiceNotImplemented")
_OF_PARTS = re.compile(r"[0-9a-f]{32}-[1-9][0-9]*")
_GONE = ("NoSuchUpload",)
MakeBody = Callable[[bool], Awaitable[Body]]
"""Told whether its CRC-64 is wanted or its MD5; one with an MD5 is always good."""
# The last is what rclone says where no upload is unfinished.
_NO_UPLOADS = (*NEVER, "NoSuchUpload")


class MultipartUploads(Objects):
    """The part of a data plane that moves objects in several requests."""

    async def begin_upload(
        self,
        target: ObjectPath,
        metadata: Mapping[str, str] | None = None,
        *,
        head: Mapping[str, str] | None = None,
        content_type: str = "",
        storage_class: str = "",
    ) -> str:
        """The upload's id; NotOffered: this service takes files in one piece only.

        `head`: all that is to be said about the object, as OBS spells it.
        """
        need_key(target)
        if head is None:
            headers = self._said_of(target, metadata or {}, content_type, storage_class)
        else:
            headers = head_headers(self.account.prefix, head)
        answer = await self.account.ask(Request("POST", target, {"uploads": None}, headers), fine=_NO_PARTS)
        if answer.status >= 300:
            raise NotOffered(
                text("{host} does not support multipart uploads.", host=self.account.service.host),
                text("No action needed: the file is uploaded as a whole."),
                self.account.refusal(answer).detail,
            )
        root = self._of_one(answer, "InitiateMultipartUploadResult", "InitiateMultipartUpload")
        upload_id = root.findtext("UploadId")
        if not upload_id:
            raise not_understood(self.account.refusal(answer, f"{root.tag} without UploadId"))
        return upload_id

    @property
    def tells_crc64(self) -> bool:
        """Whether the service may repeat the CRC-64 of a part: known after the first one."""
        return self.account.tells_crc64

    async def put_proven_part(
        self, target: ObjectPath, upload_id: str, number: int, make: MakeBody, counted: Counted | None = None
    ) -> Part:
        """Sent with its CRC-64, which the service repeats once it has compared it; where it does not, with its MD5."""
        part = None
        if self.tells_crc64:
            body = await make(True)
            try:
                part = await self.put_part(target, upload_id, number, body, counted=counted)
            except AppError as error:
                if body.crc64 is None or not _may_be_of_crc64(error):
                    raise
            if part is not None and (body.crc64 is None or part.crc64 is not None):
                self.account.has_told_crc64 |= body.crc64 is not None
                return part
            self.account.tells_crc64 = False
        body = await make(False)
        if part is not None:
            if part.etag == body.md5.hex():
                return part  # it has arrived as it is
            if counted is not None:
                counted(-part.size_bytes)
        return await self.put_part(target, upload_id, number, body, counted=counted)

    async def put_part(
        self, target: ObjectPath, upload_id: str, number: int, body: Body, counted: Counted | None = None
    ) -> Part:
        request = Request("PUT", target, {"partNumber": str(number), "uploadId": upload_id}, body=body, counted=counted)
        fine = _OTHER_PARTS if body.crc64 is not None and not self.account.has_told_crc64 else ()
        answer = await self.account.ask(
            request, fine=fine, read=lambda answer: confirmed(self.account, answer, body, target)
        )
        if answer.content is None:
            raise not_offered(self.account.refusal(answer), str(target), target.bucket)
        told = crc64_in(self.account.prefix, answer.headers)
        # What was not sent was not compared with the file.
        return Part(number, body.size_bytes, answer.content, None if body.crc64 is None else told)

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
        headers = self._copy_source(source, if_match, version)
        headers[f"{self.account.prefix}copy-source-range"] = f"bytes={offset}-{offset + length - 1}"
        request = Request("PUT", target, {"partNumber": str(number), "uploadId": upload_id}, headers)
        answer = await self.account.ask(request, read=partial(etag_in, name="CopyPartResult"))
        return Part(number, length, answer.content, crc64_in(self.account.prefix, answer.headers))

    async def parts(self, target: ObjectPath, upload_id: str) -> list[Part] | None:
        """None: the service does not know this upload."""
        found: list[Part] = []
        marker = ""
        while True:
            query: dict[str, str | None] = {"uploadId": upload_id, "max-parts": "1000"}
            if marker:
                query["part-number-marker"] = marker
            answer = await self.account.ask(Request("GET", target, query), fine=_GONE)
            if answer.status >= 300:
                return None
            root = self._of_one(answer, "ListPartsResult", "ListPartsResponse")
            for node in root.iterfind("Part"):
                number, size = (bounds.whole_number(node.findtext(name) or "") for name in ("PartNumber", "Size"))
                if number is None or size is None or size > bounds.OBJECT_BYTES:
                    raise not_understood(self.account.refusal(answer, "a part without number or size"))
                found.append(Part(number, size, bare(node.findtext("ETag") or "")))
            following = root.findtext("NextPartNumberMarker") or ""
            if root.findtext("IsTruncated") != "true":
                return found
            # Else it would never end.
            if not int(marker or 0) < (bounds.whole_number(following) or 0) <= MOST_PARTS:
                raise again_and_again(self.account.refusal(answer, f"behind {following!a} after {marker!a}"))
            marker = following

    async def finish_upload(
        self, target: ObjectPath, upload_id: str, parts: Sequence[Part], *, only_new: bool = False
    ) -> StoredObject:
        """A lost answer is looked up, not taken for a failure. Occupied: `only_new`, and there is another."""
        rows = "".join(
            f"<Part>{element('PartNumber', str(part.number))}{element('ETag', part.etag)}</Part>" for part in parts
        )
        whole = f"<CompleteMultipartUpload>{rows}</CompleteMultipartUpload>"
        headers = _XML | (self._only_new() if only_new else {})
        crc64 = crc64_of(parts)
        if crc64 is not None:
            headers |= crc64_header(self.account.prefix, crc64)
        request = Request("POST", target, {"uploadId": upload_id}, headers, BytesBody(whole.encode()))
        fine = (*_GONE, *_OTHER_PARTS, *(OCCUPIED if only_new else ()))
        read = partial(etag_in, name="CompleteMultipartUploadResult")
        trouble: AppError
        try:
            answer = await self.account.ask(request, fine=fine, read=read)
        except ServiceTrouble as error:
            trouble = error
        except AppError as error:
            if crc64 is None or not _may_be_of_crc64(error):
                raise
            return await self._finish_bare(target, upload_id, parts, only_new=only_new)
        else:
            if answer.content is not None:
                self._check_whole(answer, answer.content, parts, target)
                return self._stored(answer, answer.content)
            refusal = self.account.refusal(answer)
            if refusal.code == "BadDigest" and crc64 is not None:
                return await self._finish_bare(target, upload_id, parts, only_new=only_new)
            if refusal.code in _OTHER_PARTS:
                raise changed(refusal, str(target), target.name)
            trouble = occupied(target) if refusal.code in OCCUPIED else obs_error(refusal, target)
        # An earlier try whose answer was lost has done it, if the object is the one expected.
        stored = await self._finished_before(target, upload_id, parts)
        if stored is None:
            raise trouble
        return stored

    async def _finish_bare(
        self, target: ObjectPath, upload_id: str, parts: Sequence[Part], *, only_new: bool
    ) -> StoredObject:
        """It may know the header of parts only, and all of them are proved."""
        bare_parts = [replace(part, crc64=None) for part in parts]
        return await self.finish_upload(target, upload_id, bare_parts, only_new=only_new)

    async def abort_upload(self, target: ObjectPath, upload_id: str) -> None:
        """One that is gone already is no error."""
        await self.account.ask(Request("DELETE", target, {"uploadId": upload_id}), fine=_GONE)

    async def fragments(self, bucket: str, prefix: str = "") -> AsyncIterator[list[Fragment]]:
        key_marker = upload_marker = ""
        pages = PageCount()
        while True:
            query: dict[str, str | None] = {"uploads": None, "encoding-type": "url", "max-uploads": "1000"}
            query |= {name: value for name, value in (("prefix", prefix), ("key-marker", key_marker)) if value}
            if upload_marker:
                query["upload-id-marker"] = upload_marker
            is_first = not key_marker
            answer = await self.account.ask(
                Request("GET", ObjectPath(bucket), query), fine=_NO_UPLOADS if is_first else ()
            )
            is_foreign_list = self.account.is_foreign and b"<ListMultipartUploadsResult" not in answer.body
            if is_first and (answer.status >= 300 or is_foreign_list):
                raise NotOffered(
                    text("{host} does not list fragments.", host=self.account.service.host),
                    text("The console of the service may show them."),
                    self.account.refusal(answer).detail,
                )
            root = document_of(self.account, answer, "ListMultipartUploadsResult")
            decode = decoding_of(root)
            found = [
                Fragment(
                    ObjectPath(bucket, decode(node.findtext("Key") or "")),
                    node.findtext("UploadId") or "",
                    moment(node.findtext("Initiated")),
                )
                for node in root.iterfind("Upload")
            ]
            if not all(fragment.path.key.startswith(prefix) for fragment in found):
                place = str(ObjectPath(bucket, prefix))
                raise not_asked_for(self.account.refusal(answer, "names outside of it"), place)
            if found:
                yield found
            if root.findtext("IsTruncated") != "true":
                return
            before = key_marker, upload_marker
            key_marker = decode(root.findtext("NextKeyMarker") or "")
            upload_marker = root.findtext("NextUploadIdMarker") or ""
            if not key_marker:
                raise not_understood(self.account.refusal(answer, "it goes on, and does not say where"))
            if (key_marker, upload_marker) == before or key_marker < before[0]:
                raise again_and_again(self.account.refusal(answer, f"behind {key_marker!a} after {before[0]!a}"))
            pages.came(len(found))

    def _of_one(self, answer: Answered, *names: str) -> ET.Element:
        # The name comes back as it is, which no document can hold if there are control characters in it.
        return document_of(self.account, replace(answer, body=KEY.sub(b"", answer.body)), *names)

    async def _finished_before(self, target: ObjectPath, upload_id: str, parts: Sequence[Part]) -> StoredObject | None:
        answer = await self.account.ask(Request("HEAD", target), missing_is_fine=True)
        if answer.status >= 300:
            return None
        etag = bare(answer.headers.get("etag", ""))
        made_by = answer.headers.get(f"{self.account.prefix}uploadid", "")
        length = answer.headers.get("content-length", "")
        is_same = length == str(sum(part.size_bytes for part in parts)) and etag == etag_of(parts)
        problem = self._other_crc64(answer, parts)
        if made_by == upload_id and problem:
            raise damaged(self.account.refusal(answer, problem), str(target))
        return self._stored(answer, etag) if made_by == upload_id or (is_same and not problem) else None

    def _check_whole(self, answer: Answered, etag: str, parts: Sequence[Part], target: ObjectPath) -> None:
        if problem := self._other_crc64(answer, parts):
            raise damaged(self.account.refusal(answer, problem), str(target))
        expected = etag_of(parts)
        # Some services name the whole in another way.
        if not expected or not _OF_PARTS.fullmatch(etag) or is_encrypted(self.account.prefix, answer.headers):
            return
        if etag != expected:
            raise damaged(self.account.refusal(answer, f"sent {expected}, stored {etag}"), str(target))

    def _other_crc64(self, answer: Answered, parts: Sequence[Part]) -> str:
        """How the CRC-64 of the whole differs from that of the parts; empty where it does not, or one is unknown."""
        told, sent = crc64_in(self.account.prefix, answer.headers), crc64_of(parts)
        return f"sent {sent}, stored {told}" if told is not None and sent is not None and told != sent else ""


def _may_be_of_crc64(error: AppError) -> bool:
    """Whether a service that does not know the header would say so; a code without a rule has no kind of its own."""
    return type(error) is AppError or isinstance(error, InvalidInput | NotOffered)


def etag_of(parts: Sequence[Part]) -> str:
    """How OBS names a whole made of parts; empty where a part is not named by its MD5."""
    if not parts or not all(MD5.fullmatch(part.etag) for part in parts):
        return ""
    whole = hashlib.md5(b"".join(bytes.fromhex(part.etag) for part in parts), usedforsecurity=False)
    return f"{whole.hexdigest()}-{len(parts)}"


def crc64_of(parts: Sequence[Part]) -> int | None:
    """Of the whole that the parts make; None where one of them is unknown."""
    known = [(part.crc64, part.size_bytes) for part in parts if part.crc64 is not None]
    return crc64_of_pieces(known) if len(known) == len(parts) else None


_XML = {"Content-Type": "application/xml"}
