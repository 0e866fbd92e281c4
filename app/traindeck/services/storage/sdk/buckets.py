"""Object storage over the OBS SDK."""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile, Signature
from traindeck.domain.errors import NoRight
from traindeck.domain.storage.objects import Bucket, ObjectEntry, ObjectPath
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.accounts.connections import Refused, nobody_listens
from traindeck.services.http.errors import Answer, not_understood
from traindeck.services.storage.data_ports import Page
from traindeck.services.storage.errors import need_key, obs_error
from traindeck.services.storage.listing import entry_of
from traindeck.services.storage.sdk.account import ObsAccount

if TYPE_CHECKING:
    from traindeck.services.storage.sdk.client import Client

PAGE_ROWS = 1000
READ_BYTES = 256 * 1024
_TRIAL = "may this be written?"
_WRONG_MD5 = base64.b64encode(hashlib.md5(b"something else", usedforsecurity=False).digest()).decode("ascii")


class ObsStorage:
    """One account's object storage; progress goes back when bytes have to be moved again."""

    def __init__(
        self,
        profile: Profile,
        credentials: Credentials,
        calls: BlockingCalls,
        refused: Refused = nobody_listens,
        account: ObsAccount | None = None,
    ) -> None:
        self._account = account or ObsAccount(profile, credentials, calls, refused)
        self._is_foreign = profile.signature == Signature.V4
        self._work_in = ObjectPath.parse(profile.work_in).as_folder() if profile.work_in else None

    def close(self) -> None:
        """Close idle connections; the next call opens new ones."""
        self._account.close()

    @property
    def clock_ahead_s(self) -> float | None:
        """By how much the service's clock was before ours at its last answer; None: it has not said."""
        return self._account.clock_ahead_s

    async def buckets(self) -> list[Bucket]:
        try:
            answer = await self._account.ask(lambda client, _: client.listBuckets(isQueryLocation=True), None)
        except NoRight:
            if self._work_in is None:
                raise
            return [Bucket(self._work_in.bucket, None, self._account.region)]
        found: list[Bucket] = self._account.body(answer)
        return found

    async def try_to_write(self, target: ObjectPath) -> None:
        """Raise what keeps us from writing there; nothing is kept, for the checksum that goes with it is wrong."""

        def offer(client: Client, _: CancelToken) -> Any:
            from obs.model import PutObjectHeader

            header = PutObjectHeader(md5=_WRONG_MD5, contentLength=len(_TRIAL))
            return client.putContent(target.bucket, target.key, content=_TRIAL, headers=header)

        answer = await self._account.ask(offer, target, fine=("BadDigest", "InvalidDigest"))
        if answer.status < 300:  # a service that compares nothing has kept it
            await self._remove_one(target, self._account.body(answer).versionId or None)

    async def create_bucket(self, name: str) -> None:
        def create(client: Client, _: CancelToken) -> Any:
            return client.createBucket(name, location=self._account.location)

        await self._account.ask(create, ObjectPath(name), fine=("BucketAlreadyOwnedByYou",))

    async def entries(self, folder: ObjectPath, *, recursive: bool = False) -> AsyncIterator[list[ObjectEntry]]:
        folder = folder.as_folder()
        marker = ""
        while True:
            page = await self.page(folder.bucket, folder.key, delimiter="" if recursive else "/", marker=marker)
            entries = _entries(page, folder)
            if entries:
                yield entries
            if not page.next_marker:
                return
            if page.next_marker == marker:  # else it would never end
                words = "the same page again"
                raise not_understood(Answer(self._account.service, 200, message=words))
            marker = page.next_marker

    async def info(self, path: ObjectPath) -> ObjectEntry | None:
        if path.is_bucket:
            found = await self._account.ask(
                lambda client, _: client.headBucket(path.bucket), path, missing_is_none=True
            )
            return None if found is None else ObjectEntry(path)
        if path.is_folder:
            page = await self.page(path.bucket, path.key, most=1)
            return ObjectEntry(path) if page.rows else None
        answer = await self._account.ask(
            lambda client, _: client.getObjectMetadata(path.bucket, path.key), path, missing_is_none=True
        )
        if answer is None:
            return None
        body = self._account.body(answer)
        if body.contentLength is None:
            raise not_understood(self._account.refusal(answer))
        modified = parsedate_to_datetime(body.lastModified) if body.lastModified else None
        return ObjectEntry(path, int(body.contentLength), modified, (body.etag or "").strip('"'))

    async def remove(self, paths: Sequence[ObjectPath]) -> None:
        keys: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            need_key(path)
            keys[path.bucket].append(path.key)
        for bucket, names in keys.items():
            if self._is_foreign:
                # OBS knows a way to write odd names in a list; others would look for the name as it is written.
                for odd in [name for name in names if not name.isprintable()]:
                    await self._remove_one(ObjectPath(bucket, odd))
                names = [name for name in names if name.isprintable()]
            for start in range(0, len(names), PAGE_ROWS):
                await self._remove_page(bucket, names[start : start + PAGE_ROWS])

    async def page(
        self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = PAGE_ROWS
    ) -> Page:
        def look(client: Client, _: CancelToken) -> Any:
            return client.listObjects(
                bucket,
                prefix=prefix or None,
                marker=marker or None,
                max_keys=most,
                delimiter=delimiter or None,
                encoding_type="url",  # names with control characters would lose the whole page
            )

        try:
            answer = await self._account.ask(look, ObjectPath(bucket))
        except NoRight:
            step = ObjectPath(bucket, prefix).step_to(self._work_in) if delimiter else None
            if step is None:
                raise
            return Page([], [step.key], "")
        page: Page = self._account.body(answer)
        return page

    async def _remove_one(self, path: ObjectPath, version: str | None = None) -> None:
        await self._account.ask(
            lambda client, _: client.deleteObject(path.bucket, path.key, versionId=version), path, fine=("NoSuchKey",)
        )

    async def _remove_page(self, bucket: str, keys: list[str]) -> None:
        def remove(client: Client, _: CancelToken) -> Any:
            from obs.model import DeleteObjectsRequest, Object

            encoding = None if self._is_foreign else "url"
            wanted = DeleteObjectsRequest(quiet=True, objects=[Object(key) for key in keys], encoding_type=encoding)
            return client.deleteObjects(bucket, wanted)

        answer = await self._account.ask(remove, ObjectPath(bucket))
        for failed in self._account.body(answer).error or ():
            if failed.code != "NoSuchKey":
                refusal = Answer(self._account.service, answer.status, failed.code or "", failed.message or "")
                raise obs_error(refusal, ObjectPath(bucket, failed.key or ""))


def _entries(page: Page, folder: ObjectPath) -> list[ObjectEntry]:
    entries = [ObjectEntry(ObjectPath(folder.bucket, key)) for key in page.folders]
    # Its own marker is not one of them.
    return entries + [entry_of(folder.bucket, row) for row in page.rows if row.key != folder.key]
