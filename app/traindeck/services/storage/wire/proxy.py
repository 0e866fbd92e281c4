"""A proxy between us and the service."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from traindeck.domain.secret import Secret


@dataclass(frozen=True, slots=True)
class Proxy:
    """Spoken to in HTTP: by CONNECT for services with TLS, else by whole addresses."""

    host: str
    port: int
    user: str = ""
    password: Secret | None = None

    @property
    def authorization(self) -> str:
        """The header line that names the user; empty where there is none."""
        if not self.user:
            return ""
        pair = f"{self.user}:{self.password.reveal() if self.password else ''}"
        return f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"


class ProxyRefused(Exception):
    """The proxy did not open a way to the service."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the proxy answered CONNECT with {status}")
        self.status = status
