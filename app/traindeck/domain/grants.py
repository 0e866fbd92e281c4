"""Lists of grants (ACL): who was given what on a bucket or an object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from traindeck.domain.texts import Text, text

MOST_GRANTS = 100
MOST_ID = 256


class Permission(StrEnum):
    READ = "READ"
    WRITE = "WRITE"
    READ_ACP = "READ_ACP"
    WRITE_ACP = "WRITE_ACP"
    FULL_CONTROL = "FULL_CONTROL"


class Grantees(StrEnum):
    """Who a grant is for, where it is not one account."""

    ACCOUNT = "account"
    EVERYONE = "everyone"
    AUTHENTICATED = "authenticated"
    LOG_DELIVERY = "log-delivery"
    UNKNOWN = "unknown"
    """Spelled in a way that is not understood here, and so cannot be written back."""


class CannedAcl(StrEnum):
    PRIVATE = "private"
    PUBLIC_READ = "public-read"
    PUBLIC_READ_WRITE = "public-read-write"


@dataclass(frozen=True, slots=True)
class Grant:
    """One permission; `delivered` hands it on to the objects of a bucket."""

    kind: Grantees
    permission: Permission
    account: str = ""
    delivered: bool = False

    @property
    def is_public(self) -> bool:
        """Anybody can be one of them."""
        return self.kind in (Grantees.EVERYONE, Grantees.AUTHENTICATED)


@dataclass(frozen=True, slots=True)
class Acl:
    """The grants of a bucket or an object; its owner may always read and change them."""

    owner: str
    grants: tuple[Grant, ...]
    is_delivered: bool | None = None
    """Of an object: whether it takes over what the bucket hands on; None: the service does not say."""

    @property
    def is_readable(self) -> bool:
        return all(grant.kind is not Grantees.UNKNOWN for grant in self.grants)

    @property
    def public_grants(self) -> tuple[Grant, ...]:
        return tuple(grant for grant in self.grants if grant.is_public)

    def is_of_owner(self, grant: Grant) -> bool:
        return grant.kind is Grantees.ACCOUNT and grant.account == self.owner

    def without_public(self) -> Acl:
        return replace(self, grants=tuple(grant for grant in self.grants if not grant.is_public))

    def is_same(self, other: Acl) -> bool:
        return self.owner == other.owner and set(self.grants) == set(other.grants)


def grant_problem(grant: Grant, among: tuple[Grant, ...]) -> Text | None:
    """Why this grant cannot be added to those."""
    if grant.kind is Grantees.ACCOUNT:
        if not grant.account:
            return text("Type the id of an account; it is under My Credentials in the console.")
        if not grant.account.isascii() or not grant.account.isprintable() or " " in grant.account:
            return text("The id of an account has no blanks and only letters, digits and signs of ASCII.")
        if len(grant.account) > MOST_ID:
            return text("That is longer than the id of an account.")
    if grant in among:
        return text("This grant is there already.")
    if len(among) >= MOST_GRANTS:
        return text("There may be {count} grants at most.", count=MOST_GRANTS)
    return None
