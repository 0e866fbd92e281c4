"""Uploads that are done only when the service has confirmed every byte."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from traindeck.domain.errors import AppError, LocalTrouble
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.platform_files import local_errors
from traindeck.services.ports import Progress
from traindeck.services.sdk_errors import not_understood
from traindeck.services.storage.obs_account import ObsAccount
from traindeck.services.storage.obs_errors import damaged
from traindeck.services.storage.outgoing import FileChanged, Look, Outgoing, from_bytes, from_file

if TYPE_CHECKING:
    from traindeck.services.storage.obs_client import Client

# Above this a lost connection should not cost the whole file; the service would take 5 GB at once.
SINGLE_PUT_BYTES = 64 * 1024 * 1024
PART_BYTES = 16 * 1024 * 1024
MOST_PARTS = 9000  # the service allows 10,000
CHANGED_TRIES = 3
MD5 = re.compile(r"[0-9a-f]{32}")

_MEBIBYTE = 1024 * 1024
_NO_PARTS = ("NotImplemented", "ServiceNotImplemented")

log = logging.getLogger(__name__)


def part_bytes(size_bytes: int) -> int:
    """At least 16 MiB, whole MiB, and never more parts than the service takes."""
    needed = -(-size_bytes // MOST_PARTS)
    return max(PART_BYTES, -(-needed // _MEBIBYTE) * _MEBIBYTE)


async def send_bytes(account: ObsAccount, content: bytes, target: ObjectPath) -> None:
    await account.ask(lambda client, token: _put(account, client, from_bytes(content, token), target), target)


async def send_file(account: ObsAccount, source: Path, target: ObjectPath, progress: Progress | None) -> None:
    for _ in range(CHANGED_TRIES):
        look = await account.in_worker(lambda: Look.at(source))
        try:
            by_parts = look.size_bytes > SINGLE_PUT_BYTES
            if not (by_parts and await _Parts(account, source, look, target, progress).send()):
                await _send_whole(account, source, look, target, progress)
        except FileChanged:
            continue
        return
    raise LocalTrouble(
        text("“{place}” changes all the time and was not uploaded.", place=str(source)),
        text("Wait until the program that writes it is done, then try again."),
    )


async def _send_whole(
    account: ObsAccount, source: Path, look: Look, target: ObjectPath, progress: Progress | None
) -> None:
    def send(client: Client, token: CancelToken) -> Any:
        with _opened(source) as file:
            outgoing = from_file(file, 0, look.size_bytes, token, progress)
            answer = _counted(outgoing, lambda: _put(account, client, outgoing, target))
        if Look.at(source) != look:
            outgoing.take_back()
            raise FileChanged
        return answer

    await account.ask(send, target)


def _put(account: ObsAccount, client: Client, outgoing: Outgoing, target: ObjectPath) -> Any:
    from obs.model import PutObjectHeader

    header = PutObjectHeader(md5=outgoing.content_md5, contentLength=outgoing.size_bytes)
    answer = client.putContent(target.bucket, target.key, content=outgoing, headers=header, autoClose=False)
    return _confirmed(account, answer, outgoing, target)


def _confirmed(account: ObsAccount, answer: Any, outgoing: Outgoing, target: ObjectPath) -> Any:
    if answer.status < 300:
        body = account.body(answer)
        etag = (body.etag or "").strip('"')
        if not etag:
            raise not_understood(account.refusal(answer))
        # An encrypted object has another ETag; its Content-MD5 was checked by the service all the same.
        if not is_encrypted(body) and MD5.fullmatch(etag) and etag != outgoing.md5_hex:
            raise damaged(account.refusal(answer), str(target))
    return answer


def is_encrypted(body: Any) -> bool:
    return bool(body.sseKms or body.sseC)


def _opened(source: Path) -> BinaryIO:
    with local_errors(source):
        return source.open("rb")


def _counted(outgoing: Outgoing, request: Callable[[], Any]) -> Any:
    """What did not arrive is taken back from the progress."""
    answer = None
    try:
        answer = request()
    finally:
        if answer is None or answer.status >= 300:
            outgoing.take_back()
    return answer


@dataclass(slots=True)
class _Parts:
    """One large file, part by part."""

    account: ObsAccount
    source: Path
    look: Look
    target: ObjectPath
    progress: Progress | None
    moved_bytes: int = 0

    async def send(self) -> bool:
        """False: this service takes files in one piece only."""
        upload_id = await self._begin()
        if not upload_id:
            return False
        try:
            hashes = await self._send_each(upload_id)
            if Look.at(self.source) != self.look:
                raise FileChanged
            await self._complete(upload_id, hashes)
        except (AppError, FileChanged, asyncio.CancelledError):
            self._count(-self.moved_bytes)
            await self._give_up(upload_id)
            raise
        return True

    def _count(self, moved_bytes: int) -> None:
        self.moved_bytes += moved_bytes
        if self.progress and moved_bytes:
            self.progress(moved_bytes)

    async def _begin(self) -> str:
        answer = await self.account.ask(
            lambda client, _: client.initiateMultipartUpload(self.target.bucket, self.target.key),
            self.target,
            fine=_NO_PARTS,
        )
        if answer.status >= 300:
            return ""
        upload_id = self.account.body(answer).uploadId
        if not upload_id:
            raise not_understood(self.account.refusal(answer))
        return str(upload_id)

    async def _send_each(self, upload_id: str) -> list[_SentPart]:
        size_bytes = part_bytes(self.look.size_bytes)
        sent: list[_SentPart] = []
        for offset in range(0, self.look.size_bytes, size_bytes):
            wanted = min(size_bytes, self.look.size_bytes - offset)
            sent.append(await self._send_one(upload_id, len(sent) + 1, offset, wanted))
        return sent

    async def _send_one(self, upload_id: str, number: int, offset: int, size_bytes: int) -> _SentPart:
        md5_hex = ""

        def send(client: Client, token: CancelToken) -> Any:
            nonlocal md5_hex
            with _opened(self.source) as file:
                outgoing = from_file(file, offset, size_bytes, token, self._count)
                md5_hex = outgoing.md5_hex

                def request() -> Any:
                    answer = client.uploadPart(
                        self.target.bucket,
                        self.target.key,
                        number,
                        upload_id,
                        content=outgoing,
                        partSize=size_bytes,
                        md5=outgoing.content_md5,
                        autoClose=False,
                    )
                    return _confirmed(self.account, answer, outgoing, self.target)

                return _counted(outgoing, request)

        answer = await self.account.ask(send, self.target)
        return _SentPart(str(answer.body.etag), md5_hex)

    async def _complete(self, upload_id: str, sent: list[_SentPart]) -> None:
        def complete(client: Client, _: CancelToken) -> Any:
            from obs.model import CompleteMultipartUploadRequest, CompletePart

            parts = [CompletePart(partNum=number, etag=part.etag) for number, part in enumerate(sent, start=1)]
            answer = client.completeMultipartUpload(
                self.target.bucket, self.target.key, upload_id, CompleteMultipartUploadRequest(parts)
            )
            # A failure while the service puts the parts together arrives as 200 without an ETag.
            if answer.status < 300 and not (answer.body and answer.body.etag):
                raise not_understood(self.account.refusal(answer))
            return answer

        # NoSuchUpload: an earlier try whose answer was lost has done it, if the object is the one expected.
        answer = await self.account.ask(complete, self.target, fine=("NoSuchUpload",))
        etag = answer.body.etag if answer.status < 300 else _etag_of(sent)
        found = await self.account.ask(
            lambda client, _: client.getObjectMetadata(self.target.bucket, self.target.key), self.target
        )
        body = self.account.body(found)
        if int(body.contentLength or 0) != self.look.size_bytes or (body.etag or "").strip('"') != etag.strip('"'):
            raise damaged(self.account.refusal(found), str(self.target))

    async def _give_up(self, upload_id: str) -> None:
        def abort(client: Client, _: CancelToken) -> Any:
            return client.abortMultipartUpload(self.target.bucket, self.target.key, upload_id)

        try:
            await self.account.ask(abort, self.target, tries=1)
        except AppError as error:
            # The failure that led here is the one to tell; parts left behind show among the fragments.
            log.warning("unfinished upload of %s was not removed: %s", self.target, error)


@dataclass(frozen=True, slots=True)
class _SentPart:
    etag: str
    md5_hex: str


def _etag_of(sent: list[_SentPart]) -> str:
    """How the service names a whole made of parts."""
    whole = hashlib.md5(b"".join(bytes.fromhex(part.md5_hex) for part in sent), usedforsecurity=False)
    return f"{whole.hexdigest()}-{len(sent)}"
