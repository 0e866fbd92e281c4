"""One look at everything an account needs: the computer, the way to its services, its rights, its speed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import LAB, Asked, Check, CheckUp, Profile
from traindeck.domain.errors import AppError, KeyringMissing
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.accounts.connections import Connections
from traindeck.services.accounts.environment import ENVIRONMENT
from traindeck.services.accounts.key_checks import TITLES
from traindeck.services.accounts.profiles import ProfileService
from traindeck.services.accounts.secrets import Secrets
from traindeck.services.diagnosis import computer
from traindeck.services.diagnosis.report import ProblemReport, collected
from traindeck.services.diagnosis.route import Route, look_at
from traindeck.services.diagnosis.speed import speeds
from traindeck.services.http.proxies import proxy_to
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.store.paths import Paths

_RIGHTS_S = 30.0
_ACCOUNT_S = 30.0

OnFinding = Callable[[Check], None]


class Diagnosis:
    """Ends within two minutes whatever the network does; nothing of it stays anywhere."""

    def __init__(
        self,
        paths: Paths,
        profiles: ProfileService,
        connections: Connections,
        secrets: Secrets,
        disk: BlockingCalls,
        open_plane: Callable[[str], AbstractAsyncContextManager[DataPlane]],
    ) -> None:
        self._paths = paths
        self._profiles = profiles
        self._connections = connections
        self._secrets = secrets
        self._disk = disk
        self._open_plane = open_plane

    async def run(self, name: str, told: OnFinding = lambda _: None) -> list[Check]:
        """Each finding is told when it is there."""
        found: list[Check] = []

        def tell(check: Check) -> None:
            found.append(check)
            told(check)

        await self._here(name, tell)
        account = await self._account(name, tell)
        if account is not None:
            await self._services(name, *account, tell)
        return found

    async def run_here(self, name: str) -> list[Check]:
        """Without asking anybody outside this computer."""
        found: list[Check] = []
        await self._here(name, found.append)
        return found

    async def report(self, checks: Sequence[Check]) -> ProblemReport:
        """All that a report needs, with every secret taken out that is known here or shows as one."""
        known = await self._known_keys()
        return await self._disk.run(lambda _: collected(self._paths, checks, known))

    async def write(self, report: ProblemReport, file: Path, *, replace_old: bool = False) -> None:
        await self._disk.run(lambda _: report.write(file, replace_old=replace_old))

    # this computer

    async def _here(self, name: str, tell: OnFinding) -> None:
        for look in (computer.versions, self._disk_space, self._home):
            tell(await self._disk.run(lambda _, look=look: look()))  # type: ignore[misc]
        tell(await self._keyring(name))

    def _disk_space(self) -> Check:
        return computer.disk(self._paths.home)

    def _home(self) -> Check:
        return computer.home_rights(self._paths.home)

    async def _keyring(self, name: str) -> Check:
        title = text("Keyring")
        try:
            async with asyncio.timeout(_ACCOUNT_S):
                backend = await self._secrets.backend()
        except TimeoutError:
            hint = text("A keyring that waits for its password does not respond. Unlock it.")
            return Check(title, None, text("The keyring did not respond in time."), hint, "keyring")
        except KeyringMissing as error:
            # Those two keep no keys in it.
            return Check(title, None if name in (LAB, ENVIRONMENT) else False, error.title, error.hint, "keyring")
        return Check(title, True, text("{keyring} is available.", keyring=backend), id="keyring")

    # the account

    async def _account(self, name: str, tell: OnFinding) -> tuple[Profile, Credentials] | None:
        title = text("Account")
        try:
            async with asyncio.timeout(_ACCOUNT_S):
                profile, credentials = await self._connections.way_in(name)
        except TimeoutError:
            hint = text("A keyring that waits for its password does not respond. Unlock it.")
            tell(
                Check(title, False, text("The keys of “{name}” could not be read in time.", name=name), hint, "account")
            )
            return None
        except AppError as error:
            tell(Check(title, False, error.title, error.hint, "account"))
            return None
        fact = text("“{name}” in {region}, key {key}.", name=name, region=profile.region, key=credentials.hint)
        tell(Check(title, True, fact, id="account"))
        return profile, credentials

    async def _services(self, name: str, profile: Profile, credentials: Credentials, tell: OnFinding) -> None:
        addresses = _addresses(profile)
        routes = await gather_or_raise(self._route(url, profile, credentials) for url in addresses)
        for route, services in zip(routes, addresses.values(), strict=True):
            for check in route.checks:
                title = text("{check} ({services})", check=check.title, services=services)
                tell(replace(check, title=title))
        # The first is the storage, by which everything else goes.
        if not routes[0].is_open:
            for check in _unasked(
                text("Not checked: {host} cannot be reached.", host=urlsplit(profile.obs_url).netloc)
            ):
                tell(check)
            return
        rights = await self._rights(name, tell)
        if any(check.id == Asked.OBS and check.may_try_again for check in rights):
            return  # nobody answers there
        try:
            async with self._open_plane(name) as plane:
                await speeds(plane, profile, tell)
        except AppError as error:
            tell(Check(text("Round trip"), None, error.title, error.hint, "round-trip"))

    async def _route(self, url: str, profile: Profile, credentials: Credentials) -> Route:
        try:
            proxy = await self._disk.run(lambda _: proxy_to(url, profile, credentials))
        except AppError as error:
            return Route((Check(text("Proxy"), False, error.title, error.hint, "proxy"),), False)
        return await look_at(url, profile, proxy)

    async def _rights(self, name: str, tell: OnFinding) -> list[Check]:
        """The checks of the keys, each told when it has ended."""
        latest: CheckUp = CheckUp(())
        done: dict[str, Check] = {}

        def found(state: CheckUp) -> None:
            nonlocal latest
            latest = state
            for check in state.checks:
                if not check.is_running and check.id not in done:
                    done[check.id] = check
                    tell(check)

        try:
            async with asyncio.timeout(_RIGHTS_S):
                await self._profiles.check(name, found)
        except TimeoutError:
            late = text("Not checked: not finished after {seconds} s.", seconds=round(_RIGHTS_S))
            running = [check for check in latest.checks if check.is_running]
            found(CheckUp(tuple(replace(one, fact=late, is_running=False, may_try_again=True) for one in running)))
        except AppError as error:
            found(CheckUp((Check(text("OBS"), False, error.title, error.hint, Asked.OBS),)))
        return [*done.values()]

    async def _known_keys(self) -> list[Credentials]:
        found = []
        for profile in self._profiles.all():
            with suppress(AppError, TimeoutError):
                async with asyncio.timeout(_ACCOUNT_S):
                    # The Lab's own are in no text of ours, and nobody starts it for this.
                    credentials = None if profile.is_lab else await self._secrets.read(profile.name)
                    found += [credentials] if credentials else []
        return found


def _addresses(profile: Profile) -> dict[str, str]:
    """The storage first; each host once, with the services that are there."""
    urls = [("OBS", profile.obs_url)]
    urls += [("ModelArts", profile.modelarts_url), ("IAM", profile.iam_url)] if profile.has_training else []
    hosts: dict[str, tuple[str, list[str]]] = {}
    for service, url in urls:
        hosts.setdefault(urlsplit(url).netloc, (url, []))[1].append(service)
    return {url: ", ".join(services) for url, services in hosts.values()}


def _unasked(why: Text) -> list[Check]:
    return [Check(title, None, why, id=asked, may_try_again=True) for asked, title in TITLES.items()]
