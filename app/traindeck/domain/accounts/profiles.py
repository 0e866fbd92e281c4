"""Named accounts: where to go, by which proxy, what was found out about them; never the secret."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from urllib.parse import quote, unquote, urlsplit

from traindeck.domain.accounts.keys import Secret
from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import Text, moment_words, text

LAB = "lab"
NO_PROFILE = ""
"""Where the current profile was removed and no other was chosen since; it is never the Lab's by itself."""
_PUBLIC = (".myhuaweicloud.com", ".myhuaweicloud.cn")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_REGION = re.compile(r"[a-z0-9][a-z0-9_-]{1,39}")


class Provider(StrEnum):
    LAB = "lab"
    MODELARTS = "modelarts"


class Signature(StrEnum):
    AUTO = "auto"
    OBS = "obs"
    V2 = "v2"
    V4 = "v4"


@dataclass(frozen=True, slots=True)
class Profile:
    """A named account; its secret is in the keyring (the Lab's: in the Lab)."""

    name: str
    provider: Provider
    region: str
    obs_endpoint: str = ""
    modelarts_endpoint: str = ""
    iam_endpoint: str = ""
    project_id: str = ""
    signature: Signature = Signature.AUTO
    path_style: bool = False
    ca_file: str = ""
    proxy: str = ""
    """Its address with the user, without the password."""
    work_in: str = ""
    """Where keys that reach one bucket or folder only may work."""
    key_hint: str = ""

    @property
    def is_lab(self) -> bool:
        return self.provider is Provider.LAB

    @property
    def obs_url(self) -> str:
        return self.obs_endpoint or f"https://obs.{self.region}.myhuaweicloud.com"

    @property
    def modelarts_url(self) -> str:
        # The SDK's own list has this one region under another domain.
        domain = "myhuaweicloud.cn" if self.region == "ap-southeast-1" else "myhuaweicloud.com"
        return self.modelarts_endpoint or f"https://modelarts.{self.region}.{domain}"

    @property
    def iam_url(self) -> str:
        return self.iam_endpoint or f"https://iam.{self.region}.myhuaweicloud.com"

    @property
    def listed_as(self) -> str:
        """By which text what was listed of it is kept; the Lab is the same wherever it listens today."""
        return self.name if self.is_lab else f"{self.name} {self.obs_url}"

    @property
    def has_training(self) -> bool:
        """Whether anybody can be asked about jobs: a store of somebody else's has no ModelArts beside it."""
        if self.modelarts_endpoint or not self.obs_endpoint:
            return True
        return (urlsplit(self.obs_endpoint).hostname or "").endswith(_PUBLIC)


def is_profile_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def is_region(name: str) -> bool:
    return _REGION.fullmatch(name) is not None


# region id, English name, Chinese name; where training is sold is for the flavors call to say
REGIONS: tuple[tuple[str, str, str], ...] = (
    ("cn-north-4", "CN North-Beijing4", "华北-北京四"),
    ("cn-north-1", "CN North-Beijing1", "华北-北京一"),
    ("cn-east-3", "CN East-Shanghai1", "华东-上海一"),
    ("cn-north-9", "CN North-Ulanqab1", "华北-乌兰察布一"),
    ("cn-south-1", "CN South-Guangzhou", "华南-广州"),
    ("cn-southwest-2", "CN Southwest-Guiyang1", "西南-贵阳一"),
    ("cn-east-4", "CN East 2", "华东二"),
    ("cn-north-2", "CN North-Beijing2", "华北-北京二"),
    ("ap-southeast-1", "CN-Hong Kong", "中国-香港"),
    ("ap-southeast-2", "AP-Bangkok", "亚太-曼谷"),
    ("ap-southeast-3", "AP-Singapore", "亚太-新加坡"),
    ("ap-southeast-4", "AP-Jakarta", "亚太-雅加达"),
    ("af-south-1", "AF-Johannesburg", "非洲-约翰内斯堡"),
    ("af-north-1", "AF-Cairo", "非洲-开罗"),
    ("la-south-2", "LA-Santiago", "拉美-圣地亚哥"),
    ("la-north-2", "LA-Mexico City2", "拉美-墨西哥城二"),
    ("sa-brazil-1", "LA-Sao Paulo1", "拉美-圣保罗一"),
    ("tr-west-1", "TR-Istanbul", "土耳其-伊斯坦布尔"),
    ("me-east-1", "ME-Riyadh", "中东-利雅得"),
)


