"""Who may reach a bucket: what its policy and its list of grants come to together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from traindeck.domain.storage.policies import (
    OBJECT_ACTIONS,
    Statement,
    Template,
    recognised,
    statements_of,
)
from traindeck.domain.texts import Text, count_text, text

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
            return text("Enter the ID of an account. It is under My Credentials in the console.")
        if not grant.account.isascii() or not grant.account.isprintable() or " " in grant.account:
            return text("An account ID has only ASCII letters, digits and symbols, without spaces.")
        if len(grant.account) > MOST_ID:
            return text("That is longer than an account ID.")
    if grant in among:
        return text("This grant already exists.")
    if len(among) >= MOST_GRANTS:
        return count_text("At most {count} grant is allowed.", "At most {count} grants are allowed.", MOST_GRANTS)
    return None


class Ability(StrEnum):
    """What somebody can do with a bucket."""

    LIST = "list"
    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    MANAGE = "manage"


class Openness(StrEnum):
    PRIVATE = "private"
    PUBLIC_READ = "public-read"
    PUBLIC_READ_WRITE = "public-read-write"
    CUSTOM = "custom"
    """Nobody gets in without an account, but others than the owner do, or anybody under conditions."""
    UNKNOWN = "unknown"


# What stands for an ability: one of these is enough.
_ACTIONS = {
    Ability.LIST: ("ListBucket", "ListBucketVersions"),
    Ability.READ: ("GetObject", "GetObjectVersion"),
    Ability.WRITE: ("PutObject", "ModifyObjectMetaData"),
    Ability.DELETE: ("DeleteObject", "DeleteObjectVersion"),
    Ability.MANAGE: (
        "DeleteBucket",
        "PutBucketPolicy",
        "DeleteBucketPolicy",
        "PutBucketAcl",
        "PutLifecycleConfiguration",
        "PutObjectAcl",
        "PutObjectVersionAcl",
    ),
}
CHANGING = frozenset({Ability.WRITE, Ability.DELETE, Ability.MANAGE})
_BY_GRANT = {
    Permission.READ: {Ability.LIST},
    Permission.WRITE: {Ability.WRITE, Ability.DELETE},
    Permission.READ_ACP: set[Ability](),
    Permission.WRITE_ACP: {Ability.MANAGE},
    Permission.FULL_CONTROL: {Ability.LIST, Ability.WRITE, Ability.DELETE, Ability.MANAGE},
}
_DELIVERED = {
    Permission.READ: {Ability.READ},
    Permission.FULL_CONTROL: {Ability.READ, Ability.MANAGE},
}


@dataclass(frozen=True, slots=True)
class Exposure:
    """What is known about who gets in; what could not be looked at makes no claim."""

    openness: Openness
    anybody: frozenset[Ability] = frozenset()
    """What everybody can do, without signing in."""
    sometimes: frozenset[Ability] = frozenset()
    """What everybody can do under a condition of the policy."""
    has_others: bool = False
    """Accounts other than the owner's have rights of their own."""
    template: Template | None = None

    @property
    def is_public(self) -> bool | None:
        """None: nobody could say."""
        if self.anybody:
            return True
        return None if self.openness is Openness.UNKNOWN else False

    @property
    def sentence(self) -> Text:
        if self.anybody:
            return text("Public: anyone on the internet can {what}.", what=abilities_words(self.anybody))
        match self.openness:
            case Openness.UNKNOWN:
                return text("Unknown: these keys do not have permission to view access.")
            case Openness.PRIVATE:
                return text("Private: only the account that owns the bucket has access.")
            case _ if self.sometimes:
                return text("Anyone can {what} if a condition is met.", what=abilities_words(self.sometimes))
            case _:
                return text("Not public; other accounts have permissions.")


UNKNOWN = Exposure(Openness.UNKNOWN)


def abilities_words(abilities: Iterable[Ability]) -> Text:
    """“list names and read objects”, in the order of how much they give away."""
    found = frozenset(abilities)
    words = [
        (Ability.LIST, text("list names")),
        (Ability.READ, text("read objects")),
        (Ability.WRITE, text("upload and overwrite")),
        (Ability.DELETE, text("delete")),
        (Ability.MANAGE, text("change its settings or permissions")),
    ]
    chosen = [said for ability, said in words if ability in found]
    joined = chosen[0]
    for said in chosen[1:-1]:
        joined = text("{some}, {more}", some=joined, more=said)
    return text("{some} and {last}", some=joined, last=chosen[-1]) if len(chosen) > 1 else joined


