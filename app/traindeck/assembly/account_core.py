"""The accounts of a home and the ways to their services: all that a listing needs, built in a moment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, Self

from traindeck.assembly.app_log import log_to
from traindeck.assembly.lab_link import LabLife, LabLink
from traindeck.domain.settings import APP_LOG, LAB_IDLE, LAB_PYTHON, Setting, Value
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import collect_seldom
from traindeck.services.accounts.connections import Connection, Connections
from traindeck.services.accounts.secrets import Secrets
from traindeck.store.paths import Paths
from traindeck.store.settings import ProfileStore, SettingsFile

if TYPE_CHECKING:
    from traindeck.services.accounts.imports import AccountImports
    from traindeck.services.accounts.profiles import ProfileService
    from traindeck.services.diagnosis.diagnosis import Diagnosis
    from traindeck.services.jobs.choices import JobChoices
    from traindeck.services.storage.wire.data_plane import DataPlane
    from traindeck.store.templates import TemplateStore


class AccountCore:
    """Accounts, their keys, and what they open, as long as `async with` lasts; what opens first is closed last.

    `somebody_helps`: there is who can give new keys or mend the network, so work waits instead of failing.
    `told`: is called with what the user must know of the settings.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        lab_life: LabLife = LabLife.BACKGROUND,
        somebody_helps: bool = False,
        told: Callable[[Text, Text], object] = lambda title, hint: None,
    ) -> None:
        self.paths = paths
        self._told = told
        self._lab_life = lab_life
        self._somebody_helps = somebody_helps
        self._owned = AsyncExitStack()

    @classmethod
    def for_command(cls, told: Callable[[Text, Text], object]) -> Self:
        """Over the home of this user, for a short while."""
        collect_seldom()
        return cls(Paths.for_user(), told=told)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as owned:
            await self._open(owned)
            self._owned = owned.pop_all()
        return self

    async def __aexit__(self, *problem: Any) -> None:
        await self._owned.__aexit__(*problem)

    async def _open(self, owned: AsyncExitStack) -> None:
        paths = self.paths
        paths.make()
        self.settings = SettingsFile(paths.settings)
        log_bytes = APP_LOG.default  # until the settings are read
        owned.enter_context(log_to(paths.app_log, lambda: log_bytes))
        self.disk, self.service = pool(owned, 4, "disk"), pool(owned, 16, "service")
        self.lab = LabLink(paths.lab, self._lab_life, pool(owned, 2, "lab"))
        owned.push_async_callback(self.lab.close)
        self.book = ProfileStore(self.settings, self.disk)
        await self.book.read()
        if self.book.cleaned:
            title = text(
                "A user name, a password or a query was in the endpoint of: {accounts}.",
                accounts=", ".join(self.book.cleaned),
            )
            hint = text("It was removed from the settings. Change that password: it was stored in a file.")
            if self.book.not_cleaned is not None:
                hint = text(
                    "It is not used, but it is still in the settings file: {reason} Change that password.",
                    reason=self.book.not_cleaned.paragraph(),
                )
            self._told(title, hint)
        log_bytes = self.book.value(APP_LOG)
        use_in_lab(self.lab, self.book.value)
        self.secrets = Secrets(pool(owned, 1, "keyring"))
        make = partial(Connection, calls=self.service)
        self.connections = Connections(
            self.book, self.secrets, self.lab.address, make, waits_for_keys=self._somebody_helps
        )
        owned.callback(self.connections.close)

    def profile_service(self) -> ProfileService:
        """Adding, checking and removing accounts; loaded by those who do."""
        from traindeck.services.accounts.profiles import ProfileService

        return ProfileService(self.book, self.secrets, self.connections, self.service)

    def account_imports(self) -> AccountImports:
        """Taking over the accounts of other programs."""
        from traindeck.services.accounts.imports import AccountImports

        return AccountImports(self.profile_service(), self.disk)

    @cached_property
    def templates(self) -> TemplateStore:
        """Those of job forms."""
        from traindeck.store.templates import TemplateStore

        return TemplateStore(self.paths.templates, self.disk)

    def job_choices(self) -> JobChoices:
        """The engines and specifications that accounts offer."""
        from traindeck.services.jobs.choices import JobChoices
        from traindeck.store.offers import OfferStore

        return JobChoices(self.connections, OfferStore(self.paths.offers, self.disk))

    def diagnosis(self) -> Diagnosis:
        """What is wrong on the way to an account, and the report of it."""
        from traindeck.services.diagnosis.diagnosis import Diagnosis

        return Diagnosis(self.paths, self.profile_service(), self.connections, self.secrets, self.disk, self.plane)

    @asynccontextmanager
    async def plane(self, profile: str) -> AsyncIterator[DataPlane]:
        """The data of an account, on the loop of whoever asks."""
        connection = await self.connections.open(profile)
        plane = connection.make_plane(connection.refused.tell)
        try:
            yield plane
        finally:
            await plane.close()


class SettingReader(Protocol):
    """Gives what the user chose."""

    def __call__(self, setting: Setting[Value], /) -> Value: ...


def use_in_lab(lab: LabLink, value: SettingReader) -> None:
    """What the settings say of a Lab that this program starts from now on."""
    lab.idle_exit_s, lab.python = 60 * value(LAB_IDLE), value(LAB_PYTHON)


def pool(owned: AsyncExitStack, workers: int, name: str) -> BlockingCalls:
    calls = BlockingCalls(workers, name)
    owned.callback(calls.close)
    return calls
