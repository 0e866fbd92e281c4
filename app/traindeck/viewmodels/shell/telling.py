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
    """As a toast, wherever the user looks; what is worth a notice is told once, and waits for the record of that.

    A question is the exception: as long as nobody answers it, it stands in the window, also after a restart.
    """
    is_state = happening.kind in (NewsKind.BEGAN, NewsKind.OVER)
    return not (happening.is_quiet or is_state) and (happening.notice is None or bool(happening.answers))


def teller_of(happening: Happening, *, is_wanted: bool, is_in_front: bool, is_in_sight: bool) -> Teller:
    """Of what is worth a notice and was not told before: two never tell the same where one of them is seen."""
    if not is_wanted:
        return Teller.NOBODY if happening.is_quiet else in_the_window(happening)
    if not is_in_front:
        return Teller.DESKTOP
    # Somebody sees the window: it tells what is not to be seen in it already.
    return Teller.NOBODY if is_in_sight and happening.is_quiet else in_the_window(happening)


def in_the_window(happening: Happening) -> Teller:
    """A condition has its banner, and a question is there already."""
    is_there = happening.kind in (NewsKind.BEGAN, NewsKind.OVER) or is_told_at_once(happening)
    return Teller.NOBODY if is_there else Teller.WINDOW