def exposure(
    bucket: str,
    policy: str | None,
    acl: Acl | None,
    *,
    ignores_policy: bool = False,
    ignores_acl: bool = False,
) -> Exposure:
    """What comes of both; None: it could not be read.

    A block on public access makes the service ignore what they say about everybody.
    """
    statements = statements_of(policy) if policy is not None and policy.strip() else ()
    policy_known = policy is not None and statements is not None
    statements = statements or ()
    denials = [one for one in statements if not one.allows and one.is_for_anybody and not one.has_condition]
    anybody: set[Ability] = set()
    sometimes: set[Ability] = set()
    for one in statements:
        if one.allows and one.is_for_anybody and not ignores_policy:
            (sometimes if one.has_condition else anybody).update(_allowed(bucket, one, denials))
    anybody |= {
        ability
        for grant in (acl.public_grants if acl and not ignores_acl else ())
        for ability in _granted(grant)
        if not _is_denied(bucket, ability, denials)
    }
    has_others = any(one.allows and not one.is_for_anybody for one in statements)
    if acl is not None:
        has_others = has_others or any(not (grant.is_public or acl.is_of_owner(grant)) for grant in acl.grants)
    template = recognised(policy, bucket) if policy is not None else None
    if anybody:
        openness = Openness.PUBLIC_READ_WRITE if anybody & CHANGING else Openness.PUBLIC_READ
    elif not policy_known or acl is None:
        openness = Openness.UNKNOWN
    elif sometimes or has_others:
        openness = Openness.CUSTOM
    else:
        openness = Openness.PRIVATE
    return Exposure(openness, frozenset(anybody), frozenset(sometimes - anybody), has_others, template)


def covers(statement: Statement, action: str, resource: str) -> bool:
    """Whether everything this resource stands for is meant, with this action."""
    is_action = any(_like(one, action.lower()) for one in statement.actions)
    if is_action == statement.not_actions:
        return False
    return any(_like(one, resource) for one in statement.resources) != statement.not_resources


def _granted(grant: Grant) -> set[Ability]:
    found = set(_BY_GRANT[grant.permission])
    return found | _DELIVERED.get(grant.permission, set()) if grant.delivered else found


def _allowed(bucket: str, statement: Statement, denials: Sequence[Statement]) -> set[Ability]:
    found = set()
    for ability, actions in _ACTIONS.items():
        for action in actions:
            places = _places(bucket, statement, action)
            if any(not any(covers(denial, action, place) for denial in denials) for place in places):
                found.add(ability)
    return found


def _places(bucket: str, statement: Statement, action: str) -> list[str]:
    """What the statement allows this action on, each as a pattern."""
    is_meant = any(_like(one, action.lower()) for one in statement.actions) != statement.not_actions
    if not is_meant:
        return []
    whole = f"{bucket}/*" if action in OBJECT_ACTIONS else bucket
    if statement.not_resources:
        return [] if any(_like(one, whole) for one in statement.resources) else [whole]
    if action not in OBJECT_ACTIONS:
        return [bucket] if any(_like(one, bucket) for one in statement.resources) else []
    return [one if "/" in one else whole for one in statement.resources if "/" in one or _like(one, whole)]


def _is_denied(bucket: str, ability: Ability, denials: Sequence[Statement]) -> bool:
    return all(
        any(covers(denial, action, f"{bucket}/*" if action in OBJECT_ACTIONS else bucket) for denial in denials)
        for action in _ACTIONS[ability]
    )


def _like(pattern: str, name: str) -> bool:
    return _pattern(pattern).fullmatch(name) is not None


@lru_cache(maxsize=1024)
def _pattern(words: str) -> re.Pattern[str]:
    # What is compared may be a pattern itself: its star is more than one character.
    parts = [".*" if sign == "*" else "[^*]" if sign == "?" else re.escape(sign) for sign in words]
    return re.compile("".join(parts), re.DOTALL)
