"""Secrets that cannot print themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


class Secret:
    """A value that shows itself only to who asks by name."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a secret is not pickled")


@dataclass(frozen=True, slots=True)
class Credentials:
    access_key: str
    secret_key: Secret
    token: Secret | None = field(default=None)
    proxy_password: Secret | None = field(default=None)
    expires: datetime | None = field(default=None)
    """When temporary keys end, where whoever made them said so."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """Everything in here that must not be shown."""
        return tuple(secret for secret in (self.secret_key, self.token, self.proxy_password) if secret)

    @property
    def hint(self) -> str:
        """Enough of the access key to tell two apart, not enough to use."""
        return f"{self.access_key[:4]}…{self.access_key[-2:]}" if len(self.access_key) > 8 else "…"
