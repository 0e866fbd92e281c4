"""Adding, choosing, checking and removing accounts."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from traindeck.domain.errors import AppError, Conflict, InvalidInput, KeyringMissing
from traindeck.domain.profiles import LAB, Profile, is_profile_name, is_region
from traindeck.domain.secret import Credentials
from traindeck.domain.texts import Text, text
from traindeck.services.connections import Connection, Connections
from traindeck.services.environment import ACCESS, ENVIRONMENT, SECRET
from traindeck.services.ports import ProfileBook
from traindeck.services.secrets import SessionSecrets

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Check:
    """One finding about a profile; `passed` is None when it could not be looked at."""

    title: Text
    passed: bool | None
    fact: Text
    hint: Text | None = None


class ProfileDesk:
    """The accounts of this user."""

    def __init__(self, book: ProfileBook, secrets: SessionSecrets, connections: Connections) -> None:
        self._book = book
        self._secrets = secrets
        self._connections = connections

    def all(self) -> list[Profile]:
        return [self._connections.profile(LAB), *self._book.all()]

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
        """Keep the secret first: a profile without its keys is of no use."""
        _refuse_unusable(profile, credentials)
        if not replace_old and any(other.name == profile.name for other in self._book.all()):
            raise Conflict(
                text("There is a profile “{name}” already.", name=profile.name),
                text("Remove it first, or take another name."),
            )
        if this_session_only:
            self._secrets.keep(profile.name, credentials)
        else:
            await self._secrets.write(profile.name, credentials)
        kept = replace(profile, key_hint=credentials.hint)
        await self._book.put(kept)
        return kept

    async def remove(self, name: str) -> bool:
        """Whether its keys are certainly gone too; where no keyring answers, they may be left in it."""
        if name == LAB:
            raise InvalidInput(text("The Lab's own profile cannot be removed."), text("It costs nothing and stays."))
        self._connections.profile(name)
        if name == ENVIRONMENT:
            raise InvalidInput(
                text("The account of the environment is not kept on this computer."),
                text("Unset {access} and {secret}; then it is gone.", access=ACCESS, secret=SECRET),
            )
        keys_are_gone = True
        try:
            await self._secrets.remove(name)
        except KeyringMissing as error:
            log.warning("the keys of a removed profile: %s", error)
            keys_are_gone = False
        await self._book.remove(name)
        self._connections.forget(name)
        return keys_are_gone

    async def check(self, name: str) -> list[Check]:
        """Ask the services themselves; what cannot be asked is said to be not checked."""
        opened = text("Keys and project")
        storage, training = text("OBS"), text("ModelArts")
        self._connections.forget(name)  # what an earlier way in proved may no longer hold
        try:
            connection = await self._connections.open(name)
        except AppError as error:
            unknown = text("Not checked: there is no way in yet.")
            return [
                Check(opened, _verdict(error), error.title, error.hint),
                Check(storage, None, unknown),
                Check(training, None, unknown),
            ]
        asked = [
            await _checked(storage, lambda: _buckets(connection)),
            await _checked(training, lambda: _engines(connection)),
        ]
        was_looked_up = not connection.profile.is_lab and not self._connections.profile(name).project_id
        if was_looked_up or any(check.passed for check in asked):
            return [Check(opened, True, text("The credential is valid.")), *asked]
        # Nobody has accepted the keys: what speaks against them, if anything does, counts for them too.
        verdict = min(asked, key=lambda check: check.passed is None)
        return [replace(verdict, title=opened), *asked]


async def _checked(title: Text, ask: Callable[[], Awaitable[Text]]) -> Check:
    try:
        return Check(title, True, await ask())
    except AppError as error:
        return Check(title, _verdict(error), error.title, error.hint)


def _verdict(error: AppError) -> bool | None:
    """No answer says nothing about the keys."""
    return None if error.retryable else False


async def _buckets(connection: Connection) -> Text:
    return text("Buckets in sight: {count}.", count=len(await connection.storage.buckets()))


async def _engines(connection: Connection) -> Text:
    return text("Engines offered: {count}.", count=len(await connection.training.engines()))


def _refuse_unusable(profile: Profile, credentials: Credentials) -> None:
    if profile.name in (LAB, ENVIRONMENT) or not is_profile_name(profile.name):
        raise InvalidInput(
            text("“{name}” cannot be the name of a profile.", name=profile.name),
            text("Use 1 to 40 letters, digits, “.”, “_” or “-”; “lab” and “environment” are taken."),
        )
    if not is_region(profile.region):
        raise InvalidInput(
            text("“{region}” is not the name of a region.", region=profile.region),
            text("Write it as in the console's address, for example cn-north-4."),
        )
    access_key, secret_key = credentials.access_key, credentials.secret_key.reveal()
    if not access_key or not secret_key:
        # An empty key would make the SDK look for credentials of the machine it runs on.
        raise InvalidInput(
            text("The access key or the secret key is empty."),
            text("Paste both, as they stand in credentials.csv."),
        )
    if not all(part.isascii() and part.isprintable() and " " not in part for part in (access_key, secret_key)):
        raise InvalidInput(
            text("The keys hold characters that no key has."),
            text("Paste them again, without blanks or line ends, as they stand in credentials.csv."),
        )
