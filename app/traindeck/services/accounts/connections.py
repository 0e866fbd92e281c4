"""From a profile to the services behind it."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import LAB, Profile, Provider
from traindeck.domain.errors import AccessRefused, AppError, KeyringMissing, KeysRefused, NotFound
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Listeners
from traindeck.services.accounts.environment import ENVIRONMENT, environment_profile
from traindeck.services.http.calls import Refused
from traindeck.services.http.errors import check_usable
from traindeck.services.http.proxies import proxy_of

if TYPE_CHECKING:
    from traindeck.services.accounts.secrets import SecretStore
    from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining
    from traindeck.services.storage.sdk.access import ObsAccess
    from traindeck.services.storage.sdk.buckets import ObsStorage
    from traindeck.services.storage.sdk.objects import ObsObjects
    from traindeck.services.storage.sdk.settings import ObsSettings
    from traindeck.services.storage.wire.data_plane import DataPlane
    from traindeck.store.settings import ProfileStore


@dataclass(frozen=True, slots=True)
class LabAddress:
    """Where the running Lab is and what opens it."""

    profile: Profile
    credentials: Credentials
    instance: str


class Adapters(Protocol):
    """What speaks to an account's services, beside its data."""

    @property
    def storage(self) -> ObsStorage: ...

    @property
    def training(self) -> ModelArtsTraining: ...

    @property
    def settings(self) -> ObsSettings: ...

    @property
    def objects(self) -> ObsObjects: ...

    @property
    def access(self) -> ObsAccess: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Connection:
    profile: Profile
    _adapters: Adapters
    make_plane: Callable[[Refused], DataPlane]
    """What moves data; used and closed by whoever makes one, on one loop, where he is told of refused keys too."""
    refused: Listeners[KeysRefused] = field(default_factory=Listeners, compare=False)
    """Told when a service does not take the keys any more; the error reaches whoever asked as well."""

    @property
    def storage(self) -> ObsStorage:
        return self._adapters.storage

    @property
    def training(self) -> ModelArtsTraining:
        return self._adapters.training

    @property
    def settings(self) -> ObsSettings:
        return self._adapters.settings

    @property
    def objects(self) -> ObsObjects:
        return self._adapters.objects

    @property
    def access(self) -> ObsAccess:
        return self._adapters.access

    def close(self) -> None:
        self._adapters.close()


OpenLab = Callable[[], Awaitable[LabAddress]]
MakeConnection = Callable[[Profile, Credentials], Awaitable[Connection]]
Result = TypeVar("Result")
log = logging.getLogger(__name__)
# Another program may be the one the new keys are given to; looking costs a word with the keyring.
LOOK_AGAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class _Held:
    """Keys that were refused, and what with."""

    profile: Profile
    credentials: Credentials
    error: KeysRefused


