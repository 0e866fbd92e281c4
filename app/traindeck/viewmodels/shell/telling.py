"""Where a piece of news is told: by the desktop, in the window, or in neither; decided here and nowhere else."""

from __future__ import annotations

from enum import Enum

from traindeck.viewmodels.shell.journal import Happening, NewsKind


class Teller(Enum):
    """Who tells it."""

    NOBODY = "nobody"
    WINDOW = "window"
    DESKTOP = "desktop"
    """Where it has a way to; else the window."""


def is_told_at_once(happening: Happening) -> bool:
    """As a toast, wherever the user looks; what is worth a notice is told once, and waits for the record of that."""
    return not (happening.is_quiet or _has_banner(happening)) and happening.notice is None


def teller_of(happening: Happening, *, is_wanted: bool, is_in_front: bool, is_in_sight: bool) -> Teller:
    """Of what is worth a notice and was not told before: two never tell the same where one of them is seen."""
    if not is_wanted:
        return Teller.NOBODY if happening.is_quiet else in_the_window(happening)
    if not is_in_front:
        return Teller.DESKTOP
    # Somebody sees the window: it tells what is not to be seen in it already.
    return Teller.NOBODY if is_in_sight and happening.is_quiet else in_the_window(happening)


def in_the_window(happening: Happening) -> Teller:
    """A condition has its banner there, as long as it holds."""
    return Teller.NOBODY if _has_banner(happening) else Teller.WINDOW


def _has_banner(happening: Happening) -> bool:
    return happening.kind in (NewsKind.BEGAN, NewsKind.OVER)
