"""Counting and deleting everything a bucket holds: objects, old versions, marks of deletion, unfinished uploads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from traindeck.domain.errors import AppError, Conflict, NoRight
from traindeck.domain.storage.buckets import BucketContents
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.tasks import safely
from traindeck.services.http.errors import Answer, not_understood
from traindeck.services.storage.ports import OnProgress
from traindeck.services.storage.sdk.account import ObsAccount
from traindeck.services.storage.version_pages import Kept, KeptPage

if TYPE_CHECKING:
    from traindeck.services.storage.sdk.client import Client

_PAGES_AT_ONCE = 4
_NO_VERSION = ("", "null")
_MISSING = ("NoSuchKey", "NoSuchVersion")
# The last is what rclone says where no upload is unfinished.
_NEVER = ("NotImplemented", "ServiceNotImplemented", "MethodNotAllowed", "FsNotSupport", "NoSuchUpload")


class _NotKept(Exception):
    """The service knows nothing of the kind."""


class Emptying:
    """One bucket on its way to being empty."""

    def __init__(self, account: ObsAccount, bucket: str, on_progress: OnProgress) -> None:
        self._account = account
        self._bucket = bucket
        self._place = ObjectPath(bucket)
        self._told = safely(on_progress)
        self._so_far = BucketContents()
        self._left = 0
        self._first_left: tuple[str, Answer] | None = None

    async def count(self) -> BucketContents:
        async with aclosing(self._everything()) as pages:
            async for rows in pages:
                self._tell(_contents(rows))
        async with aclosing(self._unfinished()) as uploads:
            async for rows in uploads:
                self._tell(BucketContents(fragments=len(rows)))
        return self._so_far

    async def empty(self) -> BucketContents:
        has_versions = await self._has_versions()

        async def delete(rows: Sequence[Kept]) -> None:
            left = await self._delete(rows, has_versions)
            self._tell(_contents([row for row in rows if (row.key, row.id) not in left]))

        async def abort(rows: Sequence[Kept]) -> None:
            for row in rows:
                await self._abort(row)
                self._tell(BucketContents(fragments=1))

        await self._each(self._everything(), delete)
        await self._each(self._unfinished(), abort)
        if self._first_left is not None:
            key, why = self._first_left
            raise Conflict(
                text(
                    "{count} objects could not be deleted, for example “{place}”.",
                    count=self._left,
                    place=str(ObjectPath(self._bucket, key)),
                ),
                text("Look at what keeps them: a policy, or a time they are locked for. The rest is gone."),
                why.detail,
            )
        return self._so_far

    async def _each(self, pages: AsyncGenerator[list[Kept], None], work: Callable[[Sequence[Kept]], Any]) -> None:
        """Several pages at once, while the next is on its way."""
        gate = asyncio.Semaphore(_PAGES_AT_ONCE)

        async def one(rows: list[Kept]) -> None:
            try:
                await work(rows)
            finally:
                gate.release()

        try:
            async with aclosing(pages), asyncio.TaskGroup() as group:
                async for rows in pages:
                    await gate.acquire()
                    group.create_task(one(rows))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from failures

    async def _everything(self) -> AsyncGenerator[list[Kept], None]:
        try:
            async with aclosing(self._pages("kept_versions")) as pages:
                async for rows in pages:
                    yield rows
        except _NotKept:
            async with aclosing(self._plain()) as pages:
                async for rows in pages:
                    yield rows

    async def _unfinished(self) -> AsyncGenerator[list[Kept], None]:
        try:
            async with aclosing(self._pages("unfinished")) as pages:
                async for rows in pages:
                    yield rows
        except _NotKept:
            return

    async def _pages(self, call: str) -> AsyncGenerator[list[Kept], None]:
        after = after_id = ""
        while True:
            ask = partial(self._ask_behind, call, after, after_id)
            # Only the first page says so: what was handed on already must not be counted once more.
            is_first = not after
            answer = await self._account.ask(ask, self._place, fine=_NEVER if is_first else ())
            if is_first and (answer.status >= 300 or (answer.body is None and self._account.is_foreign)):
                raise _NotKept
            page: KeptPage = self._account.body(answer)
            if page.rows:
                yield page.rows
            if page.is_last:
                return
            if not page.next_key or (page.next_key, page.next_id) == (after, after_id):
                raise self._same_again()
            after, after_id = page.next_key, page.next_id

    def _same_again(self) -> AppError:
        """A listing that would never end, or says that it goes on and not where: what is left is not known."""
        return not_understood(Answer(self._account.service, 200, message="the same page again"))

    def _ask_behind(self, call: str, after: str, after_id: str, client: Client, _: CancelToken) -> Any:
        return getattr(client, call)(self._bucket, after, after_id)

    async def _plain(self) -> AsyncGenerator[list[Kept], None]:
        """The objects of a service that knows no versions."""
        marker = ""
        while True:
            answer = await self._account.ask(partial(self._list_behind, marker), self._place)
            page = self._account.body(answer)
            if page.rows:
                yield [Kept(row.key, "", row.size_bytes) for row in page.rows]
            if not page.next_marker:
                return
            if page.next_marker == marker:
                raise self._same_again()
            marker = page.next_marker

    def _list_behind(self, marker: str, client: Client, _: CancelToken) -> Any:
        return client.listObjects(self._bucket, marker=marker or None, encoding_type="url")

    async def _has_versions(self) -> bool:
        try:
            answer = await self._account.ask(
                lambda client, _: client.getBucketVersioning(self._bucket), self._place, fine=_NEVER
            )
        except NoRight:
            return True
        return answer.status < 300 and bool(answer.body)

    async def _delete(self, rows: Sequence[Kept], has_versions: bool) -> set[tuple[str, str]]:
        """Those that are still there."""
        if not self._account.is_foreign:
            return await self._delete_page(rows, has_versions)
        # OBS knows a way to write odd names in a list; others would look for the name as it is written.
        left: set[tuple[str, str]] = set()
        for row in rows:
            if not row.key.isprintable():
                left |= await self._delete_one(row, has_versions)
        return left | await self._delete_page([row for row in rows if row.key.isprintable()], has_versions)

    async def _delete_page(self, rows: Sequence[Kept], has_versions: bool) -> set[tuple[str, str]]:
        if not rows:
            return set()

        def remove(client: Client, _: CancelToken) -> Any:
            from obs.model import DeleteObjectsRequest, Object

            objects = [Object(row.key, _version(row, has_versions)) for row in rows]
            encoding = None if self._account.is_foreign else "url"
            return client.deleteObjects(
                self._bucket, DeleteObjectsRequest(quiet=True, objects=objects, encoding_type=encoding)
            )

        answer = await self._account.ask(remove, self._place)
        ids = {(row.key, _version(row, has_versions) or ""): row.id for row in rows}
        left = set()
        for failed in self._account.body(answer).error or ():
            if failed.code not in _MISSING:
                key = failed.key or ""
                left.add((key, ids.get((key, failed.versionId or ""), failed.versionId or "")))
                self._stays(key, Answer(self._account.service, answer.status, failed.code or "", failed.message or ""))
        return left

    async def _delete_one(self, row: Kept, has_versions: bool) -> set[tuple[str, str]]:
        place, version = ObjectPath(self._bucket, row.key), _version(row, has_versions)
        answer = await self._account.ask(
            lambda client, _: client.deleteObject(place.bucket, place.key, versionId=version),
            place,
            fine=(*_MISSING, "AccessDenied"),
        )
        if answer.status < 300 or answer.errorCode in _MISSING:
            return set()
        self._stays(row.key, self._account.refusal(answer))
        return {(row.key, row.id)}

    async def _abort(self, row: Kept) -> None:
        await self._account.ask(
            lambda client, _: client.abortMultipartUpload(self._bucket, row.key, row.id),
            ObjectPath(self._bucket, row.key),
            fine=("NoSuchUpload",),
        )

    def _stays(self, key: str, why: Answer) -> None:
        self._left += 1
        self._first_left = self._first_left or (key, why)

    def _tell(self, more: BucketContents) -> None:
        self._so_far += more
        self._told(self._so_far)


def _version(row: Kept, has_versions: bool) -> str | None:
    return row.id if has_versions and row.id else (None if row.id in _NO_VERSION else row.id)


def _contents(rows: Sequence[Kept]) -> BucketContents:
    markers = sum(row.is_marker for row in rows)
    latest = sum(row.is_latest and not row.is_marker for row in rows)
    return BucketContents(
        objects=latest,
        old_versions=len(rows) - markers - latest,
        markers=markers,
        size_bytes=sum(row.size_bytes for row in rows),
    )
