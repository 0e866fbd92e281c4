"""The data plane of one account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from traindeck.domain.profiles import Profile
from traindeck.domain.secret import Credentials
from traindeck.services.data_ports import NotRemoved, VersionPage
from traindeck.services.keys_news import Refused, nobody_listens
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.pool import MOST_CONNECTIONS
from traindeck.services.storage.wire.removal import removed
from traindeck.services.storage.wire.uploads import Uploads
from traindeck.services.storage.wire.versions import keeps_versions, version_page


class WireDataPlane(Uploads):
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

    async def remove(self, bucket: str, keys: Sequence[str]) -> list[NotRemoved]:
        return await removed(self._account, bucket, keys)

    async def keeps_versions(self, bucket: str) -> bool:
        return await keeps_versions(self._account, bucket)

    async def versions(
        self, bucket: str, prefix: str = "", *, after: str = "", after_version: str = "", most: int = 1000
    ) -> VersionPage:
        return await version_page(self._account, bucket, prefix, after, after_version, most)

    async def remove_versions(self, bucket: str, versions: Mapping[str, str]) -> list[NotRemoved]:
        return await removed(self._account, bucket, list(versions), versions)

    async def close(self) -> None:
        self._account.close()
