"""The data plane of one account."""

from __future__ import annotations

from collections.abc import Sequence

from traindeck.domain.profiles import Profile
from traindeck.domain.secret import Credentials
from traindeck.services.data_ports import NotRemoved
from traindeck.services.keys_news import Refused, nobody_listens
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.pool import MOST_CONNECTIONS
from traindeck.services.storage.wire.removal import removed
from traindeck.services.storage.wire.uploads import Uploads


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

    async def close(self) -> None:
        self._account.close()
