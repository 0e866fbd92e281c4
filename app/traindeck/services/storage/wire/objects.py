"""Whole objects: sent, fetched, looked up, listed, copied; what answers say about them is checked against it."""

from __future__ import annotations

import hashlib
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError, Conflict, InvalidInput, NoRight, NotFound, NotOffered
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.clock import http_moment
from traindeck.services.http import bounds
from traindeck.services.storage.data_ports import (
    Basin,
    Body,
    BytesBody,
    Counted,
    ListingPage,
    ObjectHead,
    Sink,
    StoredObject,
)
from traindeck.services.storage.documents import bare, document, page_of
from traindeck.services.storage.errors import (
    again_and_again,
    damaged,
    need_key,
    not_asked_for,
    obs_error,
    occupied,
    otherwise_listed,
)
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.exchange import Answered, LineBroken
from traindeck.services.storage.wire.requests import (
    Request,
    crc64_in,
    encoded_key,
    head_headers,
    metadata_headers,
    metadata_in,
    type_header,
)
from traindeck.services.storage.wire.versions import KeptVersions, of_version

if TYPE_CHECKING:
    from traindeck.domain.storage.object_facts import ObjectFacts

_WEB_HEADERS = [
    (name.lower(), name)
    for name in ("Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Expires")
]
MD5 = re.compile("[0-9a-f]{32}")
OCCUPIED = ("PreconditionFailed", "ObjectAlreadyExists")
KEY = re.compile(rb"<Key>[^<]*</Key>")
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)


