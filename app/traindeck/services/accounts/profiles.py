"""Adding, choosing, checking and removing accounts."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import (
    ENDPOINTS,
    LAB,
    CheckUp,
    Profile,
    is_profile_name,
    is_region,
    parse_endpoint,
    parse_proxy,
)
from traindeck.domain.errors import Conflict, InvalidInput, KeyringMissing
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Listeners
from traindeck.services.accounts.connections import Connections
from traindeck.services.accounts.environment import (
    ACCESS,
    ENVIRONMENT,
    SECRET,
    environment_profile,
)
from traindeck.services.accounts.key_checks import OnCheck, check_keys
from traindeck.services.accounts.secrets import Secrets

if TYPE_CHECKING:
    from traindeck.store.settings import ProfileStore

log = logging.getLogger(__name__)


class ProfileService:
    """The accounts of this user."""

    def __init__(self, book: ProfileStore, secrets: Secrets, connections: Connections, calls: BlockingCalls) -> None:
        self._calls = calls
        self._book = book
        self._secrets = secrets
        self._connections = connections
        self.checked: Listeners[tuple[str, CheckUp]] = Listeners()
        """The name of an account, and what became of its checks."""

    def all(self) -> list[Profile]:
        """The Lab's, those on this computer, and the one in the environment while its variables are set."""
        found = [self._connections.profile(LAB), *self._book.all()]
        try:
            in_environment = environment_profile()
        except InvalidInput as error:
            log.warning("the account of the environment: %s", error)
            return found
        return found if in_environment is None else [*found, in_environment]

    @property
    def current(self) -> str:
        return self._book.current

    async def read(self) -> None:
        """Look at the disk again: another program may have changed them."""
        await self._book.read()

    async def use(self, name: str) -> None:
        self._connections.profile(name)
        await self._book.use(name)

    async def add(
        self,
        profile: Profile,
        credentials: Credentials,
        *,
        replace_old: bool = False,
        this_session_only: bool = False,
    ) -> Profile:
        """Keep the secret first: a profile without its keys is of no use. Temporary keys are for this session only."""
        refuse_unusable_profile(profile)
        refuse_unusable_keys(credentials)
        if not replace_old and any(other.name == profile.name for other in self._book.all()):
            raise Conflict(
                text("The account “{name}” already exists.", name=profile.name),
                text("Remove it first, or enter another name."),
            )
        return await self._keep(profile, credentials, this_session_only=this_session_only)

    async def change(self, profile: Profile, proxy_password: Secret | None = None) -> Profile:
        """Other settings for a profile that keeps its keys; without a new password of the proxy that stays too."""
        refuse_unusable_profile(profile)
        _, credentials = await self._connections.way_in(profile.name)
        if proxy_password or not profile.proxy:
            credentials = replace(credentials, proxy_password=proxy_password)
        this_session_only = self._secrets.is_kept(profile.name)
        return await self._keep(profile, credentials, this_session_only=this_session_only)

    async def _keep(self, profile: Profile, credentials: Credentials, *, this_session_only: bool) -> Profile:
        if this_session_only or credentials.token:
            self._secrets.keep(profile.name, credentials)
        else:
            await self._secrets.write(profile.name, credentials)
        kept = replace(profile, key_hint=credentials.hint)
        await self._book.put(kept)
        self._connections.release(profile.name)
        return kept

    async def keyring(self) -> str:
        """What keeps the keys here; raises KeyringMissing with what to do where nothing can."""
        return await self._secrets.backend()

    def get(self, name: str) -> Profile:
        return self._connections.profile(name)

    def refuse_to_remove(self, name: str) -> None:
        """Raises for what is not kept here."""
        if name == LAB:
            raise InvalidInput(
                text("The account of the Lab cannot be removed."), text("It is free and always available.")
            )
        self._connections.profile(name)
        if name == ENVIRONMENT:
            raise InvalidInput(
                text("The account of the environment variables is not stored on this computer."),
                text("To remove it, unset {access} and {secret}.", access=ACCESS, secret=SECRET),
            )

    async def remove(self, name: str) -> bool:
        """Whether its keys are certainly gone too; where no keyring answers, they may be left in it."""
        self.refuse_to_remove(name)
        keys_are_gone = True
        try:
            await self._secrets.remove(name)
        except KeyringMissing as error:
            log.warning("the keys of a removed profile: %s", error)
            keys_are_gone = False
        await self._book.remove(name)
        self._connections.forget(name)
        return keys_are_gone

    async def check(self, name: str, found: OnCheck = lambda _: None) -> CheckUp:
        """Ask the services themselves; `found` is told what is known so far, and what cannot be asked is not green."""
        profile, credentials = await self._connections.way_in(name)
        check_up = await check_keys(profile, credentials, self._calls, found)
        if check_up.accepted:
            self._connections.release(name)
        self.checked.tell((name, check_up))
        return check_up


def refuse_unusable_profile(profile: Profile) -> None:
    if profile.name in (LAB, ENVIRONMENT) or not is_profile_name(profile.name):
        raise InvalidInput(
            text("“{name}” cannot be used as an account name.", name=profile.name),
            text("Use 1 to 40 letters, digits, “.”, “_” or “-”; “lab” and “environment” are taken."),
        )
    if not is_region(profile.region):
        raise InvalidInput(
            text("“{region}” is not the name of a region.", region=profile.region),
            text("Enter it as in the URL of the console, for example cn-north-4."),
        )
    for address in (getattr(profile, name) for name in ENDPOINTS):
        if address:
            parse_endpoint(address)
    if profile.proxy:
        parse_proxy(profile.proxy)
    if profile.work_in:
        ObjectPath.parse(profile.work_in)


def refuse_unusable_keys(credentials: Credentials) -> None:
    access_key, secret_key = credentials.access_key, credentials.secret_key.reveal()
    if not access_key.strip() or not secret_key.strip():
        # An empty key would make the SDK look for credentials of the machine it runs on.
        raise InvalidInput(
            text("The access key or the secret key is empty."),
            text("Paste both as in credentials.csv."),
        )
    parts = (access_key, secret_key, credentials.token.reveal() if credentials.token else "")
    if not all(part.isascii() and part.isprintable() and " " not in part for part in parts):
        raise InvalidInput(
            text("The keys contain invalid characters."),
            text("Paste them again as in credentials.csv, without spaces or line breaks."),
        )
