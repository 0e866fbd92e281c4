"""What rules of a bucket do, in words."""

from __future__ import annotations

from traindeck.domain.bucket_settings import CorsRule
from traindeck.domain.lifecycle import LifecycleRule
from traindeck.domain.objects import count_words, size_words
from traindeck.domain.texts import say
from traindeck.viewmodels.bucket_settings import Matching


def cors_line(rule: CorsRule) -> str:
    origins = ", ".join(rule.origins) or "…"
    return f"{origins} → {', '.join(rule.methods) or '…'}"


def lifecycle_line(rule: LifecycleRule) -> str:
    where = f"{rule.prefix}*" if rule.prefix else say("all objects")
    name = f"{rule.id}: {where}" if rule.id else where
    what = " · ".join(_acts(rule)) or say("does nothing yet")
    return f"{name} — {what}" if rule.is_enabled else say("{rule} (switched off)", rule=f"{name} — {what}")


def _acts(rule: LifecycleRule) -> list[str]:
    acts: list[str] = []
    if rule.is_locked:
        return [", ".join(rule.others)]
    for storage_class, days in rule.moves:
        acts.append(say("{storage_class} after {days} days", storage_class=storage_class, days=days))
    if rule.expire_days is not None:
        acts.append(say("delete after {days} days", days=rule.expire_days))
    if rule.expire_date is not None:
        acts.append(say("delete on {date}", date=rule.expire_date.isoformat()))
    for storage_class, days in rule.old_moves:
        acts.append(say("old versions {storage_class} after {days} days", storage_class=storage_class, days=days))
    if rule.old_expire_days is not None:
        acts.append(say("delete old versions after {days} days", days=rule.old_expire_days))
    if rule.abort_days is not None:
        acts.append(say("end unfinished uploads after {days} days", days=rule.abort_days))
    return [*acts, *rule.others]


def deleting_words(rule: LifecycleRule, now: Matching | None) -> str:
    """What a rule will delete; `now` is what it is about at present, as far as that is known."""
    line = lifecycle_line(rule)
    if now is None:
        return line
    counts = {"rule": line, "objects": count_words(now.objects), "old": count_words(now.old_enough)}
    if not now.is_all:
        return say(
            "{rule}\nThat is more than {objects} objects now; of the first {objects}, {old} are old enough already.",
            **counts,
        )
    return say(
        "{rule}\nThat is {objects} objects now ({size}); {old} of them are old enough already.",
        **counts,
        size=size_words(now.size_bytes),
    )
