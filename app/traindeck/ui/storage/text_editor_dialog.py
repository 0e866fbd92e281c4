"""A text of a bucket being edited; nothing typed is lost, whatever the service says."""

from __future__ import annotations

from enum import Enum
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut, QTextCursor
from PySide6.QtWidgets import QDialog, QFrame, QLabel, QLineEdit, QPlainTextEdit, QWidget

from traindeck.domain.texts import say
from traindeck.ui.kit.cards import ElidedLabel, push_button
from traindeck.ui.kit.layouts import column_of, fit_on_screen, label, row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.storage.text_editor import TextEditor

_SIZE = (110 * SPACE, 76 * SPACE)
_PARAGRAPH = "\u2029"
_ENDS = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


class _Matter(Enum):
    """What has to be said or asked above the text, with the answers that may be given."""

    NOTHING = ()
    TROUBLE = ("again", "utf8", "rename")
    CONFLICT = ("rename", "reload", "overwrite", "back")
    NAME = ("rename_now", "back")
    LEAVING = ("save_and_close", "discard", "back")


class TextField(QPlainTextEdit):
    """Tab is a letter of the text; with Ctrl it goes on to what is beside it."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_tab = event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab)
        if is_tab and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            QWidget.focusNextPrevChild(self, event.key() == Qt.Key.Key_Tab)
        else:
            super().keyPressEvent(event)


class TextEditorDialog(QDialog):
    """Questions are asked in a card above the text, so that it stays in sight."""

    def __init__(self, editor: TextEditor, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._editor = editor
        self._matter = _Matter.NOTHING
        self._sent = ""
        self._leaves = False
        self._was_loaded = False
        fit_on_screen(self, *_SIZE)
        self.place, self.form = ElidedLabel(), QLabel()
        set_role(self.place, "strong")
        set_role(self.form, "small")
        self.text = TextField()
        self.text.setFont(theme.mono_font())
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName(say("Text"))
        self.text.setTabStopDistance(4 * self.text.fontMetrics().horizontalAdvance(" "))
        self.text.setReadOnly(True)
        self.card = QFrame()
        self.title, self.hint = sentence("", "strong"), sentence("", "")
        self.name = QLineEdit()
        self.name.setAccessibleName(say("Name"))
        self.answers = {
            "rename": push_button(say("Save under another name…"), self._on_rename),
            "reload": push_button(say("Load the new one"), editor.load),
            "overwrite": push_button(say("Overwrite"), partial(self._send, overwrite=True), "danger"),
            "utf8": push_button(say("Save in UTF-8"), partial(self._send, in_utf_8=True)),
            "rename_now": push_button(say("Save under this name"), self._on_rename_now),
            "save_and_close": push_button(say("Save and close"), partial(self._send, leaves=True)),
            "discard": push_button(say("Discard changes"), self._on_discard, "danger"),
            "again": push_button(say("Try again"), self._on_again),
            "back": push_button(say("Keep editing"), self._on_back),
        }
        self.save = push_button(say("&Save"), self._on_save, "primary")
        self.leave = push_button(say("Close"), self.reject)
        answers = row_of(*self.answers.values(), 1, spacing=HALF)
        margins = (SPACE + HALF, SPACE, SPACE + HALF, SPACE)
        column_of(self.title, self.hint, self.name, answers, inside=self.card, margins=margins, spacing=HALF)
        way_out = label(say("Tab is written into the text; Ctrl+Tab leaves it."), "small")
        head, foot = row_of((self.place, 1), self.form), row_of((way_out, 1), self.save, self.leave)
        margins = (2 * SPACE, 2 * SPACE, 2 * SPACE, SPACE + HALF)
        column_of(head, self.card, (self.text, 1), foot, inside=self, margins=margins, spacing=SPACE)
        editor.changed.connect(self._on_changed)
        editor.loaded.connect(self._on_loaded)
        editor.saved.connect(self._on_saved)
        self.text.document().modificationChanged.connect(self._on_changed)
        self.name.returnPressed.connect(self._on_rename_now)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Save), self, self._on_save)
        self._ask(_Matter.NOTHING)
        self._on_changed()

    @property
    def words(self) -> str:
        # Not toPlainText: that turns a space that does not break into one that does.
        return self.text.document().toRawText().replace(_PARAGRAPH, "\n")

    def reject(self) -> None:
        """Esc, the close button and the cross: not with changes that are not stored."""
        if self.text.document().isModified():
            self._ask(_Matter.LEAVING)
        else:
            super().reject()

    # what the user wants

    def _on_save(self) -> None:
        if self.save.isEnabled():
            self._send()

    def _send(self, *, overwrite: bool = False, in_utf_8: bool = False, leaves: bool = False) -> None:
        self._sent, self._leaves = self.words, leaves
        if in_utf_8:
            self._editor.become_utf_8()
        self._editor.save(self._sent, overwrite=overwrite)

    def _on_rename(self) -> None:
        stem, dot, ending = self._editor.state.path.name.rpartition(".")
        self.name.setText(f"{stem or ending}-2{dot if stem else ''}{ending if stem else ''}")
        self._ask(_Matter.NAME)
        self.name.setFocus()
        self.name.selectAll()

    def _on_rename_now(self) -> None:
        self._sent = self.words
        self._editor.save_as(self._sent, self.name.text())

    def _on_discard(self) -> None:
        self.text.document().setModified(False)
        super().reject()

    def _on_again(self) -> None:
        if self._was_loaded:
            self._send()
        else:
            self._editor.load()

    def _on_back(self) -> None:
        self._leaves = False
        self._ask(_Matter.NOTHING)
        self.text.setFocus()

    # what happened

    def _on_loaded(self, words: str) -> None:
        document = self.text.document()
        if not self._was_loaded:
            self.text.setPlainText(words)
            self._was_loaded = True
        else:
            # As one change, so that undo brings back what was typed.
            cursor = QTextCursor(document)
            cursor.select(QTextCursor.SelectionType.Document)
            cursor.insertText(words)
        document.setModified(False)
        self.text.setReadOnly(False)
        self.text.setFocus()
        if self.words != words:  # it would be stored otherwise than it was
            self.text.setReadOnly(True)
            self.title.setText(say("This text contains characters that cannot be edited here."))
            self.hint.setText(say("Download it, edit it with another program, and upload it again."))
            self._ask(_Matter.TROUBLE, is_said=True)

    def _on_saved(self, _place: object) -> None:
        if self.words == self._sent:
            self.text.document().setModified(False)
            if self._leaves:
                self.accept()
        self._leaves = False

    def _on_changed(self) -> None:
        state, is_modified = self._editor.state, self.text.document().isModified()
        self.place.setText(str(state.path))
        self.setWindowTitle(f"{'● ' if is_modified else ''}{state.path.name}")
        if state.text is not None:
            self.form.setText(f"{state.text.encoding.title} · {_ENDS[state.text.end_of_lines]}")
        self.save.setText(say("Working…") if state.is_busy else say("&Save"))
        self.save.setEnabled(is_modified and not state.is_busy)
        for button in self.answers.values():
            button.setEnabled(not state.is_busy)
        if self.sender() is not self._editor:
            return
        if (error := state.conflict or state.trouble) is not None:
            self._leaves = False
            self.title.setText(say(error.title))
            self.hint.setText(say(error.hint))
            is_name = self._matter is _Matter.NAME and state.conflict is None
            matter = _Matter.CONFLICT if state.conflict else _Matter.NAME if is_name else _Matter.TROUBLE
            self._ask(matter, is_said=True)
        elif not state.is_busy:
            self._ask(_Matter.NOTHING)

    def _ask(self, matter: _Matter, *, is_said: bool = False) -> None:
        self._matter = matter
        state = self._editor.state
        if not is_said and matter in (_Matter.LEAVING, _Matter.NAME):
            leaving, naming = say("The changes are not saved."), say("Save it in the same folder, under this name:")
            self.title.setText(leaving if matter is _Matter.LEAVING else naming)
            self.hint.setText("")
        is_locked = self._was_loaded and self.text.isReadOnly()  # it was read, and cannot be edited
        possible = {
            "utf8": state.can_become_utf_8,
            "again": not is_locked,
            "rename": not is_locked and state.text is not None,
        }
        for name, button in self.answers.items():
            button.setVisible(name in matter.value and possible.get(name, True))
        set_role(self.card, "notice-info" if matter in (_Matter.NAME, _Matter.LEAVING) else "notice-bad")
        self.hint.setVisible(bool(self.hint.text()))
        self.name.setVisible(matter is _Matter.NAME)
        self.card.setVisible(matter is not _Matter.NOTHING)