class Objects(KeptVersions):
    """The part of a data plane that moves objects in one request each."""

    async def put(
        self,
        target: ObjectPath,
        body: Body,
        *,
        metadata: Mapping[str, str] | None = None,
        counted: Counted | None = None,
        content_type: str = "",
        web_headers: Mapping[str, str] | None = None,
        storage_class: str = "",
        if_match: str = "",
        only_new: bool = False,
    ) -> StoredObject:
        """When it returns the service has confirmed size and MD5.

        Without `content_type` it follows from the name. Conflict: it is not as in `if_match` any more; Occupied:
        `only_new`, and there is one. Not every service looks at that.
        """
        need_key(target)
        headers = self._said_of(target, metadata or {}, content_type, storage_class) | dict(web_headers or {})
        if if_match:
            headers["If-Match"] = f'"{bare(if_match)}"'
        if only_new:
            headers |= self._only_new()
        answer = await self.account.ask(
            Request("PUT", target, headers=headers, body=body, counted=counted),
            fine=OCCUPIED if only_new else (),
            read=lambda answer: confirmed(self.account, answer, body, target),
        )
        if answer.content is None:
            raise occupied(target)
        return self._stored(answer, answer.content)

    async def get(
        self,
        source: ObjectPath,
        sink: Sink,
        *,
        offset: int = 0,
        length: int | None = None,
        if_match: str = "",
        version: str = "",
        listed_bytes: int | None = None,
    ) -> ObjectHead:
        """Feed `sink` with the bytes asked for, in order and once; tried again only before the first of them.

        `listed_bytes`: how large it is as far as the caller knows, who makes room for no more. Conflict: it is not.
        """
        need_key(source)
        if length is not None and length < 1:
            raise ValueError("a range has at least one byte")
        incoming = _Incoming(sink, offset, length, listed_bytes)
        headers = {}
        if offset or length is not None:
            last = "" if length is None else str(offset + length - 1)
            headers["Range"] = f"bytes={offset}-{last}"
        if if_match:
            headers["If-Match"] = f'"{bare(if_match)}"'
        request = Request("GET", source, of_version(version), headers, take=incoming.taker)

        def check(answer: Answered) -> None:
            stored = bare(_etag_of(answer))
            if if_match and stored != bare(if_match):  # not every service looks at the condition
                raise obs_error(replace(self.account.refusal(answer), status=412), source)
            if listed_bytes not in (None, incoming.whole_bytes):
                raise otherwise_listed(source, f"listed {listed_bytes} bytes, came {incoming.whole_bytes}")
            if not incoming.is_as_asked:
                raise ValueError("another range than asked for")
            if incoming.received_bytes != incoming.expected_bytes:
                raise damaged(self.account.refusal(answer, "fewer bytes than announced"), str(source))

        answer = await self.account.ask(request, read=check, may_again=lambda: not incoming.received_bytes)
        found = found_in(self.account.prefix, source, answer.headers, incoming.whole_bytes)
        # With a range the reference does not say whether it is that of the whole.
        return replace(found, crc64=None) if "Range" in headers else found

    async def head(self, path: ObjectPath) -> ObjectHead | None:
        need_key(path)
        answer = await self.account.ask(Request("HEAD", path), missing_is_fine=True, read=_etag_of)
        if answer.status == 404:
            return None
        length = bounds.whole_number(answer.headers.get("content-length", ""))
        if length is None:
            raise self.account.unreadable(answer, "no length")
        return found_in(self.account.prefix, path, answer.headers, length)

    async def part_bytes(self, found: ObjectHead) -> int:
        """How large the first of its parts is, as the service itself knows; 0: it does not say."""
        request = Request("HEAD", found.path, {"partNumber": "1"}, {"If-Match": f'"{found.etag}"'})
        try:
            answer = await self.account.ask(request, missing_is_fine=True, read=_etag_of)
        except AppError as error:
            if error.passes:
                raise
            return 0  # a head has no words for what it does not know
        length = bounds.whole_number(answer.headers.get("content-length", ""))
        is_told = answer.status == 206 and bare(answer.headers.get("etag", "")) == found.etag
        return length or 0 if is_told else 0

    async def facts(self, path: ObjectPath, version: str = "") -> ObjectFacts:
        """All there is in its head; NotFound: there is no such object."""
        from traindeck.services.storage.heads import facts_of  # not for those who only list and fetch

        need_key(path)
        request = Request("HEAD", path, of_version(version))

        def read(answer: Answered) -> ObjectFacts:
            _etag_of(answer)
            return facts_of(path, answer.headers)

        found: ObjectFacts = (await self.account.ask(request, read=read)).content
        return found

    async def is_public(self, path: ObjectPath) -> bool | None:
        """Asked without keys; None: there is no such object, or nobody can tell."""
        need_key(path)
        try:
            answer = await self.account.ask(Request("HEAD", path, is_signed=False), missing_is_fine=True)
        except NoRight:
            return False
        except AppError:
            return None  # what a service says to strangers may be anything
        return None if answer.status == 404 else True

    async def names_itself_obs(self, bucket: str) -> bool:
        """OBS answers this to everybody, and other services take no notice of it."""
        try:
            answer = await self.account.ask(Request("HEAD", ObjectPath(bucket), {"apiversion": None}, is_signed=False))
        except (NoRight, NotFound, NotOffered, InvalidInput, Conflict):
            return False
        return "x-obs-api" in answer.headers

    async def set_head(self, path: ObjectPath, head: Mapping[str, str]) -> None:
        """What is said about an object, without its bytes, spelled as OBS does; only OBS itself knows the request."""
        headers = head_headers(self.account.prefix, head)
        await self.account.ask(Request("PUT", path, {"metadata": None}, headers))

    async def try_to_write(self, target: ObjectPath, size_bytes: int = 1) -> None:
        """Raise what keeps us from writing there; nothing is kept, for the checksum that goes with it is wrong."""
        request = Request("PUT", target, body=_Trial(size_bytes))
        answer = await self.account.ask(request, fine=("BadDigest", "InvalidDigest"), read=_etag_of)
        if answer.status < 300:  # a service that compares nothing has kept it
            await self.remove_version(target, answer.headers.get(f"{self.account.prefix}version-id", ""))

    async def page(
        self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = 1000
    ) -> ListingPage:
        """One page of a listing: the names behind `marker`, those with `delimiter` folded into folders."""
        # Names with control characters would lose a page that is not encoded.
        query: dict[str, str | None] = {"encoding-type": "url", "max-keys": str(most)}
        query |= {
            name: value for name, value in (("prefix", prefix), ("delimiter", delimiter), ("marker", marker)) if value
        }
        request = Request("GET", ObjectPath(bucket), query)
        try:
            answer = await self.account.ask(request, read=lambda answer: page_of(answer.body))
        except NoRight:
            step = ObjectPath(bucket, prefix).step_to(self.account.work_in) if delimiter else None
            if step is None:
                raise
            return ListingPage([], [step.key], "")
        page: ListingPage = answer.content
        if page.next_marker and page.next_marker <= marker:  # else it would never end
            raise again_and_again(self.account.refusal(answer, f"behind {page.next_marker!a} after {marker!a}"))
        if not all(name.startswith(prefix) for name in (*(row.key for row in page.rows), *page.folders)):
            raise not_asked_for(self.account.refusal(answer, "names outside of it"), str(ObjectPath(bucket, prefix)))
        return page

    def _said_of(
        self, target: ObjectPath, metadata: Mapping[str, str], content_type: str, storage_class: str
    ) -> dict[str, str]:
        """Without a type it follows from the name."""
        headers = type_header(target.key) | metadata_headers(self.account.prefix, metadata)
        if content_type:
            headers["Content-Type"] = content_type
        if storage_class:
            headers |= head_headers(self.account.prefix, {"x-obs-storage-class": storage_class})
        return headers

    async def copy(
        self,
        source: ObjectPath,
        target: ObjectPath,
        *,
        metadata: Mapping[str, str] | None = None,
        head: Mapping[str, str] | None = None,
        if_match: str = "",
    ) -> StoredObject:
        """Within the service; without `metadata` the target keeps the source's. `head` is spelled as OBS does."""
        need_key(source)
        need_key(target)
        headers = self._copy_source(source, if_match)
        if metadata is not None:
            headers[f"{self.account.prefix}metadata-directive"] = "REPLACE"
            headers |= type_header(target.key) | metadata_headers(self.account.prefix, metadata)
        return await self._copied(target, headers | head_headers(self.account.prefix, head or {}))

    async def copy_onto(
        self, path: ObjectPath, head: Mapping[str, str], *, if_match: str, version: str = ""
    ) -> StoredObject:
        """An object, or an old version of it, onto itself; `head` is spelled as OBS does."""
        headers = self._copy_source(path, if_match, version) | head_headers(self.account.prefix, head)
        return await self._copied(path, headers)

    async def _copied(self, target: ObjectPath, headers: dict[str, str]) -> StoredObject:
        request = Request("PUT", target, headers=headers)
        answer = await self.account.ask(request, read=partial(etag_in, name="CopyObjectResult"))
        return self._stored(answer, answer.content)

    def _copy_source(self, source: ObjectPath, if_match: str, version: str = "") -> dict[str, str]:
        prefix, of_version = self.account.prefix, f"?versionId={version}" if version else ""
        headers = {f"{prefix}copy-source": f"/{source.bucket}/{encoded_key(source.key)}{of_version}"}
        if if_match:
            headers[f"{prefix}copy-source-if-match"] = f'"{bare(if_match)}"'
        return headers

    def _only_new(self) -> dict[str, str]:
        """As S3 has it, and as clients of OBS say it."""
        said = {"If-None-Match": "*"}
        return said | {"x-obs-forbid-overwrite": "true"} if self.account.prefix == "x-obs-" else said

    def _stored(self, answer: Answered, etag: str) -> StoredObject:
        return StoredObject(etag, answer.headers.get(f"{self.account.prefix}version-id", ""))


