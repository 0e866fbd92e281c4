"""Bucket policies: checked when they are set, and asked at every request."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from fnmatch import translate
from functools import lru_cache, partial
from ipaddress import ip_address, ip_network
from typing import Any

from traindeck.lab.obs.errors import ObsError

MAX_POLICY = 20 * 1024
_PREFIX = re.compile(r"^(?:s3|obs|aws):", re.IGNORECASE)
_ARN = re.compile(r"^arn:[^:]*:(?:s3|obs)::?[^:]*:")


class MalformedPolicy(ObsError):
    """The document is not a policy for this bucket."""

    def __init__(self, message: str) -> None:
        super().__init__(400, "MalformedPolicy", message)


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, and from where: what conditions look at has names in lower case."""

    domain_id: str | None
    user_id: str | None
    context: Mapping[str, str]


def checked_policy(body: bytes, bucket: str) -> str:
    """The text to keep; raises where it could not be applied to this bucket."""
    if len(body) > MAX_POLICY:
        raise MalformedPolicy("A policy has at most 20 KB.")
    try:
        text = body.decode("utf-8")
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedPolicy("The policy is not JSON.") from error
    statements = content.get("Statement") if isinstance(content, dict) else None
    if isinstance(statements, dict):
        statements = [statements]
    if not isinstance(statements, list) or not statements:
        raise MalformedPolicy("The policy has no statements.")
    for statement in statements:
        _check(statement, bucket)
    return text


def _check(statement: object, bucket: str) -> None:
    if not isinstance(statement, dict):
        raise MalformedPolicy("A statement is not an object.")
    if statement.get("Effect") not in ("Allow", "Deny"):
        raise MalformedPolicy("The effect of a statement is neither Allow nor Deny.")
    for name in ("Principal", "Action", "Resource"):
        if (name in statement) == (f"Not{name}" in statement):
            raise MalformedPolicy(f"A statement needs either {name} or Not{name}.")
    principal = statement.get("Principal", statement.get("NotPrincipal"))
    is_named = isinstance(principal, dict) and principal and all(_texts(values) for values in principal.values())
    if principal != "*" and not is_named:
        raise MalformedPolicy("Invalid principal in policy.")
    for name in ("Action", "Resource"):
        values = _texts(statement.get(name, statement.get(f"Not{name}")))
        if not values:
            raise MalformedPolicy(f"{name} of a statement is empty or not text.")
        if name == "Resource" and any(_ARN.sub("", one).partition("/")[0] != bucket for one in values):
            raise MalformedPolicy("A resource of the policy is not of this bucket.")
    conditions = statement.get("Condition", {})
    if not isinstance(conditions, dict):
        raise MalformedPolicy("A condition is not an object.")
    for name, keys in conditions.items():
        if name.removesuffix("IfExists") not in _OPERATORS or not isinstance(keys, dict):
            raise MalformedPolicy(f"Invalid condition operator: {name}")


class Policy:
    """A policy that was checked."""

    def __init__(self, text: str) -> None:
        statements = json.loads(text)["Statement"]
        self._statements: list[dict[str, Any]] = [statements] if isinstance(statements, dict) else statements

    @property
    def is_public(self) -> bool:
        return any(one["Effect"] == "Allow" and _lets_everyone_in(one) for one in self._statements)

    def verdict(self, asker: Asker, action: str, resource: str, *, may_allow: bool = True) -> bool | None:
        """True allowed, False denied, None where the policy says nothing; denial wins."""
        allowed: bool | None = None
        for statement in self._statements:
            if not _applies(statement, asker, action, resource):
                continue
            if statement["Effect"] == "Deny":
                return False
            if may_allow:
                allowed = True
        return allowed


policy_of = lru_cache(maxsize=256)(Policy)


def _applies(statement: Mapping[str, Any], asker: Asker, action: str, resource: str) -> bool:
    is_meant = "Principal" in statement
    if _is_principal(statement["Principal" if is_meant else "NotPrincipal"], asker) != is_meant:
        return False
    if not _any_like(statement, "Action", lambda one: _like(_PREFIX.sub("", one).lower(), action.lower())):
        return False
    if not _any_like(statement, "Resource", lambda one: _like(_ARN.sub("", one), resource)):
        return False
    conditions: Mapping[str, Mapping[str, Any]] = statement.get("Condition", {})
    return all(
        _holds(test, key, values, asker.context) for test, keys in conditions.items() for key, values in keys.items()
    )


