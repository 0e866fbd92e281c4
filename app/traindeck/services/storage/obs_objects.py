"""What is said about objects, through the OBS SDK: read, changed without sending the bytes again, linked to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from traindeck.domain.errors import AppError, Conflict, InvalidInput, NoRight, NotFound, NotOffered
from traindeck.domain.object_facts import (
    LONGEST_LINK,
    METADATA_BYTES,
    RESTORE_DAYS,
    S3_METADATA_BYTES,
    SHORTEST_LINK,
    HeadChange,
    ObjectFacts,
    ObjectVersion,
    RestoreSpeed,
    Restoring,
    SignedLink,
    check_tags,
    frozen,
    metadata_bytes,
)
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.blocking import CancelToken
from traindeck.services.sdk_errors import Answer, not_understood
from traindeck.services.storage.object_heads import (
    changed_head,
    facts_of,
    metadata_after,
    takes_away,
    whole_head,
)
from traindeck.services.storage.obs_account import ObsAccount
from traindeck.services.storage.obs_beside import set_tags, tags_of
from traindeck.services.storage.obs_copies import made_current, onto_itself
from traindeck.services.storage.obs_errors import need_key
from traindeck.services.storage.version_pages import VersionPage

if TYPE_CHECKING:
    from traindeck.services.storage.obs_client import Client

_PAGE_ROWS = 1000
_GOES_ON = "RestoreAlreadyInProgress"


class ObsObjects:
    """One account's objects, apart from their bytes."""

    def __init__(self, account: ObsAccount) -> None:
        self._account = account
        self._is_obs: bool | None = None
        self._asking = asyncio.Lock()

    @property
    def most_metadata_bytes(self) -> int:
        return S3_METADATA_BYTES if self._account.is_foreign else METADATA_BYTES

    async def facts(self, path: ObjectPath, version: str = "") -> ObjectFacts:
        need_key(path)
        answer = await self._account.ask(lambda client, _: client.head(path.bucket, path.key, version), path)
        try:
            return facts_of(path, self._account.body(answer))
        except ValueError as error:
            raise not_understood(replace(self._account.refusal(answer), message=str(error))) from error

    async def is_public(self, path: ObjectPath) -> bool | None:
        need_key(path)

        def look(client: Client, _: CancelToken) -> Any:
            with client.without_keys():
                return client.head(path.bucket, path.key)

        try:
            answer = await self._account.ask(look, path, missing_is_none=True)
        except NoRight:
            return False
        except AppError:
            return None  # what a service says to strangers may be anything
        return None if answer is None else True

    async def change(self, path: ObjectPath, change: HeadChange, seen: ObjectFacts | None = None) -> ObjectFacts:
        found, is_asked = await self._asked(path, change, seen)
        if not is_asked:
            return found
        now = await self.facts(path)
        if now.size_bytes != found.size_bytes or not change.is_done(now):
            raise Conflict(
                text("“{place}” did not become what was asked for.", place=str(path)),
                text("Somebody else may be changing it too. Look at it again, then decide."),
            )
        return now

    async def ensure(self, path: ObjectPath, change: HeadChange) -> bool:
        return (await self._asked(path, change, None))[1]

    async def tags(self, path: ObjectPath) -> dict[str, str]:
        need_key(path)
        return await tags_of(self._account, path)

    async def set_tags(self, path: ObjectPath, tags: Mapping[str, str]) -> None:
        need_key(path)
        check_tags(tags)
        await set_tags(self._account, path, tags)

    async def restore(
        self, path: ObjectPath, days: int, speed: RestoreSpeed = RestoreSpeed.STANDARD, version: str = ""
    ) -> Restoring:
        need_key(path)
        if days not in RESTORE_DAYS:
            raise InvalidInput(
                text("An object cannot be restored for {days} days.", days=days), text("Choose 1 to 30 days.")
            )
        answer = await self._account.ask(
            lambda client, _: client.restoreObject(path.bucket, path.key, days, str(speed), version or None),
            path,
            fine=(_GOES_ON,),
        )
        if answer.errorCode == _GOES_ON:
            return Restoring.GOES_ON
        return Restoring.BEGUN if answer.status == 202 else Restoring.EXTENDED

    async def versions(self, path: ObjectPath) -> list[ObjectVersion]:
        need_key(path)
        found: list[ObjectVersion] = []
        key_marker = version_marker = ""
        while True:
            page = await self._version_page(path, key_marker, version_marker)
            found += [version for key, version in page.rows if key == path.key]
            # The name itself comes before all that only begin with it.
            is_past = any(key.encode() > path.key.encode() for key, _ in page.rows)
            if page.is_last or is_past:
                return found
            if (page.next_key, page.next_version) == (key_marker, version_marker) or not page.next_key:
                raise not_understood(Answer(self._account.service, 200, message="the same page again"))
            key_marker, version_marker = page.next_key, page.next_version

    async def make_current(self, path: ObjectPath, version: str) -> None:
        await made_current(self._account, await self.facts(path, version), version)

    async def remove_version(self, path: ObjectPath, version: str) -> None:
        need_key(path)
        if not version:
            raise ValueError("without a version the object itself would be deleted")
        await self._account.ask(
            lambda client, _: client.deleteObject(path.bucket, path.key, versionId=version),
            path,
            fine=("NoSuchVersion",),
        )

    async def link(self, path: ObjectPath, lasts: timedelta, *, method: str = "GET", version: str = "") -> SignedLink:
        need_key(path)
        if not SHORTEST_LINK <= lasts <= LONGEST_LINK:
            raise InvalidInput(
                text("A link cannot be good for so long, or so short."), text("Choose from 1 minute to 7 days.")
            )
        if method not in ("GET", "PUT"):
            raise InvalidInput(text("A link is for reading or for writing."), text("Choose GET or PUT."))
        now = datetime.now(UTC)
        # The older signature names the moment of its end, and the service has a clock of its own.
        ahead_s = 0 if self._account.is_foreign else round(self._account.clock_ahead_s or 0.0)
        query = {"versionId": version} if version else None

        def make(client: Client) -> str:
            seconds = int(lasts.total_seconds()) + ahead_s
            made = client.createSignedUrl(method, path.bucket, path.key, expires=seconds, queryParams=query)
            return str(made.signedUrl)

        address = await self._account.with_client(make)
        return SignedLink(address, method, now + lasts, self._account.has_token)

    async def _asked(self, path: ObjectPath, change: HeadChange, seen: ObjectFacts | None) -> tuple[ObjectFacts, bool]:
        """The object as it was found, and whether there was anything to ask for."""
        change.check()
        found = await self.facts(path)
        if seen is not None and not found.says_the_same(seen):
            raise Conflict(
                text("“{place}” is no longer what it was: somebody has changed it.", place=str(path)),
                text("Look at it again, then decide."),
            )
        if change.is_done(found):
            return found, False
        if change.storage_class and found.is_frozen:
            raise frozen(path)
        self._check_size(found, change)
        if await self._keeps_heads_apart(path.bucket):
            await self._set_head(found, change)
        else:
            await onto_itself(self._account, found, change)
        return found, True

    def _check_size(self, found: ObjectFacts, change: HeadChange) -> None:
        size = metadata_bytes(metadata_after(found, change))
        if size > self.most_metadata_bytes:
            raise InvalidInput(
                text("The metadata of “{place}” would have {count} bytes.", place=str(found.path), count=size),
                text("{most} bytes are the most for all names and values together; leave some out.",
                     most=self.most_metadata_bytes),
            )  # fmt: skip

    async def _keeps_heads_apart(self, bucket: str) -> bool:
        """Whether a head can be changed alone; whoever does not know the request takes it for an empty object."""
        async with self._asking:
            if self._is_obs is None:
                self._is_obs = await self._names_itself_obs(bucket)
            return self._is_obs

    async def _names_itself_obs(self, bucket: str) -> bool:
        try:
            answer = await self._account.ask(lambda client, _: client.names_itself_obs(bucket), ObjectPath(bucket))
        except (NoRight, NotFound, NotOffered, InvalidInput, Conflict):
            return False  # OBS answers this to everybody
        return "x-obs-api" in self._account.body(answer)

    async def _set_head(self, found: ObjectFacts, change: HeadChange) -> None:
        path, is_whole = found.path, takes_away(found, change)
        headers = whole_head(found, change) if is_whole else changed_head(found, change)
        headers["x-obs-metadata-directive"] = "REPLACE" if is_whole else "REPLACE_NEW"
        headers["If-Match"] = f'"{found.etag}"'
        if change.storage_class:
            headers["x-obs-storage-class"] = change.storage_class
        await self._account.ask(
            lambda client, _: client.put_head(path.bucket, path.key, {"metadata": None}, headers), path
        )

    async def _version_page(self, path: ObjectPath, key_marker: str, version_marker: str) -> VersionPage:
        query = {"prefix": path.key, "max-keys": str(_PAGE_ROWS), "encoding-type": "url"}
        if key_marker:
            query |= {"key-marker": key_marker, "version-id-marker": version_marker}
        answer = await self._account.ask(lambda client, _: client.versions(path.bucket, query), path)
        page: VersionPage = self._account.body(answer)
        return page