class Connections:
    """Opens each profile once and keeps it until its keys or addresses change.

    Keys that a service refused are not shown to it again: whoever wants in with them gets the same error at once,
    until there are others or somebody asks for another try.
    """

    def __init__(
        self,
        book: ProfileStore,
        secrets: SecretStore,
        open_lab: OpenLab,
        make: MakeConnection,
        *,
        waits_for_keys: bool = False,
    ) -> None:
        """`waits_for_keys`: somebody is there who can give new ones, so work in between waits for them."""
        self._book = book
        self._waits_for_keys = waits_for_keys
        self._held: dict[str, _Held] = {}
        self._released: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.keys_refused: Listeners[str] = Listeners()
        """The name of a profile whose keys were refused, or are worth a try again: see `refusal`."""
        self._secrets = secrets
        self._open_lab = open_lab
        self._make = make
        self._open: dict[str, tuple[Profile, Credentials, Connection]] = {}
        # Those who ask at once share one connection, or the one error of making it.
        self._opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._failed: dict[str, tuple[Profile, Credentials, AppError]] = {}

    def profile(self, name: str) -> Profile:
        """The profile of that name; the Lab's is always there."""
        if name == LAB:
            return Profile(LAB, Provider.LAB, "lab")
        if name == ENVIRONMENT and (found := environment_profile()) is not None:
            return found
        for profile in self._book.all():
            if profile.name == name:
                return profile
        raise NotFound(
            text("There is no profile “{name}”.", name=name),
            text("“traindeck profile list” shows the names; “traindeck profile add {name}” adds it.", name=name),
        )

    def refusal(self, name: str) -> KeysRefused | None:
        """Why nothing goes on with this profile; None: its keys are good as far as anybody knows."""
        held = self._held.get(name)
        return held.error if held else None

    def _hold(self, name: str, connection: Connection, error: KeysRefused) -> None:
        """Nobody gets in with these keys any more; what an older connection was told says nothing about them."""
        known = self._open.get(name)
        if name in self._held or known is None or known[2] is not connection:
            return
        self._held[name] = _Held(known[0], known[1], error)
        self._released[name].clear()
        self.keys_refused.tell(name)

    def release(self, name: str) -> None:
        """There are new keys, or the old ones are to be tried again: everything that waits goes on."""
        if self._held.pop(name, None) is None:
            return
        self.forget(name)
        self._released[name].set()
        self.keys_refused.tell(name)

    async def until_usable(self, name: str) -> None:
        """Come back when the keys of this profile were not refused, or are others now."""
        look_again_s: float | None = LOOK_AGAIN_S
        while (held := self._held.get(name)) is not None:
            try:
                async with asyncio.timeout(look_again_s):
                    await self._released[name].wait()
            except TimeoutError:
                try:
                    await self._look_for_new_keys(name, held)
                except KeyringMissing:
                    look_again_s = None  # a locked one asks its owner each time; who gives us keys here wakes us
                except AppError as error:
                    log.warning("looking for new keys of %s: %s", name, error)

    async def _look_for_new_keys(self, name: str, held: _Held) -> None:
        now = await self.way_in(name)
        if now != (held.profile, held.credentials) and self._held.get(name) is held:
            self.release(name)

    async def work(
        self, name: str, work: Callable[[Connection], Awaitable[Result]], waiting: Callable[[], None] | None = None
    ) -> Result:
        """The result of `work`, begun again with new keys where somebody can give them; `waiting` is told before."""
        while True:
            connection: Connection | None = None
            try:
                connection = await self.open(name)
                return await work(connection)
            except KeysRefused as error:
                if not self._waits_for_keys:
                    raise
                if connection is not None:
                    self._hold(name, connection, error)
            if waiting:
                waiting()
            await self.until_usable(name)

    async def open(self, name: str) -> Connection:
        profile, credentials = await self.way_in(name)
        if (held := self._held.get(name)) is not None:
            if (held.profile, held.credentials) == (profile, credentials):
                raise held.error
            self.release(name)
        opening = self._opening[name]
        has_company = opening.locked()
        async with opening:
            known = self._open.get(name)
            if known and known[:2] == (profile, credentials):
                return known[2]
            failed = self._failed.pop(name, None)
            if has_company and failed and failed[:2] == (profile, credentials):
                self._failed[name] = failed
                raise failed[2]
            try:
                connection = await self._make(profile, credentials)
            except AppError as error:
                self._failed[name] = (profile, credentials, error)
                raise
            self.forget(name)
            connection.refused.add(partial(self._hold, name, connection))
            self._open[name] = (profile, credentials, connection)
            return connection

    def forget(self, name: str) -> None:
        """Close the way to a profile; asking for it again opens a new one."""
        known = self._open.pop(name, None)
        if known:
            known[2].close()

    def close(self) -> None:
        for name in list(self._open):
            self.forget(name)

    async def way_in(self, name: str) -> tuple[Profile, Credentials]:
        """Where the profile leads, and what opens it now."""
        if name == LAB:
            address = await self._open_lab()
            return address.profile, address.credentials
        profile = self.profile(name)
        credentials = await self._secrets.read(name)
        if credentials is None:
            raise AccessRefused(
                text("The keys of “{name}” are not in the keyring.", name=name),
                text("Add them again: “traindeck profile add {name}” or Connect your account.", name=name),
            )
        return replace(profile, key_hint=profile.key_hint or credentials.hint), credentials


async def make_connection(profile: Profile, credentials: Credentials, calls: BlockingCalls) -> Connection:
    """A connection for `profile`; nobody is asked before something is wanted."""
    refused: Listeners[KeysRefused] = Listeners()

    def make_plane(tell: Refused) -> DataPlane:
        from traindeck.services.storage.wire.account import WireAccount
        from traindeck.services.storage.wire.data_plane import DataPlane

        return DataPlane(WireAccount(profile, credentials, refused=tell))

    return Connection(profile, _Adapters(profile, credentials, calls, refused.tell), make_plane, refused)


def load_adapters() -> None:
    """For a window: loading them when they are first asked for would hold it up."""
    from traindeck.services.jobs.modelarts import adapter  # noqa: F401
    from traindeck.services.storage.sdk import access, buckets, objects, settings  # noqa: F401


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
        from traindeck.services.storage.sdk.buckets import ObsStorage

        return ObsStorage(self._profile, self._credentials, self._calls, self._refused)

    @cached_property
    def training(self) -> ModelArtsTraining:
        from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining

        return ModelArtsTraining(self._profile, self._credentials, self._calls, self._refused)

    @cached_property
    def objects(self) -> ObsObjects:
        from traindeck.services.storage.sdk.objects import ObsObjects

        return ObsObjects(self.storage)

    @cached_property
    def settings(self) -> ObsSettings:
        from traindeck.services.storage.sdk.settings import ObsSettings

        return ObsSettings(self.storage)

    @cached_property
    def access(self) -> ObsAccess:
        from traindeck.services.storage.sdk.access import ObsAccess

        return ObsAccess(self.storage)

    def close(self) -> None:
        """Of those that were made, what is idle."""
        for name in ("storage", "training"):
            if name in self.__dict__:
                getattr(self, name).close()
