"""What can be set for a bucket as a whole, and what of it a service would not take."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from traindeck.domain.storage.objects import MAX_KEY_BYTES, size_words
from traindeck.domain.texts import Text, say, say_count, text

STANDARD, WARM, COLD = "STANDARD", "WARM", "COLD"
STORAGE_CLASSES = (STANDARD, WARM, COLD)
"""Those a bucket can give to new objects; a service may show others."""

MOST_QUOTA_BYTES = 2**63 - 1
MOST_CORS_RULES = 100
CORS_METHODS = ("GET", "PUT", "POST", "DELETE", "HEAD")

_ORIGIN = re.compile(r"(?:https?://)?[^\s/:?#]+(?::[0-9]{1,5})?")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_MOST_AGE_S = 2**31 - 1


class Versioning(StrEnum):
    """Once switched on it can only be suspended."""

    NEVER = ""
    ENABLED = "Enabled"
    SUSPENDED = "Suspended"


VERSIONING = {
    Versioning.NEVER: text("never enabled"),
    Versioning.ENABLED: text("enabled"),
    Versioning.SUSPENDED: text("suspended"),
}


def quota_words(quota_bytes: int | None) -> str:
    if quota_bytes is None:
        return "–"
    return size_words(quota_bytes) if quota_bytes else say("none")


@dataclass(frozen=True, slots=True)
class BucketFacts:
    """What a service tells of a bucket; None or empty: it did not say, and `unknown` may say why."""

    name: str
    endpoint: str
    region: str = ""
    created: datetime | None = None
    storage_class: str = ""
    objects: int | None = None
    size_bytes: int | None = None
    versioning: Versioning | None = None
    quota_bytes: int | None = None
    encryption: str | None = None
    """The name of the method; empty: objects are not encrypted unless asked for."""
    obs_version: str = ""
    zones: str = ""
    unknown: Mapping[str, Text] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TagLimits:
    """What a service takes as the tags of a bucket."""

    most: int
    key_length: int
    value_length: int
    forbidden: str


OBS_TAGS = TagLimits(20, 36, 43, ",/|<>=*\\")
S3_TAGS = TagLimits(50, 128, 256, "")

Tags = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TagSetting:
    """The tags as they were read; `seen` tells whether somebody changed them since."""

    tags: Tags = ()
    seen: str = ""


@dataclass(frozen=True, slots=True)
class CorsRule:
    """Which web pages may use the bucket, and how; `source` is the rule as the service has it."""

    origins: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    max_age_s: int | None = None
    id: str = ""
    others: tuple[str, ...] = ()
    """What else is in it; it stays as it is."""
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class CorsSetting:
    rules: tuple[CorsRule, ...] = ()
    seen: str = ""


def tag_mistakes(tags: Sequence[tuple[str, str]], limits: TagLimits) -> dict[str, Text]:
    """By key, what is wrong with a tag; under the empty key what is wrong with all of them."""
    found: dict[str, Text] = {}
    seen: set[str] = set()
    for key, value in tags:
        if wrong := _tag_mistake(key, value, limits):
            found[key] = wrong
        elif key in seen:
            found[key] = text("The tag “{key}” appears twice.", key=key)
        seen.add(key)
    if len(tags) > limits.most:
        found.setdefault("", text("A bucket has at most {most} tags.", most=limits.most))
    return found


def _tag_mistake(key: str, value: str, limits: TagLimits) -> Text | None:
    if not key.strip():
        return text("A tag needs a name.")
    if len(key) > limits.key_length:
        return text("The name of a tag has at most {most} characters: “{key}”.", most=limits.key_length, key=key)
    if len(value) > limits.value_length:
        return text("The value of a tag has at most {most} characters: “{key}”.", most=limits.value_length, key=key)
    bad = next((letter for letter in key + value if letter in limits.forbidden or letter < " "), "")
    if bad:
        shown = bad if bad >= " " else repr(bad)[1:-1]
        return text("The tag “{key}” contains “{letter}”, which the service does not accept.", key=key, letter=shown)
    return None


def cors_mistake(rule: CorsRule) -> Text | None:
    if not rule.origins:
        return text("Specify at least one origin, for example https://example.com, or * for every page.")
    for origin in rule.origins:
        if origin.count("*") > 1:
            return text("“{value}” has more than one *.", value=origin)
        if origin != "*" and _ORIGIN.fullmatch(origin) is None:
            return text("“{value}” is not an origin. Enter it as https://example.com, without a path.", value=origin)
    if not rule.methods:
        return text("Select at least one method.")
    for header in rule.headers:
        if header.count("*") > 1:
            return text("“{value}” has more than one *.", value=header)
        if _TOKEN.fullmatch(header) is None:
            return text("“{value}” is not the name of a header.", value=header)
    for header in rule.exposed:
        if _TOKEN.fullmatch(header) is None or "*" in header:
            return text("“{value}” is not the name of a header.", value=header)
    if rule.max_age_s is not None and not 0 <= rule.max_age_s <= _MOST_AGE_S:
        return text("The cache time must be 0 to {most} seconds.", most=_MOST_AGE_S)
    return None


OPENS_TO_ALL = text("Pages of any site can then change the bucket with the permissions they have, for example a link.")


def cors_opens_to_all(rule: CorsRule) -> bool:
    """Any page on the web may change what is in the bucket, with the rights of who looks at it."""
    return "*" in rule.origins and bool({"PUT", "POST", "DELETE"} & set(rule.methods))


MOST_RULES = 1000
MOST_ID = 255
MOST_DAYS = 36500


@dataclass(frozen=True, slots=True)
class LifecycleRule:
    """One rule; days are counted from the last change of an object, or from when a version was replaced.

    `source` is the rule as the service has it. What a form cannot show is named in `others` and stays as it is;
    where that changes what the rule is about, it `is_locked`.
    """

    id: str = ""
    prefix: str = ""
    is_enabled: bool = True
    expire_days: int | None = None
    expire_date: date | None = None
    moves: tuple[tuple[str, int], ...] = ()
    """Class and days."""
    old_expire_days: int | None = None
    old_moves: tuple[tuple[str, int], ...] = ()
    """Of versions that are no longer the current one."""
    abort_days: int | None = None
    others: tuple[str, ...] = ()
    is_locked: bool = False
    source: str = field(default="", compare=False)

    @property
    def deletes(self) -> bool:
        return self.is_enabled and (
            self.expire_days is not None or self.expire_date is not None or self.old_expire_days is not None
        )

    @property
    def acts(self) -> tuple[str, ...]:
        """The kinds of thing it does; two rules for the same objects must not do the same."""
        named = {
            "expire": self.expire_days is not None or self.expire_date is not None,
            "old": self.old_expire_days is not None,
            "abort": self.abort_days is not None,
        }
        moves = [f"move {name}" for name, _ in self.moves] + [f"old {name}" for name, _ in self.old_moves]
        return (*(name for name, is_there in named.items() if is_there), *moves)


@dataclass(frozen=True, slots=True)
class LifecycleSetting:
    rules: tuple[LifecycleRule, ...] = ()
    seen: str = ""


def rule_mistake(rule: LifecycleRule) -> Text | None:
    if rule.is_locked:
        return None
    if len(rule.id) > MOST_ID:
        return text("The name of a rule has at most {most} characters.", most=MOST_ID)
    if len(rule.prefix.encode()) > MAX_KEY_BYTES or any(letter < " " for letter in rule.prefix):
        return text("The name prefix is too long or contains a character that cannot be written.")
    if not rule.acts and not rule.others:
        return text("The rule has no action. Select at least one.")
    if rule.expire_days is not None and rule.expire_date is not None:
        return text("Delete after a number of days or on a date, not both.")
    days = (rule.expire_days, rule.old_expire_days, rule.abort_days, *(number for _, number in rule.moves))
    for number in (*days, *(number for _, number in rule.old_moves)):
        if number is not None and not 1 <= number <= MOST_DAYS:
            return text("The number of days must be 1 to {most}.", most=MOST_DAYS)
    return _order_mistake(rule.moves, rule.expire_days) or _order_mistake(rule.old_moves, rule.old_expire_days)


def _order_mistake(moves: Sequence[tuple[str, int]], expire_days: int | None) -> Text | None:
    by_class = dict(moves)
    warm, cold = by_class.get(WARM), by_class.get(COLD)
    if warm is not None and cold is not None and cold <= warm:
        return text("Objects change to WARM first and to COLD later: the days for COLD must be greater.")
    last = max(by_class.values(), default=None)
    if expire_days is not None and last is not None and expire_days <= last:
        return text("Objects would be deleted before the transition: the days for deletion must be greater.")
    return None


def mistakes(rules: Sequence[LifecycleRule], known: Sequence[LifecycleRule] = ()) -> dict[int, Text]:
    """By place, what is wrong; what the service has taken before (`known`) is not held against it."""
    found: dict[int, Text] = {}
    for place, rule in enumerate(rules):
        if rule in known:
            continue
        wrong = rule_mistake(rule) or _clash(place, rules)
        if wrong is not None:
            found[place] = wrong
    if len(rules) > MOST_RULES:
        found.setdefault(len(rules) - 1, text("A bucket has at most {most} rules.", most=MOST_RULES))
    return found


def _clash(place: int, rules: Sequence[LifecycleRule]) -> Text | None:
    rule = rules[place]
    for at, other in enumerate(rules):
        if at == place:
            continue
        if rule.id and other.id == rule.id:
            return text("The rule name “{name}” appears twice.", name=rule.id)
        overlap = rule.prefix.startswith(other.prefix) or other.prefix.startswith(rule.prefix)
        same = set(rule.acts) & set(other.acts)
        if overlap and same and rule.is_enabled and other.is_enabled and not other.is_locked:
            return text(
                "This rule and “{other}” have the same action for the same objects: names beginning with “{prefix}”.",
                other=other.id or other.prefix or "*",
                prefix=max(rule.prefix, other.prefix, key=len),
            )
    return None


def cors_line(rule: CorsRule) -> str:
    origins = ", ".join(rule.origins) or "…"
    return f"{origins} → {', '.join(rule.methods) or '…'}"


def lifecycle_line(rule: LifecycleRule) -> str:
    where = f"{rule.prefix}*" if rule.prefix else say("all objects")
    name = f"{rule.id}: {where}" if rule.id else where
    what = " · ".join(_acts(rule)) or say("no action yet")
    return f"{name} — {what}" if rule.is_enabled else say("{rule} (disabled)", rule=f"{name} — {what}")


def _acts(rule: LifecycleRule) -> list[str]:
    acts: list[str] = []
    if rule.is_locked:
        return [", ".join(rule.others)]
    for storage_class, days in rule.moves:
        acts.append(
            say_count(
                "{storage_class} after {count} day",
                "{storage_class} after {count} days",
                days,
                storage_class=storage_class,
            )
        )
    if rule.expire_days is not None:
        acts.append(say_count("delete after {count} day", "delete after {count} days", rule.expire_days))
    if rule.expire_date is not None:
        acts.append(say("delete on {date}", date=rule.expire_date.isoformat()))
    for storage_class, days in rule.old_moves:
        acts.append(
            say_count(
                "previous versions to {storage_class} after {count} day",
                "previous versions to {storage_class} after {count} days",
                days,
                storage_class=storage_class,
            )
        )
    if rule.old_expire_days is not None:
        acts.append(
            say_count(
                "delete previous versions after {count} day",
                "delete previous versions after {count} days",
                rule.old_expire_days,
            )
        )
    if rule.abort_days is not None:
        acts.append(
            say_count("delete fragments after {count} day", "delete fragments after {count} days", rule.abort_days)
        )
    return [*acts, *rule.others]
