"""Accounts as other programs keep them: what their files say, in our words, whoever may have written them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import urlsplit

from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import (
    Profile,
    Provider,
    Signature,
    is_profile_name,
    parse_endpoint,
    proxy_with_password,
)
from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.texts import Text, text

Section = Mapping[str, str]
Reveal = Callable[[str], str | None]
"""The value behind an encrypted one; None: it cannot be read."""


class Tool(StrEnum):
    RCLONE = "rclone"
    OBSUTIL = "obsutil"


@dataclass(frozen=True, slots=True)
class ForeignAccount:
    """One account in a file of another program."""

    tool: Tool
    remote: str
    """What it is called there."""
    profile: Profile
    credentials: Credentials | None
    no_keys: Text | None = None
    """Why there are none."""
    proxy_password: Secret | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What stands in the file and is no account for us."""

    tool: Tool
    remote: str
    reason: Text


Found = ForeignAccount | LeftOut

_HUAWEI = re.compile(r"obs\.([a-z0-9-]+)\.myhuaweicloud\.(?:com|cn|eu)")
_AMAZON = re.compile(r"s3[.-]([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")
# What S3 takes a region for that nobody named.
_USUAL_REGION = "us-east-1"
_ENCRYPTED = "RCLONE_ENCRYPT_"
_TEMPORARY = text("Its keys are temporary and expire.")
_PATH_STYLE = {"minio", "ceph", "other", "seaweedfs", "rclone", "dreamhost", "storj", "leviia", ""}


def sections_of(content: str) -> dict[str, dict[str, str]]:
    """Lines of `name = value` below `[names]`, those before the first under an empty name; a value means itself."""
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] = found.setdefault("", {})
    for line in content.splitlines():
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            current = found.setdefault(line[1:-1].strip(), {})
        elif line and line[0] not in "#;":
            name, equals, value = line.partition("=")
            if equals:
                current[name.strip()] = value.strip()
    return found


def rclone_accounts(content: str) -> Iterator[Found]:
    if any(line.startswith(_ENCRYPTED) for line in content.splitlines()):
        raise InvalidInput(
            text("The configuration of rclone is encrypted with a password."),
            text(
                "Decrypt it with “rclone config encryption remove”, import, and encrypt it again with "
                "“rclone config encryption set”. Nothing was imported."
            ),
        )
    for remote, values in sections_of(content).items():
        if remote or values.get("type"):
            yield _of_rclone(remote, values)


def _of_rclone(remote: str, values: Section) -> Found:
    kind = values.get("type", "")
    if kind != "s3":
        return LeftOut(Tool.RCLONE, remote, text("It is of the type “{type}”, not s3.", type=kind or "–"))
    if values.get("session_token"):
        return LeftOut(Tool.RCLONE, remote, _TEMPORARY)
    provider = values.get("provider", "").casefold()
    endpoint, region = values.get("endpoint", ""), values.get("region", "")
    if not endpoint and provider == "aws":
        region = region or _USUAL_REGION
        endpoint = f"s3.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")
    if not endpoint and not (provider == "huaweiobs" and region):
        return LeftOut(Tool.RCLONE, remote, text("It has no endpoint."))
    is_path_style = values.get("force_path_style", "true" if provider in _PATH_STYLE else "false") == "true"
    signature = Signature.V2 if values.get("v2_auth") == "true" else Signature.V4
    no_keys = text("Its keys are not in the file: rclone takes them from the environment, or needs none.")
    keys = values.get("access_key_id", ""), values.get("secret_access_key", "")
    return _account(Tool.RCLONE, remote, (endpoint, region), (is_path_style, signature), keys, no_keys)


_NOT_SET = "*** Provide your"
_NO_ENDPOINT = "your-endpoint"


def obsutil_accounts(content: str, reveal: Reveal) -> Iterator[Found]:
    """The account of obsutil, and the second one it may have for copying between regions."""
    values = sections_of(content).get("", {})
    for remote, suffix in (("obsutil", ""), ("obsutil-crr", "Crr")):
        endpoint = values.get(f"endpoint{suffix}", "")
        keys = [values.get(f"{name}{suffix}", "") for name in ("ak", "sk")]
        if not endpoint or _NO_ENDPOINT in endpoint:
            if any(key and not key.startswith(_NOT_SET) for key in keys):
                yield LeftOut(Tool.OBSUTIL, remote, text("It has no endpoint."))
        elif values.get(f"token{suffix}"):
            yield LeftOut(Tool.OBSUTIL, remote, _TEMPORARY)
        else:
            found = _of_obsutil(remote, endpoint, keys, reveal)
            yield _through(found, values.get("proxyUrl", "")) if isinstance(found, ForeignAccount) else found


def _through(account: ForeignAccount, address: str) -> ForeignAccount:
    proxy = proxy_with_password(address) if address else None
    if proxy is None:
        return account
    return replace(account, profile=replace(account.profile, proxy=proxy.address), proxy_password=proxy.password)


def _of_obsutil(remote: str, endpoint: str, keys: list[str], reveal: Reveal) -> Found:
    if any(not key or key.startswith(_NOT_SET) for key in keys):
        found, no_keys = ["", ""], text("Its keys are not in the file.")
    else:
        found = [reveal(key) or "" for key in keys]
        no_keys = text("obsutil encrypts the keys in its file with a key that only obsutil has.")
    return _account(Tool.OBSUTIL, remote, (endpoint, ""), (False, Signature.V4), (found[0], found[1]), no_keys)


def _account(
    tool: Tool, remote: str, where: tuple[str, str], how: tuple[bool, Signature], keys: tuple[str, str], no_keys: Text
) -> Found:
    endpoint, region = where
    url = (endpoint if "://" in endpoint else f"https://{endpoint}").rstrip("/")
    try:
        host = urlsplit(parse_endpoint(url)).hostname or "" if endpoint else ""
    except InvalidInput as error:
        return LeftOut(tool, remote, error.title)
    is_huawei = _HUAWEI.fullmatch(host) or not endpoint
    if known := _HUAWEI.fullmatch(host) or _AMAZON.fullmatch(host):
        region = region or known[1]
    profile = Profile(profile_name(remote), Provider.MODELARTS, region or _USUAL_REGION)
    if endpoint and url != profile.obs_url:
        profile = replace(profile, obs_endpoint=url)
    if not is_huawei:
        profile = replace(profile, path_style=how[0], signature=how[1])
    try:
        credentials = Credentials(keys[0], Secret(keys[1])) if all(keys) else None
    except AppError as error:
        return LeftOut(tool, remote, error.title)
    return ForeignAccount(tool, remote, profile, credentials, None if credentials else no_keys)


def profile_name(remote: str) -> str:
    """As near to the name there as a name here can be."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", remote).lstrip("_.-")[:40]
    return name if is_profile_name(name) else "imported"