class _Trial(BytesBody):
    """What no service keeps that compares checksums."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(os.urandom(size_bytes))  # a line that compresses would seem fast
        self.md5 = hashlib.md5(b"something else", usedforsecurity=False).digest()


class _Incoming(Basin):
    """The body of a download on its way to the sink."""

    def __init__(self, sink: Sink, offset: int, length: int | None, listed_bytes: int | None) -> None:
        self._sink = sink
        self._listed_bytes = listed_bytes
        self._dropped_bytes = 0
        self._offset = offset
        self._length = length
        self.received_bytes = 0
        self.expected_bytes = 0
        self.whole_bytes = 0
        self.is_as_asked = False

    def taker(self, status: int, headers: Mapping[str, str]) -> Sink | None:
        """Nothing is handed on unless it is the range asked for."""
        if status not in (200, 206) or "etag" not in headers:
            return None
        content_range = headers.get("content-range", "")
        if status == 206 or content_range:  # some say 200 to a range and give the range
            match = _CONTENT_RANGE.fullmatch(content_range)
            first, last, whole = (int(number) for number in match.groups()) if match else (-1, -1, 0)
        else:
            length = bounds.whole_number(headers.get("content-length", ""))
            first, last, whole = (-1, -1, 0) if length is None else (0, length - 1, length)
        self.whole_bytes = whole
        self.expected_bytes = whole - self._offset
        if self._length is not None:
            self.expected_bytes = min(self._length, self.expected_bytes)
        is_long_so = headers.get("content-length", "") in ("", str(self.expected_bytes))  # it may say another range
        self.is_as_asked = first == self._offset and last - first + 1 == self.expected_bytes and is_long_so
        if not self.is_as_asked or self._listed_bytes not in (None, whole):
            return self._drop
        return self if isinstance(self._sink, Basin) else self.__call__

    def _drop(self, piece: bytes) -> None:
        """Of what is of no use, no more is waited for than an answer may have."""
        self._dropped_bytes += len(piece)
        if self._dropped_bytes > bounds.ANSWER_BYTES:
            raise LineBroken(ValueError("another range than asked for"), was_stale=False)

    def __call__(self, piece: bytes) -> Awaitable[None] | None:
        self.received_bytes += len(piece)
        if self.received_bytes > self.expected_bytes:  # nobody announced how much it would be
            raise LineBroken(ValueError("more than was asked for"), was_stale=False)
        return self._sink(piece)

    def room(self) -> memoryview:
        assert isinstance(self._sink, Basin)
        return self._sink.room()

    def came(self, size_bytes: int) -> bool:
        assert isinstance(self._sink, Basin)
        self.received_bytes += size_bytes
        return self._sink.came(size_bytes)

    async def empty(self) -> None:
        assert isinstance(self._sink, Basin)
        await self._sink.empty()


def _etag_of(answer: Answered) -> str:
    """Every store names the content of an object; a page that wants somebody to sign in does not."""
    if not answer.headers.get("etag", ""):
        raise ValueError("an object without an ETag")
    return answer.headers["etag"]


def is_encrypted(prefix: str, headers: Mapping[str, str]) -> bool:
    """Then its ETag is no MD5 of the content."""
    start = f"{prefix}server-side-encryption"
    return any(name.startswith(start) for name in headers)


def document_of(account: WireAccount, answer: Answered, *names: str) -> ET.Element:
    try:
        return document(answer.body, *names)
    except ValueError as error:
        raise account.unreadable(answer, str(error)) from error


def etag_in(answer: Answered, name: str) -> str:
    """That of a document which must have one."""
    # A name comes back as it is, which no document can hold if there are control characters in it.
    found = document(KEY.sub(b"", answer.body), name).findtext("ETag")
    if not found:
        raise ValueError(f"{name} without ETag")
    return bare(found)


def confirmed(account: WireAccount, answer: Answered, body: Body, target: ObjectPath) -> str:
    """The ETag, where nothing in the answer speaks against that what arrived is what was sent."""
    etag = bare(answer.headers.get("etag", ""))
    if not etag:
        raise ValueError("no ETag")
    sent, stored = body.md5.hex(), etag
    if body.crc64 is not None:
        told = crc64_in(account.prefix, answer.headers)
        sent, stored = str(body.crc64), str(body.crc64 if told is None else told)
    # An encrypted object has another ETag; its Content-MD5 was checked by the service all the same.
    elif not MD5.fullmatch(etag) or is_encrypted(account.prefix, answer.headers):
        return etag
    if sent != stored:
        raise damaged(account.refusal(answer, f"sent {sent}, stored {stored}"), str(target))
    return etag


def found_in(prefix: str, path: ObjectPath, headers: Mapping[str, str], size_bytes: int) -> ObjectHead:
    # Without the prefix of the dialect; the rest are few.
    start = len(prefix)
    own = {name[start:]: value for name, value in headers.items() if name.startswith(prefix)}
    return ObjectHead(
        path,
        size_bytes,
        bare(headers.get("etag", "")),
        http_moment(headers.get("last-modified", "")),
        own.get("version-id", ""),
        own.get("storage-class", ""),
        headers.get("content-type", ""),
        is_encrypted("", own),
        metadata_in("", own),
        crc64_in("", own),
        {name: headers[lower] for lower, name in _WEB_HEADERS if lower in headers},
    )
