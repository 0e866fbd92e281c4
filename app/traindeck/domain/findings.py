"""What was found out about an account."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from traindeck.domain.texts import Text, moment_words, text


class Asked(StrEnum):
    """What is looked at, in the order it is shown."""

    CLOCK = "clock"
    OBS = "obs"
    PROJECT = "project"
    MODELARTS = "modelarts"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding about a profile; `passed` is None when it could not be looked at, or not yet."""

    title: Text
    passed: bool | None
    fact: Text
    hint: Text | None = None
    id: str = ""
    is_running: bool = False
    may_try_again: bool = False
    """Nobody answered: asking later may tell."""


@dataclass(frozen=True, slots=True)
class CheckUp:
    """All findings, and what they say about the keys: taken, refused, or unknown."""

    checks: tuple[Check, ...]
    accepted: bool | None = None
    expires: datetime | None = None

    @property
    def verdict(self) -> Text:
        if self.accepted is None:
            return text("Nobody has said yet whether the credential is valid.")
        if not self.accepted:
            return text("The credential is not valid.")
        if self.expires is not None:
            return text("The credential is valid. It ends at {time}.", time=moment_words(self.expires))
        return text("The credential is valid.")

    @property
    def is_running(self) -> bool:
        return any(check.is_running for check in self.checks)
