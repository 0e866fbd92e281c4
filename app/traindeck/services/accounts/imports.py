"""Taking over accounts that other programs keep: finding their files, reading them with care, adding what is wanted."""

from __future__ import annotations

import base64
import binascii
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from traindeck.domain.accounts.imports import ForeignAccount, LeftOut, Tool, obsutil_accounts, rclone_accounts
from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import AppError, InvalidInput, NotFound
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors
from traindeck.services.accounts.environment import ENVIRONMENT
from traindeck.services.accounts.profiles import ProfileService, refuse_unusable_keys, refuse_unusable_profile

_MOST_BYTES = 1 << 20
# What https://github.com/huaweicloud/huaweicloud-obs-obsutil, src/command/config.go, encrypts with where whoever builds
# it names nothing else. The program that Huawei hands out has a key of its own, which is published nowhere.
_OBSUTIL_KEY, _OBSUTIL_IV = b"mockaeskey123456", b"mockaesiv0123456"
_BLOCK = 16


class Standing(StrEnum):
    """What an import would do with an account."""

    NEW = "new"
    KNOWN = "known"
    """It is here already, just so."""
    TAKEN = "taken"
    """Another one has its name."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One account that can be taken over, under the name it would have here."""

    account: ForeignAccount
    standing: Standing

    @property
    def name(self) -> str:
        return self.account.profile.name


@dataclass(frozen=True, slots=True)
class Findings:
    """What the files of other programs hold."""

    files: tuple[tuple[Tool, Path], ...]
    offers: tuple[Offer, ...]
    left_out: tuple[LeftOut, ...]


class AccountImports:
    """The accounts of rclone and obsutil, for those who come from there."""

    def __init__(self, profiles: ProfileService, disk: BlockingCalls) -> None:
        self._profiles = profiles
        self._disk = disk

    async def find(self, tools: Sequence[Tool], file: Path | None = None, renamed: Mapping[str, str] = {}) -> Findings:
        """What could be added; nothing is changed. `renamed`: other names than there."""
        await self._profiles.read()
        files, found = await self._disk.run(lambda _: _read(tools, file))
        strange = renamed.keys() - {one.remote for one in found}
        if strange:
            raise NotFound(
                text("These files contain no account “{name}”.", name=sorted(strange)[0]),
                text("“traindeck config import --dry-run” lists the names."),
            )
        known = {profile.name: profile for profile in self._profiles.all()}
        left_out = [one for one in found if isinstance(one, LeftOut)]
        offers: list[Offer] = []
        for account in found:
            if isinstance(account, LeftOut):
                continue
            account = _named(account, renamed, {ENVIRONMENT, *(offer.name for offer in offers)})
            try:
                refuse_unusable_profile(account.profile)
                if account.credentials:
                    refuse_unusable_keys(account.credentials)
            except AppError as error:
                left_out.append(LeftOut(account.tool, account.remote, error.title))
            else:
                offers.append(Offer(account, _standing(account, known.get(account.profile.name))))
        return Findings(tuple(files), tuple(offers), tuple(left_out))

    async def add(self, offer: Offer, credentials: Credentials, *, replace_old: bool = False) -> Profile:
        """The keys go into the keyring."""
        whole = replace(credentials, proxy_password=offer.account.proxy_password)
        return await self._profiles.add(offer.account.profile, whole, replace_old=replace_old)


def _named(account: ForeignAccount, renamed: Mapping[str, str], taken: set[str]) -> ForeignAccount:
    """As asked, else as there; a name that two of them have, or that is ours, is told apart."""
    name = renamed.get(account.remote)
    if name is None:
        wanted = account.profile.name if account.profile.name not in (ENVIRONMENT, "lab") else account.tool.value
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted[:36]}-{number}", number + 1
    return replace(account, profile=replace(account.profile, name=name))


def _standing(account: ForeignAccount, known: Profile | None) -> Standing:
    if known is None:
        return Standing.NEW
    hint = account.credentials.hint if account.credentials else known.key_hint
    return Standing.KNOWN if replace(account.profile, key_hint=hint) == known else Standing.TAKEN


def _read(tools: Sequence[Tool], named: Path | None) -> tuple[list[tuple[Tool, Path]], list[ForeignAccount | LeftOut]]:
    files: list[tuple[Tool, Path]] = []
    found: list[ForeignAccount | LeftOut] = []
    looked: list[Path] = []
    for tool in tools:
        places = [named] if named else [*_places(tool)]
        looked += places
        with local_errors():
            file = next((place for place in places if place.exists() or place.is_symlink()), None)
        if file is None:
            continue
        content = _content(file)
        files.append((tool, file))
        found += rclone_accounts(content) if tool is Tool.RCLONE else obsutil_accounts(content, revealed)
    if not files:
        raise NotFound(
            text("No configuration was found: {places}.", places=", ".join(map(str, looked))),
            text("Specify the file with --file."),
        )
    return files, found


def _places(tool: Tool) -> Iterator[Path]:
    """Where the program itself looks, in its order."""
    if tool is Tool.OBSUTIL:
        yield Path.home() / ".obsutilconfig"
        return
    if chosen := os.environ.get("RCLONE_CONFIG"):
        yield Path(chosen)
        return
    if program := shutil.which("rclone"):
        yield Path(program).parent / "rclone.conf"
    if sys.platform == "win32" and (roaming := os.environ.get("APPDATA")):
        yield Path(roaming) / "rclone" / "rclone.conf"
    if configured := os.environ.get("XDG_CONFIG_HOME"):
        yield Path(configured) / "rclone" / "rclone.conf"
    yield Path.home() / ".config" / "rclone" / "rclone.conf"
    yield Path.home() / ".rclone.conf"


def _content(file: Path) -> str:
    """Nothing of it goes into an error: secrets are in it."""
    with local_errors(file):
        if not stat.S_ISREG(file.stat().st_mode):  # a pipe would be waited for, a device has no end
            raise _no_configuration(file)
        with file.open("rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES or b"\0" in content:
        raise _no_configuration(file)
    return content.decode("utf-8-sig", "replace")


def _no_configuration(file: Path) -> InvalidInput:
    return InvalidInput(
        text("“{file}” is not a configuration file: it is not text, or it is too large.", file=str(file)),
        text("Specify the file with --file."),
    )


def revealed(value: str) -> str | None:
    """What obsutil keeps as it was typed, or has encrypted with the key of its published source; None: another key."""
    try:
        encrypted = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return value
    if not encrypted or len(encrypted) % _BLOCK:
        return value
    from Crypto.Cipher import AES
    from Crypto.Util.Padding import unpad

    try:
        key = unpad(AES.new(_OBSUTIL_KEY, AES.MODE_CBC, _OBSUTIL_IV).decrypt(encrypted), _BLOCK).decode("ascii")
    except ValueError:
        return None
    return key if key.isprintable() else None
