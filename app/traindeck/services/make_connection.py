"""Builds what talks to one account."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from traindeck.domain.errors import KeysRefused
from traindeck.domain.profiles import Profile
from traindeck.domain.secret import Credentials
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.listeners import Listeners
from traindeck.services.connections import Connection
from traindeck.services.data_ports import DataPlane
from traindeck.services.keys_news import Refused
from traindeck.services.proxies import proxy_of
from traindeck.services.sdk_errors import check_usable

if TYPE_CHECKING:
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

    return Connection(profile, _Adapters(profile, credentials, calls, refused.tell), make_plane, refused)


def load_adapters() -> None:
    """For a window: loading them when they are first asked for would hold it up."""
    for name in ("obs", "obs_access", "obs_objects", "obs_settings"):
        import_module(f"traindeck.services.storage.{name}")
    import_module("traindeck.services.training.modelarts")


class _Adapters:
    """Loaded and made when first asked for: a command that moves data needs none of them."""

    def __init__(self, profile: Profile, credentials: Credentials, calls: BlockingCalls, refused: Refused) -> None:
        # What cannot work is said at once.
        check_usable(profile.obs_url, credentials)
        check_usable(profile.modelarts_url, credentials)
        proxy_of(profile, credentials)
        self._profile = profile
        self._credentials = credentials
        self._calls = calls
        self._refused = refused

    @cached_property
    def storage(self) -> ObsStorage:
        from traindeck.services.storage.obs import ObsStorage

        return ObsStorage(self._profile, self._credentials, self._calls, account=self._account)

    @cached_property
    def training(self) -> ModelArtsTraining:
        from traindeck.services.training.modelarts import ModelArtsTraining

        return ModelArtsTraining(self._profile, self._credentials, self._calls, self._refused)

    @cached_property
    def objects(self) -> ObsObjects:
        from traindeck.services.storage.obs_objects import ObsObjects

        return ObsObjects(self._account)

    @cached_property
    def settings(self) -> ObsSettings:
        from traindeck.services.storage.obs_settings import ObsSettings

        return ObsSettings(self._account, self._profile)

    @cached_property
    def access(self) -> ObsAccess:
        from traindeck.services.storage.obs_access import ObsAccess

        return ObsAccess(self._account)

    def close(self) -> None:
        """Of those that were made, what is idle."""
        for name in ("_account", "training"):
            if name in self.__dict__:
                getattr(self, name).close()

    @cached_property
    def _account(self) -> ObsAccount:
        from traindeck.services.storage.obs_account import ObsAccount

        return ObsAccount(self._profile, self._credentials, self._calls, self._refused)