def _any_like(statement: Mapping[str, Any], name: str, is_like: Callable[[str], bool]) -> bool:
    is_meant = name in statement
    return any(map(is_like, _texts(statement[name if is_meant else f"Not{name}"]))) == is_meant


def _lets_everyone_in(statement: Mapping[str, Any]) -> bool:
    if "NotPrincipal" not in statement and not _is_everyone(statement.get("Principal")):
        return False
    conditions: Mapping[str, Mapping[str, Any]] = statement.get("Condition", {})
    return not any(_names_networks(test, key, keys[key]) for test, keys in conditions.items() for key in keys)


def _names_networks(test: str, key: str, values: object) -> bool:
    """Of all conditions the Lab knows only this one says who asks, where it names less than a large part of the net."""
    if test != "IpAddress" or _PREFIX.sub("", key).lower() != "sourceip":
        return False
    with suppress(ValueError):
        networks = [ip_network(one, False) for one in _texts(values)]
        return all(one.prefixlen >= (8 if one.version == 4 else 32) for one in networks)
    return False


def _is_everyone(principal: object) -> bool:
    if isinstance(principal, dict):
        return any("*" in _texts(values) for values in principal.values())
    return principal == "*"


def _is_principal(principal: object, asker: Asker) -> bool:
    if _is_everyone(principal):
        return True
    if not isinstance(principal, dict) or asker.domain_id is None:
        return False
    domain, user = asker.domain_id, asker.user_id
    own = [
        domain,
        f"domain/{domain}",
        f"domain/{domain}:root",
        f"domain/{domain}:user/*",
        f"domain/{domain}:user/{user}",
        f"arn:aws:iam::{domain}:root",
        f"arn:aws:iam::{domain}:user/{user}",
    ]
    return any(_like(one, name) for values in principal.values() for one in _texts(values) for name in own)


def _holds(wanted: str, key: str, values: object, context: Mapping[str, str]) -> bool:
    name = wanted.removesuffix("IfExists")
    actual = context.get(_PREFIX.sub("", key).lower())
    if name == "Null":
        return (actual is None) == (_texts(values) == ["true"])
    if actual is None:
        return wanted.endswith("IfExists") or name.startswith(("StringNot", "NotIp", "NumericNot", "DateNot"))
    found = any(_safely(_OPERATORS[name], actual, value) for value in _texts(values))
    return not found if "Not" in name else found


def _safely(test: Callable[[str, str], bool], actual: str, wanted: str) -> bool:
    with suppress(ValueError, OverflowError):
        return test(actual, wanted)
    return False


def _moment(text: str) -> float:
    return float(text) if text.replace(".", "").isdigit() else datetime.fromisoformat(text).timestamp()


def _compared(read: Callable[[str], Any], test: Callable[[Any, Any], bool], actual: str, wanted: str) -> bool:
    return test(read(actual), read(wanted))


_ORDERS = {
    **dict.fromkeys(("Equals", "NotEquals"), operator.eq),
    "LessThan": operator.lt,
    "LessThanEquals": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanEquals": operator.ge,
}
# A negated operator is tested as its plain form, and the result turned around.
_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    **dict.fromkeys(("StringEquals", "StringNotEquals"), operator.eq),
    **dict.fromkeys(
        ("StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase", "Bool"), partial(_compared, str.lower, operator.eq)
    ),
    **dict.fromkeys(("StringLike", "StringNotLike"), lambda actual, wanted: _like(wanted, actual)),
    **{f"Numeric{name}": partial(_compared, float, test) for name, test in _ORDERS.items()},
    **{f"Date{name}": partial(_compared, _moment, test) for name, test in _ORDERS.items()},
    **dict.fromkeys(
        ("IpAddress", "NotIpAddress"), lambda actual, wanted: ip_address(actual) in ip_network(wanted, False)
    ),
    "Null": lambda actual, wanted: False,
}


def _texts(values: object) -> Sequence[str]:
    if isinstance(values, bool):
        return ["true" if values else "false"]
    if isinstance(values, (str, int, float)):
        return [str(values)]
    if isinstance(values, list) and all(isinstance(one, (str, int, float)) for one in values):
        return [str(one) for one in values]
    return []


@lru_cache(maxsize=4096)
def _pattern(text: str) -> re.Pattern[str]:
    # Brackets have no meaning in a policy.
    return re.compile(translate(text.replace("[", "[[]")), re.DOTALL)


def _like(pattern: str, text: str) -> bool:
    return _pattern(pattern).match(text) is not None
