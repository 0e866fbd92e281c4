"""Runs the real program with a person inside: `journey.py NAME [WORD…]`; what happens is told in lines of JSON."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from functools import partial

from browsing import browse
from connecting import connect, lose_keys, own_account
from counted import change_one_value, come_again, count_what_is_done, fill_an_empty_bucket, press_r_everywhere
from hands import Hands
from lab_keeping import empty_the_lab, look_at_the_lab, stop_without_a_disk, use_without_the_disk
from leaving import find_open, leave_open
from looking import look_and_edit
from menus_read import read_the_menus
from pasting import paste_and_watch
from PySide6.QtGui import QGuiApplication
from reopening import open_old_home
from submitting import (
    glance,
    open_dialog_and_stay,
    outlive_the_lab,
    quit_by_question,
    read_the_bar,
    sample_twice,
    submit_and_stay,
    submit_in_vain,
    submit_only,
    watch_to_the_end,
)
from switching import switch_language, switch_theme, switch_with_dialogs, switch_with_draft
from tabbing import walk_by_tab
from tour.places import tour

from traindeck.bootstrap import Program, run_program

Journey = Callable[..., Awaitable[None]]

JOURNEYS: dict[str, Journey] = {
    journey.__name__: journey
    for journey in (
        sample_twice, glance, open_dialog_and_stay, submit_and_stay, submit_only, watch_to_the_end, outlive_the_lab,
        quit_by_question, read_the_bar, submit_in_vain, connect, own_account, lose_keys, empty_the_lab, look_at_the_lab,
        switch_language, switch_theme, switch_with_dialogs, switch_with_draft, use_without_the_disk,
        stop_without_a_disk,
        browse, look_and_edit, open_old_home, read_the_menus, leave_open, find_open,
        count_what_is_done, change_one_value, press_r_everywhere, come_again, fill_an_empty_bucket,
        paste_and_watch, tour, walk_by_tab,
    )
}  # fmt: skip


async def visit(name: str, words: list[str], program: Program) -> int:
    try:
        await JOURNEYS[name](Hands(program), *words)
    finally:
        # Without a window system Qt deletes what lies there after Python has ended, and crashes if it was Python's.
        QGuiApplication.clipboard().clear()
    return 0


if __name__ == "__main__":
    journey_name, *rest = sys.argv[1:]
    # An old home brings the language it was left in.
    language = "" if journey_name == open_old_home.__name__ else "en"
    sys.exit(run_program(Namespace(language=language, theme=None, opens=[]), partial(visit, journey_name, rest)))
