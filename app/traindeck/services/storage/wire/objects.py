"""Whole objects: sent, fetched, looked up, listed, copied."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError, Conflict, InvalidInput, NoRight, NotFound, NotOffered
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.http.errors import not_understood
from traindeck.services.storage.contents import BytesBody
from traindeck.services.storage.data_ports import Body, Counted, ListingPage, ObjectHead, Sink, StoredObject
from traindeck.services.storage.errors import damaged, need_key, obs_error
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.answers import (
    bare,
    confirmed,
    document_of,
    element_of,
    found_in,
)
from traindeck.services.storage.wire.connection import Answered
from traindeck.services.storage.wire.listing_pages import page_of
from traindeck.services.storage.wire.requests import (
    Request,
    encoded_key,
    head_headers,
    metadata_headers,
    type_header,
)
from traindeck.services.storage.wire.versions import remove_one

if TYPE_CHECKING:
    from traindeck.domain.storage.object_facts import ObjectFacts

_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


class Objects:
    """The part of a data plane that moves objects in one request each."""

    def __init__(self, account: WireAccount) -> None:
        self._account = account

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
    ) -> StoredObject:
        need_key(target)
        headers = type_header(target.key) | metadata_headers(self._account.prefix, metadata or {})
        if content_type:
            headers["Content-Type"] = content_type
        headers |= web_headers or {}
        if storage_class:
            headers[f"{self._account.prefix}storage-class"] = storage_class
        if if_match:
            headers["If-Match"] = f'"{bare(if_match)}"'
        answer = await self._account.ask(
            Request("PUT", target, headers=headers, body=body, counted=counted),
            checked=lambda answer: confirmed(self._account, answer, body, target),
        )
        return self._stored(answer, bare(answer.headers["etag"]))

    async def get(
        self,
        source: ObjectPath,
        sink: Sink,
        *,
        offset: int = 0,
        length: int | None = None,
        if_match: str = "",
        version: str = "",
    ) -> ObjectHead:
        need_key(source)
        if length is not None and length < 1:
            raise ValueError("a range has at least one byte")
        incoming = _Incoming(sink, offset, length)
        headers = {}
        if offset or length is not None:
            last = "" if length is None else str(offset + length - 1)
            headers["Range"] = f"bytes={offset}-{last}"
        if if_match:
            headers["If-Match"] = f'"{bare(if_match)}"'
        request = Request("GET", source, _of_version(version), headers, take=incoming.taker)

        def check(answer: Answered) -> None:
            stored = bare(answer.headers.get("etag", ""))
            if if_match and stored and stored != bare(if_match):  # not every service looks at the condition
                raise obs_error(replace(self._account.refusal(answer), status=412), source)
            self._check_received(answer, incoming, source)

        answer = await self._account.ask(
            request,
            checked=check,
            may_again=lambda: not incoming.received_bytes,
        )
        return found_in(self._account, source, answer.headers, incoming.whole_bytes)

    async def head(self, path: ObjectPath, version: str = "") -> ObjectHead | None:
        need_key(path)
        request = Request("HEAD", path, _of_version(version))
        answer = await self._account.ask(request, missing_is_fine=True)
        if answer.status == 404:
            return None
        length = answer.headers.get("content-length", "")
        if not length.isdecimal():
            raise not_understood(self._account.refusal(answer, "no length"))
        return found_in(self._account, path, answer.headers, int(length))

    async def facts(self, path: ObjectPath, version: str = "") -> ObjectFacts:
        """All there is in its head; NotFound: there is no such object."""
        from traindeck.services.storage.heads import facts_of  # not for those who only list and fetch

        need_key(path)
        found: list[ObjectFacts] = []

        def read(answer: Answered) -> None:
            try:
                found.append(facts_of(path, answer.headers))
            except ValueError as error:
                raise not_understood(self._account.refusal(answer, str(error))) from error

        await self._account.ask(Request("HEAD", path, _of_version(version)), checked=read)
        return found[-1]

    async def is_public(self, path: ObjectPath) -> bool | None:
        """Asked without keys; None: there is no such object, or nobody can tell."""
        need_key(path)
        try:
            answer = await self._account.ask(Request("HEAD", path, is_signed=False), missing_is_fine=True)
        except NoRight:
            return False
        except AppError:
            return None  # what a service says to strangers may be anything
        return None if answer.status == 404 else True

    async def names_itself_obs(self, bucket: str) -> bool:
        """OBS answers this to everybody, and other services take no notice of it."""
        try:
            answer = await self._account.ask(Request("HEAD", ObjectPath(bucket), {"apiversion": None}, is_signed=False))
        except (NoRight, NotFound, NotOffered, InvalidInput, Conflict):
            return False
        return "x-obs-api" in answer.headers

    async def set_head(self, path: ObjectPath, head: Mapping[str, str]) -> None:
        """What is said about an object, without its bytes, spelled as OBS does; only OBS itself knows the request."""
        headers = head_headers(self._account.prefix, head)
        await self._account.ask(Request("PUT", path, {"metadata": None}, headers))

    async def try_to_write(self, target: ObjectPath) -> None:
        """Raise what keeps us from writing there; nothing is kept, for the checksum that goes with it is wrong."""
        answer = await self._account.ask(Request("PUT", target, body=_Trial()), fine=("BadDigest", "InvalidDigest"))
        if answer.status < 300:  # a service that compares nothing has kept it
            await remove_one(self._account, target, answer.headers.get(f"{self._account.prefix}version-id", ""))

    async def page(
        self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = 1000
    ) -> ListingPage:
        # Names with control characters would lose a page that is not encoded.
        query: dict[str, str | None] = {"encoding-type": "url", "max-keys": str(most)}
        query |= {
            name: value for name, value in (("prefix", prefix), ("delimiter", delimiter), ("marker", marker)) if value
        }
        pages: list[ListingPage] = []

        def read(answer: Answered) -> None:
            try:
                pages.append(page_of(answer.body))
            except ValueError as error:
                raise not_understood(self._account.refusal(answer, str(error))) from error

        try:
            answer = await self._account.ask(Request("GET", ObjectPath(bucket), query), checked=read)
        except NoRight:
            step = ObjectPath(bucket, prefix).step_to(self._account.work_in) if delimiter else None
            if step is None:
                raise
            return ListingPage([], [step.key], "")
        page = pages[-1]
        if page.next_marker and page.next_marker == marker:  # else it would never end
            raise not_understood(self._account.refusal(answer, "the same page again"))
        return page

    async def copy(
        self, source: ObjectPath, target: ObjectPath, *, metadata: Mapping[str, str] | None = None, if_match: str = ""
    ) -> StoredObject:
        need_key(source)
        need_key(target)
        headers = self._copy_source(source, if_match)
        if metadata is not None:
            headers[f"{self._account.prefix}metadata-directive"] = "REPLACE"
            headers |= type_header(target.key) | metadata_headers(self._account.prefix, metadata)
        return await self._copied(target, headers)

    async def copy_onto(
        self, path: ObjectPath, head: Mapping[str, str], *, if_match: str, version: str = ""
    ) -> StoredObject:
        """An object, or an old version of it, onto itself; `head` is spelled as OBS does."""
        headers = self._copy_source(path, if_match, version) | head_headers(self._account.prefix, head)
        return await self._copied(path, headers)

    async def _copied(self, target: ObjectPath, headers: dict[str, str]) -> StoredObject:
        etags: list[str] = []

        def read(answer: Answered) -> None:
            root = document_of(self._account, answer, "CopyObjectResult")
            etags.append(bare(element_of(self._account, answer, root, "ETag")))

        answer = await self._account.ask(Request("PUT", target, headers=headers), checked=read)
        return self._stored(answer, etags[-1])

    def _copy_source(self, source: ObjectPath, if_match: str, version: str = "") -> dict[str, str]:
        prefix, of_version = self._account.prefix, f"?versionId={version}" if version else ""
        headers = {f"{prefix}copy-source": f"/{source.bucket}/{encoded_key(source.key)}{of_version}"}
        if if_match:
            headers[f"{prefix}copy-source-if-match"] = f'"{bare(if_match)}"'
        return headers

    def _stored(self, answer: Answered, etag: str) -> StoredObject:
        return StoredObject(etag, answer.headers.get(f"{self._account.prefix}version-id", ""))

    def _check_received(self, answer: Answered, incoming: _Incoming, source: ObjectPath) -> None:
        if not incoming.is_as_asked:
            raise not_understood(self._account.refusal(answer, "another range than asked for"))
        if incoming.received_bytes != incoming.expected_bytes:
            raise damaged(self._account.refusal(answer, "fewer bytes than announced"), str(source))


class _Trial(BytesBody):
    """What no service keeps that compares checksums."""

    def __init__(self) -> None:
        super().__init__(b"may this be written?")
        self.md5 = hashlib.md5(b"something else", usedforsecurity=False).digest()


class _Incoming:
    """The body of a download on its way to the sink."""

    def __init__(self, sink: Sink, offset: int, length: int | None) -> None:
        self._sink = sink
        self._offset = offset
        self._length = length
        self.received_bytes = 0
        self.expected_bytes = 0
        self.whole_bytes = 0
        self.is_as_asked = False

    def taker(self, status: int, headers: Mapping[str, str]) -> Sink | None:
        """Nothing is handed on unless it is the range asked for."""
        if status not in (200, 206):
            return None
        content_range = headers.get("content-range", "")
        if status == 206 or content_range:  # some say 200 to a range and give the range
            match = _CONTENT_RANGE.fullmatch(content_range)
            first, last, whole = (int(number) for number in match.groups()) if match else (-1, -1, 0)
        else:
            length = headers.get("content-length", "")
            first, last, whole = (0, int(length) - 1, int(length)) if length.isdecimal() else (-1, -1, 0)
        self.whole_bytes = whole
        self.expected_bytes = whole - self._offset
        if self._length is not None:
            self.expected_bytes = min(self._length, self.expected_bytes)
        self.is_as_asked = first == self._offset and last - first + 1 == self.expected_bytes
        return self._take if self.is_as_asked else _nowhere

    def _take(self, piece: bytes) -> Awaitable[None] | None:
        self.received_bytes += len(piece)
        return self._sink(piece)


def _nowhere(piece: bytes) -> None:
    """A body that is of no use."""


def _of_version(version: str) -> dict[str, str | None]:
    return {"versionId": version} if version else {}
