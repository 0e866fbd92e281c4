"""What a policy would do that its author may not have meant."""

from __future__ import annotations

from traindeck.domain.access import CHANGING, abilities_words, covers, exposure
from traindeck.domain.grants import Acl
from traindeck.domain.policies import Statement, statements_of
from traindeck.domain.policy_actions import OBJECT_ACTIONS
from traindeck.domain.policy_checks import Finding
from traindeck.domain.texts import text

_WORK = ("ListBucket", "GetObject", "PutObject", "DeleteObject")
_TAKING_BACK = ("PutBucketPolicy", "DeleteBucketPolicy")


def policy_effects(bucket: str, policy: str, acl: Acl | None) -> tuple[Finding, ...]:
    """Warnings about a policy that could be sent; with the grants beside it, as far as they are known."""
    return (*_openings(bucket, policy, acl), *denials_of_owner(bucket, policy, acl))


def denials_of_owner(bucket: str, policy: str, acl: Acl | None) -> tuple[Finding, ...]:
    """Where whoever owns the bucket is denied something, too."""
    found: list[Finding] = []
    for statement in statements_of(policy) or ():
        if not statement.allows and _is_about_owner(statement, acl.owner if acl else ""):
            found += [one for one in _lock_out(bucket, statement) if one not in found]
    return tuple(found)


def _openings(bucket: str, policy: str, acl: Acl | None) -> list[Finding]:
    opened = exposure(bucket, policy, acl)
    if not opened.anybody:
        return []
    hint = text("No account is needed for that; what they fetch is on your bill.")
    if opened.anybody & CHANGING:
        hint = text("No account is needed for that: your data can be replaced, and what they store is on your bill.")
    words = text("Anybody on the internet can {what}.", what=abilities_words(opened.anybody))
    return [Finding(words, hint, is_error=False)]


def _lock_out(bucket: str, statement: Statement) -> list[Finding]:
    def is_denied(action: str) -> bool:
        places = [f"{bucket}/*", *statement.resources] if action in OBJECT_ACTIONS else [bucket]
        return any(covers(statement, action, place) for place in places if action not in OBJECT_ACTIONS or "/" in place)

    if any(is_denied(action) for action in _TAKING_BACK):
        if statement.has_condition:
            title = text("Where its condition holds, a denial is also about you, and about taking it back.")
        else:
            title = text("This denies you yourself to change or remove the policy.")
        return [
            Finding(title, text("It may take the console, or the service's support, to get in again."), is_error=False)
        ]
    denied = [action for action in _WORK if is_denied(action)]
    if not denied:
        return []
    names = ", ".join(denied)
    if statement.has_condition:
        title = text("Where its condition holds, this denies you yourself: {names}.", names=names)
        return [Finding(title, text("Make sure that the condition does not fit your own computer."), is_error=False)]
    return [
        Finding(
            text("This denies you yourself: {names}.", names=names),
            text("Denials win over everything else. Name those who are meant, or use “NotPrincipal”."),
            is_error=False,
        )
    ]


def _is_about_owner(statement: Statement, owner: str) -> bool:
    is_named = bool(owner) and any(owner in name for name in statement.names)
    if statement.is_for_others:
        return not is_named and "*" not in statement.names
    return is_named or "*" in statement.names
