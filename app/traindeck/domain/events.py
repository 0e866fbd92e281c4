"""What happened, as it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from traindeck.domain.texts import Text


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """One piece of news, of words alone."""

    at: datetime
    kind: str
    title: Text
    hint: Text = Text("")  # noqa: RUF009 - it does not change
    detail: str = ""
    name: str = ""
    """Of the task or condition it is about."""
    subject: str = ""
    topic: str = ""
    profile: str = ""
    notice: str = ""
    """Which of the system's notifications it is worth."""
    mark: str = ""
    """Told once for good: of those with the same mark only the first is kept."""
    is_state: bool = False
    """It says how the thing of its name stands: the same twice in a row, as after a restart, is no news."""
    number: int = 0
