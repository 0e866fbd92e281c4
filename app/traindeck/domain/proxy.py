"""A way to the services that leads through somebody else's server."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from traindeck.domain.errors import InvalidInput
from traindeck.domain.secret import Secret
from traindeck.domain.texts import text

_USUAL_PORT = 8080
_HOST = re.compile(r"[A-Za-z0-9_.:-]+")


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
            text("The address of the proxy has a password in it."),
            text("Write http://user@host:port; the password has a place of its own."),
        )
    if parts.scheme != "http" or not _HOST.fullmatch(host) or parts.path not in ("", "/") or parts.query:
        raise _not_one()
    return Proxy(host, port, unquote(parts.username or ""), password)


def _not_one() -> InvalidInput:
    return InvalidInput(
        text("This is not the address of a proxy."),
        text("Write http://host:port, or http://user@host:port; only HTTP proxies are used."),
    )
