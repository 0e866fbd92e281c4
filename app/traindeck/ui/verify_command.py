"""The command of a bucket's tab that compares a folder of it with one of this computer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from traindeck.domain.objects import ObjectEntry, ObjectPath
from traindeck.domain.texts import say
from traindeck.domain.transfers import Kind, Order, Rules
from traindeck.ui.browser_view import CONTEXT, BrowserView
from traindeck.ui.file_choice import choose_folder
from traindeck.viewmodels.commands import Command
from traindeck.viewmodels.object_browser import ObjectBrowser


def add_verify(view: BrowserView, browser: ObjectBrowser, begin: Callable[[Order], None]) -> None:
    """`begin` starts what was chosen; the list of transfers shows how it goes."""

    def ask(place: ObjectPath) -> None:
        def chosen(folders: list[Path]) -> None:
            here = os.path.normpath(folders[0].absolute())
            rules = Rules(has_ignore_files=True)
            begin(Order(Kind.CHECK, browser.profile, here, str(place.as_folder()), rules))

        choose_folder(view, say("The folder that {place} should be like", place=str(place)), chosen)

    def ask_of(entries: list[ObjectEntry]) -> None:
        folders = [entry.path for entry in entries if entry.path.is_folder]
        ask(folders[0] if len(folders) == 1 == len(entries) else browser.state.place)

    def verify() -> None:
        if view.table.ranges():
            browser.with_chosen(view.table.ranges(), ask_of)
        else:
            ask(browser.state.place)

    view.commands.add(
        Command("object.verify", say("Verify against a local folder…"), verify, menu=CONTEXT, group=1, icon="shield")
    )
