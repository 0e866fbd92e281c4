"""From a profile to the services behind it."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import LAB, NO_PROFILE, Profile, Provider
from traindeck.domain.errors import AccessRefused, AppError, InvalidInput, KeyringMissing, KeysRefused, NotFound
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Listeners
from traindeck.services.accounts.environment import ACCESS, ENVIRONMENT, SECRET, environment_profile
from traindeck.services.http.calls import Refused
from traindeck.services.http.errors import check_usable
from traindeck.services.http.proxies import proxy_of

if TYPE_CHECKING:
    from traindeck.services.accounts.secrets import Secrets
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


class Connection:
    """An account's services; each is loaded and made when first asked for: a command that moves data needs none."""

    def __init__(self, profile: Profile, credentials: Credentials, calls: BlockingCalls) -> None:
        # What cannot work is said at once.
        check_usable(profile.obs_url, credentials)
        check_usable(profile.modelarts_url, credentials)
        proxy_of(profile, credentials)
        self.way = profile, credentials
        """Where it leads, and what opened it."""
        self.profile = profile
        self._credentials = credentials
        self._calls = calls
        self.refused: Listeners[KeysRefused] = Listeners()
        """Told when a service does not take the keys any more; the error reaches whoever asked as well."""

    def make_plane(self, refused: Refused) -> DataPlane:
        """What moves data; used and closed by whoever makes one, on one loop, where he is told of refused keys too."""
        from traindeck.services.storage.wire.account import WireAccount
        from traindeck.services.storage.wire.data_plane import DataPlane

        return DataPlane(WireAccount(self.profile, self._credentials, refused=refused))

    @cached_property
    def storage(self) -> ObsStorage:
        from traindeck.services.storage.sdk.buckets import ObsStorage

        return ObsStorage(self.profile, self._credentials, self._calls, self.refused.tell)

    @cached_property
    def training(self) -> ModelArtsTraining:
        from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining

        return ModelArtsTraining(self.profile, self._credentials, self._calls, self.refused.tell)

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

    def in_region(self, region: str) -> Connection:
        """The same keys somewhere else, for whoever asks there once and closes it."""
        there = replace(self.profile, region=region, project_id="", obs_endpoint="")
        return Connection(there, self._credentials, self._calls)

    def close(self) -> None:
        """Of those that were made, what is idle."""
        for name in ("storage", "training"):
            if name in self.__dict__:
                getattr(self, name).close()


Result = TypeVar("Result")
log = logging.getLogger(__name__)
# Another program may be the one the new keys are given to; looking costs a word with the keyring.
LOOK_AGAIN_S = 5.0
# For a window: loading them when they are first asked for would hold it up.
ADAPTERS = (
    "traindeck.services.jobs.modelarts.adapter", "traindeck.services.storage.sdk.access",
    "traindeck.services.storage.sdk.buckets", "traindeck.services.storage.sdk.objects",
    "traindeck.services.storage.sdk.settings",
)  # fmt: skip


class Connections:
    """Opens each profile once and keeps it until its keys or addresses change.

    Keys that a service refused are not shown to it again: whoever wants in with them gets the same error at once,
    until there are others or somebody asks for another try.
    """

    def __init__(
        self,
        book: ProfileStore,
        secrets: Secrets,
        open_lab: Callable[[], Awaitable[LabAddress]],
        make: Callable[[Profile, Credentials], Connection],
        *,
        waits_for_keys: bool = False,
    ) -> None:
        """`waits_for_keys`: somebody is there who can give new ones, so work in between waits for them."""
        self._book = book
        self._waits_for_keys = waits_for_keys
        self._held: dict[str, tuple[Connection, KeysRefused]] = {}
        self._released: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.keys_refused: Listeners[str] = Listeners()
        """The name of a profile whose keys were refused, or are worth a try again: see `refusal`."""
        self._secrets = secrets
        self._open_lab = open_lab
        self._make = make
        self._open: dict[str, Connection] = {}

    def profile(self, name: str) -> Profile:
        """The profile of that name; the Lab's is always there."""
        if name == NO_PROFILE:
            raise InvalidInput(
                text("No account is selected."),
                text(
                    "Select one in the Account menu or with “traindeck profile use NAME”, "
                    "or specify --profile NAME for a command."
                ),
            )
        if name == LAB:
            return Profile(LAB, Provider.LAB, "lab")
        if name == ENVIRONMENT and (found := environment_profile()) is not None:
            return found
        for profile in self._book.all():
            if profile.name == name:
                return profile
        if name == ENVIRONMENT:
            raise NotFound(
                text("The environment variables contain no keys."),
                text("Set {access} and {secret}.", access=ACCESS, secret=SECRET),
            )
        raise NotFound(
            text("The account “{name}” does not exist.", name=name),
            text("“traindeck profile list” lists the names; “traindeck profile add {name}” adds it.", name=name),
        )

    def refusal(self, name: str) -> KeysRefused | None:
        """Why nothing goes on with this profile; None: its keys are good as far as anybody knows."""
        held = self._held.get(name)
        return held[1] if held else None

    def _hold(self, name: str, connection: Connection, error: KeysRefused) -> None:
        """Nobody gets in with these keys any more; what an older connection was told says nothing about them."""
        if name in self._held or self._open.get(name) is not connection:
            return
        self._held[name] = (connection, error)
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
                    if await self.way_in(name) != held[0].way and self._held.get(name) is held:
                        self.release(name)
                except KeyringMissing:
                    look_again_s = None  # a locked one asks its owner each time; who gives us keys here wakes us
                except AppError as error:
                    log.warning("looking for new keys of %s: %s", name, error)

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
        way = await self.way_in(name)
        if (held := self._held.get(name)) is not None:
            if held[0].way == way:
                raise held[1]
            self.release(name)
        known = self._open.get(name)
        if known and known.way == way:
            return known
        connection = self._make(*way)
        self.forget(name)
        connection.refused.add(partial(self._hold, name, connection))
        self._open[name] = connection
        return connection

    def forget(self, name: str) -> None:
        """Close the way to a profile; asking for it again opens a new one."""
        known = self._open.pop(name, None)
        if known:
            known.close()

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
                text("Add them again: “traindeck profile add {name} --replace” or Connect your account.", name=name),
            )
        return replace(profile, key_hint=profile.key_hint or credentials.hint), credentials
