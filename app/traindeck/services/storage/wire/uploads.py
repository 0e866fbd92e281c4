"""Large objects in parts, and what is left of those nobody finished."""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote_plus

from traindeck.domain.errors import NotOffered, ServiceTrouble
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.services.http.errors import not_understood
from traindeck.services.storage.contents import BytesBody
from traindeck.services.storage.data_ports import Body, Counted, Fragment, Part, StoredObject
from traindeck.services.storage.documents import element, moment
from traindeck.services.storage.errors import damaged, need_key, not_offered, obs_error
from traindeck.services.storage.wire.answers import (
    MD5,
    bare,
    confirmed,
    document_of,
    element_of,
    is_encrypted,
)
from traindeck.services.storage.wire.connection import Answered
from traindeck.services.storage.wire.objects import Objects
from traindeck.services.storage.wire.requests import (
    Request,
    head_headers,
    metadata_headers,
    type_header,
)
from traindeck.services.storage.wire.versions import NEVER

_NO_PARTS = ("NotImplemented", "ServiceNotImplemented")
_OF_PARTS = re.compile(r"[0-9a-f]{32}-[1-9][0-9]*")
_KEY = re.compile(rb"<Key>[^<]*</Key>")
_GONE = ("NoSuchUpload",)
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
    ) -> str:
        """`head`: all that is to be said about the object, as OBS spells it."""
        need_key(target)
        if head is None:
            headers = type_header(target.key) | metadata_headers(self._account.prefix, metadata or {})
        else:
            headers = head_headers(self._account.prefix, head)
        answer = await self._account.ask(Request("POST", target, {"uploads": None}, headers), fine=_NO_PARTS)
        if answer.status >= 300:
            raise NotOffered(
                text("{host} takes files in one piece only.", host=self._account.service.host),
                text("Nothing to do: the file is sent whole."),
                self._account.refusal(answer).detail,
            )
        root = self._of_one(answer, "InitiateMultipartUploadResult", "InitiateMultipartUpload")
        return element_of(self._account, answer, root, "UploadId")

    async def put_part(
        self, target: ObjectPath, upload_id: str, number: int, body: Body, counted: Counted | None = None
    ) -> Part:
        request = Request("PUT", target, _of_part(upload_id, number), body=body, counted=counted)
        answer = await self._account.ask(request, checked=lambda answer: confirmed(self._account, answer, body, target))
        return Part(number, body.size_bytes, bare(answer.headers["etag"]))

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
        headers[f"{self._account.prefix}copy-source-range"] = f"bytes={offset}-{offset + length - 1}"
        etags: list[str] = []

        def read(answer: Answered) -> None:
            root = document_of(self._account, answer, "CopyPartResult")
            etags.append(bare(element_of(self._account, answer, root, "ETag")))

        await self._account.ask(Request("PUT", target, _of_part(upload_id, number), headers), checked=read)
        return Part(number, length, etags[-1])

    async def parts(self, target: ObjectPath, upload_id: str) -> list[Part] | None:
        found: list[Part] = []
        marker = ""
        while True:
            query: dict[str, str | None] = {"uploadId": upload_id, "max-parts": "1000"}
            if marker:
                query["part-number-marker"] = marker
            answer = await self._account.ask(Request("GET", target, query), fine=_GONE)
            if answer.status >= 300:
                return None
            root = self._of_one(answer, "ListPartsResult", "ListPartsResponse")
            for node in root.iterfind("Part"):
                number, size = node.findtext("PartNumber") or "", node.findtext("Size") or ""
                if not (number.isdecimal() and size.isdecimal()):
                    raise not_understood(self._account.refusal(answer, "a part without number or size"))
                found.append(Part(int(number), int(size), bare(node.findtext("ETag") or "")))
            following = root.findtext("NextPartNumberMarker") or ""
            if root.findtext("IsTruncated") != "true":
                return found
            if following in ("", marker):  # else it would never end
                raise not_understood(self._account.refusal(answer, "the same page again"))
            marker = following

    async def finish_upload(self, target: ObjectPath, upload_id: str, parts: Sequence[Part]) -> StoredObject:
        rows = "".join(
            f"<Part>{element('PartNumber', str(part.number))}{element('ETag', part.etag)}</Part>" for part in parts
        )
        whole = f"<CompleteMultipartUpload>{rows}</CompleteMultipartUpload>"
        etags: list[str] = []

        def read(answer: Answered) -> None:
            root = self._of_one(answer, "CompleteMultipartUploadResult")
            etags.append(bare(element_of(self._account, answer, root, "ETag")))

        request = Request("POST", target, {"uploadId": upload_id}, _XML, BytesBody(whole.encode()))
        try:
            answer = await self._account.ask(request, fine=_GONE, checked=read)
        except ServiceTrouble:
            stored = await self._finished_before(target, upload_id, parts)
            if stored is None:
                raise
            return stored
        if answer.status >= 300:
            # An earlier try whose answer was lost has done it, if the object is the one expected.
            stored = await self._finished_before(target, upload_id, parts)
            if stored is None:
                raise obs_error(self._account.refusal(answer), target)
            return stored
        self._check_whole(answer, etags[-1], parts, target)
        return self._stored(answer, etags[-1])

    async def abort_upload(self, target: ObjectPath, upload_id: str) -> None:
        await self._account.ask(Request("DELETE", target, {"uploadId": upload_id}), fine=_GONE)

    async def fragments(self, bucket: str, prefix: str = "") -> AsyncIterator[list[Fragment]]:
        key_marker = upload_marker = ""
        while True:
            query: dict[str, str | None] = {"uploads": None, "encoding-type": "url", "max-uploads": "1000"}
            query |= {name: value for name, value in (("prefix", prefix), ("key-marker", key_marker)) if value}
            if upload_marker:
                query["upload-id-marker"] = upload_marker
            is_first = not key_marker
            answer = await self._account.ask(
                Request("GET", ObjectPath(bucket), query), fine=_NO_UPLOADS if is_first else ()
            )
            is_foreign_list = self._account.is_foreign and b"<ListMultipartUploadsResult" not in answer.body
            if is_first and (answer.status >= 300 or is_foreign_list):
                raise not_offered(self._account.refusal(answer), bucket)
            root = document_of(self._account, answer, "ListMultipartUploadsResult")
            decode = unquote_plus if root.findtext("EncodingType") == "url" else str
            found = [
                Fragment(
                    ObjectPath(bucket, decode(node.findtext("Key") or "")),
                    node.findtext("UploadId") or "",
                    moment(node.findtext("Initiated")),
                )
                for node in root.iterfind("Upload")
            ]
            if found:
                yield found
            if root.findtext("IsTruncated") != "true":
                return
            before = key_marker, upload_marker
            key_marker = decode(root.findtext("NextKeyMarker") or "")
            upload_marker = root.findtext("NextUploadIdMarker") or ""
            if (key_marker, upload_marker) == before or not key_marker:
                raise not_understood(self._account.refusal(answer, "the same page again"))

    def _of_one(self, answer: Answered, *names: str) -> ET.Element:
        # The name comes back as it is, which no document can hold if there are control characters in it.
        return document_of(self._account, replace(answer, body=_KEY.sub(b"", answer.body)), *names)

    async def _finished_before(self, target: ObjectPath, upload_id: str, parts: Sequence[Part]) -> StoredObject | None:
        answer = await self._account.ask(Request("HEAD", target), missing_is_fine=True)
        if answer.status >= 300:
            return None
        etag = bare(answer.headers.get("etag", ""))
        made_by = answer.headers.get(f"{self._account.prefix}uploadid", "")
        length = answer.headers.get("content-length", "")
        is_same = length == str(sum(part.size_bytes for part in parts)) and etag == etag_of(parts)
        return self._stored(answer, etag) if made_by == upload_id or is_same else None

    def _check_whole(self, answer: Answered, etag: str, parts: Sequence[Part], target: ObjectPath) -> None:
        expected = etag_of(parts)
        # Some services name the whole in another way.
        if not expected or not _OF_PARTS.fullmatch(etag) or is_encrypted(self._account.prefix, answer.headers):
            return
        if etag != expected:
            raise damaged(self._account.refusal(answer, f"sent {expected}, stored {etag}"), str(target))


def etag_of(parts: Sequence[Part]) -> str:
    """How OBS names a whole made of parts; empty where a part is not named by its MD5."""
    if not parts or not all(MD5.fullmatch(part.etag) for part in parts):
        return ""
    whole = hashlib.md5(b"".join(bytes.fromhex(part.etag) for part in parts), usedforsecurity=False)
    return f"{whole.hexdigest()}-{len(parts)}"


def _of_part(upload_id: str, number: int) -> dict[str, str | None]:
    return {"partNumber": str(number), "uploadId": upload_id}


_XML = {"Content-Type": "application/xml"}
