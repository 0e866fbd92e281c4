"""The menu Edit: what the widget with the focus makes of cut, copy, paste, undo and find."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence

from traindeck.domain.texts import say, text
from traindeck.ui.kit.edits import COPY, CUT, FIND, PASTE, REDO, SELECT_ALL, UNDO, Edit, edit_of
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.contexts import ANYWHERE, OBJECTS

_NOT_HERE = text("The focused panel does not support this.")
_Keys = QKeySequence.StandardKey


def edit_commands(undo: Edit | None = None) -> list[Command]:
    """`undo` takes back what was done last, where no field has something of its own to take back."""
    return [
        _edit(UNDO, say("&Undo"), _Keys.Undo, 0, otherwise=undo),
        _edit(REDO, say("&Redo"), _Keys.Redo, 0),
        _edit(CUT, say("Cu&t"), _Keys.Cut, 2, OBJECTS),
        _edit(COPY, say("&Copy"), _Keys.Copy, 2, OBJECTS),
        _edit(PASTE, say("&Paste"), _Keys.Paste, 2, ANYWHERE),
        _edit(SELECT_ALL, say("Select &all"), _Keys.SelectAll, 3),
        _edit(FIND, say("&Find…"), _Keys.Find, 4),
    ]


def _edit(
    name: str,
    title: str,
    keys: QKeySequence.StandardKey,
    group: int,
    contexts: tuple[str, ...] = (),
    otherwise: Edit | None = None,
) -> Command:
    def able() -> Edit | None:
        return next((edit for edit in (edit_of(name), otherwise) if edit is not None and edit.enabled()), None)

    def run() -> None:
        if (edit := able()) is not None:
            edit.run()

    def enabled() -> bool:
        return able() is not None

    shortcut = QKeySequence(keys).toString()
    return Command(f"edit.{name}", title, run, enabled, shortcut, "edit", group, needs=_NOT_HERE, contexts=contexts)
