"""The data plane of one account."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.storage.objects import Bucket, ObjectPath
from traindeck.services.http.calls import Refused, nobody_listens
from traindeck.services.storage.data_ports import NotRemoved, VersionPage
from traindeck.services.storage.documents import moment
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.answers import document_of
from traindeck.services.storage.wire.connection import Answered
from traindeck.services.storage.wire.pool import MOST_CONNECTIONS
from traindeck.services.storage.wire.requests import Request
from traindeck.services.storage.wire.uploads import MultipartUploads
from traindeck.services.storage.wire.versions import (
    VersionOfKey,
    remove_one,
    removed,
    version_page,
    versioning,
)


class WireDataPlane(MultipartUploads):
    """Made anywhere, at once; used and closed on one loop, which it keeps busy."""

    def __init__(
        self,
        profile: Profile,
        credentials: Credentials,
        *,
        refused: Refused = nobody_listens,
        most_connections: int = MOST_CONNECTIONS,
    ) -> None:
        super().__init__(WireAccount(profile, credentials, refused=refused, most_connections=most_connections))

    async def buckets(self) -> list[Bucket]:
        found: list[Bucket] = []

        def read(answer: Answered) -> None:
            root = document_of(self._account, answer, "ListAllMyBucketsResult")
            found[:] = [
                Bucket(
                    node.findtext("Name") or "", moment(node.findtext("CreationDate")), node.findtext("Location") or ""
                )
                for node in root.iterfind("Buckets/Bucket")
            ]

        location = {f"{self._account.prefix}location": "true"}
        await self._account.ask(Request("GET", ObjectPath(""), headers=location), checked=read)
        return found

    async def remove(self, bucket: str, keys: Sequence[str]) -> list[NotRemoved]:
        return await removed(self._account, bucket, [(key, "") for key in keys])

    async def keeps_versions(self, bucket: str) -> bool:
        return await versioning(self._account, bucket) == "Enabled"

    async def versions(
        self, bucket: str, prefix: str = "", *, after: str = "", after_version: str = "", most: int = 1000
    ) -> VersionPage:
        return await version_page(self._account, bucket, prefix, after, after_version, most)

    async def remove_versions(self, bucket: str, versions: Mapping[str, str]) -> list[NotRemoved]:
        return await removed(self._account, bucket, versions.items())

    async def versioning(self, bucket: str) -> str:
        """In the words of the service: Enabled, Suspended, or empty."""
        return await versioning(self._account, bucket)

    async def remove_each(self, bucket: str, wanted: Collection[VersionOfKey]) -> list[NotRemoved]:
        """Keys and versions of them as they come, some versions of one key among them."""
        return await removed(self._account, bucket, wanted)

    async def remove_version(self, path: ObjectPath, version: str) -> None:
        """One version for good; one that is gone already is no error."""
        await remove_one(self._account, path, version)

    @property
    def clock_ahead_s(self) -> float | None:
        """By how much the service's clock was before ours at its last answer; None: it has not said."""
        return self._account.clock_ahead_s

    async def close(self) -> None:
        self.end()

    def end(self) -> None:
        self._account.close()
