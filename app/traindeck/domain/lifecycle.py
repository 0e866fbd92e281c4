"""Rules by which a service deletes, moves and tidies objects as they grow old."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from traindeck.domain.bucket_settings import COLD, WARM
from traindeck.domain.objects import MAX_KEY_BYTES
from traindeck.domain.texts import Text, text

MOST_RULES = 1000
MOST_ID = 255
MOST_DAYS = 36500
MOVABLE = (WARM, COLD)


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
        return text("The beginning of the names is too long or holds a character that cannot be written.")
    if not rule.acts and not rule.others:
        return text("The rule does nothing yet: choose at least one thing it is to do.")
    if rule.expire_days is not None and rule.expire_date is not None:
        return text("Delete after a number of days or on a date, not both.")
    days = (rule.expire_days, rule.old_expire_days, rule.abort_days, *(number for _, number in rule.moves))
    for number in (*days, *(number for _, number in rule.old_moves)):
        if number is not None and not 1 <= number <= MOST_DAYS:
            return text("A number of days is 1 to {most}.", most=MOST_DAYS)
    return _order_mistake(rule.moves, rule.expire_days) or _order_mistake(rule.old_moves, rule.old_expire_days)


def _order_mistake(moves: Sequence[tuple[str, int]], expire_days: int | None) -> Text | None:
    by_class = dict(moves)
    warm, cold = by_class.get(WARM), by_class.get(COLD)
    if warm is not None and cold is not None and cold <= warm:
        return text("Objects move to WARM first and to COLD later: the days for COLD must be more.")
    last = max(by_class.values(), default=None)
    if expire_days is not None and last is not None and expire_days <= last:
        return text("Objects would be deleted before they are moved: the days for deleting must be more.")
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
            return text("Two rules are called “{name}”.", name=rule.id)
        overlap = rule.prefix.startswith(other.prefix) or other.prefix.startswith(rule.prefix)
        same = set(rule.acts) & set(other.acts)
        if overlap and same and rule.is_enabled and other.is_enabled and not other.is_locked:
            return text(
                "This rule and “{other}” do the same with the same objects: names beginning with “{prefix}”.",
                other=other.id or other.prefix or "*",
                prefix=max(rule.prefix, other.prefix, key=len),
            )
    return None