_USUAL_PORT = 8080
_HOST = re.compile(r"[A-Za-z0-9_.:-]+")
ENDPOINTS = ("obs_endpoint", "modelarts_endpoint", "iam_endpoint")
"""The fields of a profile that hold one."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy that tunnels; its password is a secret and in no address."""

    host: str
    port: int
    user: str = ""
    password: Secret | None = None

    @property
    def url(self) -> str:
        """Where it is, without who asks."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def address(self) -> str:
        """As it is kept in the profile: with the user, never with the password."""
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        return self.url.replace("http://", f"http://{user}")

    @property
    def place(self) -> str:
        return self.url.removeprefix("http://")

    @property
    def headers(self) -> dict[str, str]:
        """What opens it."""
        if not self.user:
            return {}
        pair = f"{self.user}:{self.password.reveal() if self.password else ''}".encode()
        return {"Proxy-Authorization": f"Basic {base64.b64encode(pair).decode('ascii')}"}


def parse_proxy(address: str, password: Secret | None = None) -> Proxy:
    """From `http://user@host:port`; scheme and port may be left out, and a password has no place in it."""
    written = address.strip() if "://" in address else f"http://{address.strip()}"
    try:
        parts = urlsplit(written)
        port = parts.port or _USUAL_PORT
        has_password, host = parts.password is not None, parts.hostname or ""
    except ValueError:
        raise _not_one() from None
    if has_password:
        # Nothing of the address goes into the error: the secret is in it.
        raise InvalidInput(
            text("The proxy URL contains a password."),
            text("Enter http://user@host:port. The password has its own field."),
        )
    if parts.scheme != "http" or not _HOST.fullmatch(host) or parts.path not in ("", "/") or parts.query:
        raise _not_one()
    return Proxy(host, port, unquote(parts.username or ""), password)


def proxy_with_password(address: str) -> Proxy | None:
    """As the system and other programs write it, the password in the address; what is no HTTP proxy is none of ours."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        password = Secret(unquote(parts.password)) if parts.password else None
        without = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return replace(parse_proxy(without, password), user=unquote(parts.username or ""))
    except (ValueError, InvalidInput):
        return None


def _not_one() -> InvalidInput:
    return InvalidInput(
        text("This is not a proxy URL."),
        text("Enter http://host:port or http://user@host:port. Only HTTP proxies are supported."),
    )


def parse_endpoint(address: str) -> str:
    """Return the URL of a service without a slash at its end.

    Raises InvalidInput. What may hold a password is not repeated in the error.
    """
    written = address.strip().rstrip("/")
    if any(sign in written for sign in "@?#"):
        raise InvalidInput(
            text("An endpoint must not contain a user name, a password, “?” or “#”."),
            text("Enter only https:// and the host name. The keys have their own fields."),
        )
    try:
        parts = urlsplit(written)
        is_one = parts.scheme in ("http", "https") and _HOST.fullmatch(parts.hostname or "") and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one or not written.isprintable() or " " in written or "\\" in written:
        raise InvalidInput(
            text("“{url}” is not an endpoint.", url=address),
            text("Enter it with https:// and the host name."),
        )
    return written


def cleaned_endpoint(address: str) -> str:
    """Return the same place without user info, query and fragment: older versions kept them."""
    scheme, mark, rest = address.partition("://") if "://" in address else ("", "", address)
    place = rest.rpartition("@")[2]  # first: a password may hold “#” and “?”
    return scheme + mark + place.partition("#")[0].partition("?")[0]


class Asked(StrEnum):
    """What is looked at, in the order it is shown."""

    CLOCK = "clock"
    OBS = "obs"
    PROJECT = "project"
    MODELARTS = "modelarts"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding about a profile; `passed` is None when it could not be looked at, or not yet."""

    title: Text
    passed: bool | None
    fact: Text
    hint: Text | None = None
    id: str = ""
    is_running: bool = False
    may_try_again: bool = False
    """Nobody answered: asking later may tell."""


@dataclass(frozen=True, slots=True)
class CheckUp:
    """All findings, and what they say about the keys: taken, refused, or unknown."""

    checks: tuple[Check, ...]
    accepted: bool | None = None
    expires: datetime | None = None

    @property
    def verdict(self) -> Text:
        if self.accepted is None:
            return text("Keys not checked yet.")
        if not self.accepted:
            return text("The credential is not valid.")
        if self.expires is not None:
            return text("The credential is valid. It expires at {time}.", time=moment_words(self.expires))
        return text("The credential is valid.")

    @property
    def is_running(self) -> bool:
        return any(check.is_running for check in self.checks)
