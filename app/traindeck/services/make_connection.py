"""Builds what talks to one account."""

from __future__ import annotations

from traindeck.domain.errors import KeysRefused
from traindeck.domain.profiles import Profile
from traindeck.domain.secret import Credentials
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.listeners import Listeners
from traindeck.services.connections import Connection
from traindeck.services.data_ports import DataPlane
from traindeck.services.keys_news import Refused
from traindeck.services.storage.obs import ObsStorage
from traindeck.services.storage.obs_access import ObsAccess
from traindeck.services.storage.obs_account import ObsAccount
from traindeck.services.storage.obs_objects import ObsObjects
from traindeck.services.storage.obs_settings import ObsSettings
from traindeck.services.training.modelarts import ModelArtsTraining


async def make_connection(profile: Profile, credentials: Credentials, calls: BlockingCalls) -> Connection:
    """A connection for `profile`; nobody is asked before something is wanted."""
    refused: Listeners[KeysRefused] = Listeners()

    def make_plane(tell: Refused) -> DataPlane:
        from traindeck.services.storage.wire.data_plane import WireDataPlane

        return WireDataPlane(profile, credentials, refused=tell)

    account = ObsAccount(profile, credentials, calls, refused.tell)
    storage = ObsStorage(profile, credentials, calls, account=account)
    return Connection(
        profile,
        storage,
        ModelArtsTraining(profile, credentials, calls, refused.tell),
        make_plane,
        refused,
        objects=ObsObjects(account),
        settings=ObsSettings(account, profile),
        access=ObsAccess(account),
    )
