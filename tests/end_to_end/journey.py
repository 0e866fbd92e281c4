"""Runs the real program with a person inside: `journey.py NAME [WORD…]`; what happens is told in lines of JSON."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module

import as_program  # noqa: F401
from hands import Hands
from PySide6.QtGui import QGuiApplication

from traindeck.bootstrap import Program, run_program

Journey = Callable[..., Awaitable[None]]

# By the file that has them: a start reads no more than its own.
JOURNEYS = {
    "browsing": "browse",
    "connecting": "connect lose_keys own_account",
    "counted": "change_one_value come_again count_what_is_done fill_an_empty_bucket press_r_everywhere",
    "curating": "look_and_make_smaller",
    "handling": "arrange_by_name drop_everywhere pin_a_run read_the_toasts watch_slow_work",
    "keying": "press_keys_everywhere",
    "lab_keeping": "empty_the_lab look_at_the_lab stop_without_a_disk use_without_the_disk",
    "leaving": "find_open leave_open",
    "looking": "look_and_edit",
    "menus_read": "read_the_menus",
    "pasting": "paste_and_watch",
    "reopening": "open_old_home",
    "submitting": "glance open_dialog_and_stay outlive_the_lab quit_by_question quit_while_counting read_the_bar "
    "sample_twice submit_and_stay submit_in_vain submit_only watch_to_the_end",
    "switching": "switch_language switch_theme switch_with_dialogs switch_with_draft",
    "tabbing": "walk_by_tab",
    "tour.places": "tour",
    "walking": "walk_seldom",
}


def journey(name: str) -> Journey:
    """Read before the window is there, which it would keep waiting."""
    file = next(file for file, names in JOURNEYS.items() if name in names.split())
    found: Journey = getattr(import_module(file), name)
    return found


async def visit(walk: Journey, words: list[str], program: Program) -> int:
    try:
        await walk(Hands(program), *words)
    finally:
        # Without a window system Qt deletes what lies there after Python has ended, and crashes if it was Python's.
        QGuiApplication.clipboard().clear()
    return 0


def main(words: list[str]) -> None:
    journey_name, *rest = words
    # An old home brings the language it was left in.
    language = "" if journey_name == "open_old_home" else "en"
    walk = partial(visit, journey(journey_name), rest)
    sys.exit(run_program(Namespace(language=language, theme=None, opens=[]), walk))


if __name__ == "__main__":
    main(sys.argv[1:])
