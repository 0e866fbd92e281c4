"""Dialogs that are awaited (`exec()` would stop every task that wakes while it is open), and choosing files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QPalette, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QTreeView,
    QWidget,
)
from shiboken6 import isValid

from traindeck.domain.errors import AppError
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import push_button
from traindeck.ui.kit.icons import drawn_icon
from traindeck.ui.kit.layouts import column_of, label
from traindeck.ui.kit.property_page import help_label, sentence
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.viewmodels.ports import while_asking

CANCEL = "cancel"
DIALOG_MARGINS = (3 * SPACE, 3 * SPACE, 3 * SPACE, 2 * SPACE)


async def shown(dialog: QDialog) -> int:
    """Open `dialog` window-modally and return its result code; whoever stops waiting closes it."""
    result = _ending(dialog)
    dialog.open()
    try:
        with while_asking():
            return await result
    finally:
        if isValid(dialog):
            dialog.close()
            dialog.deleteLater()


def window_in_sight() -> QWidget | None:
    """For a question that comes after its window gave way to that of another language."""
    windows = (one for one in QApplication.topLevelWidgets() if isinstance(one, QMainWindow) and one.isVisible())
    return next(windows, None)


def _still_there(parent: QWidget | None) -> QWidget | None:
    return parent if parent is None or isValid(parent) else window_in_sight()


async def until_closed(dialog: QDialog) -> None:
    """Wait for one that is open already."""
    if isValid(dialog) and dialog.isVisible():
        await _ending(dialog)


def _ending(dialog: QDialog) -> asyncio.Future[int]:
    result: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def finish(code: int) -> None:
        if not result.done():
            result.set_result(code)

    dialog.finished.connect(finish)
    dialog.destroyed.connect(lambda: finish(QDialog.DialogCode.Rejected))  # with the window it belongs to
    return result


@dataclass(frozen=True, slots=True)
class AnswerButton:
    """A button of a question: what it stands for and what it says."""

    id: str
    label: str
    role: str = ""  # primary or danger


class Question(QDialog):
    """One sentence, what it means, and buttons that say what they do.

    `typed` is a word that opens the buttons: for what a click alone is too little.
    """

    def __init__(
        self, title: str, hint: str, answers: Sequence[AnswerButton], parent: QWidget | None = None, typed: str = ""
    ) -> None:
        super().__init__(parent)
        self.answer = CANCEL
        self._word = typed
        self.setWindowTitle(title)
        self.setMinimumWidth(420)
        heading, words = help_label(title, "heading"), help_label(hint, "")
        words.setVisible(bool(hint))
        is_advised = any(answer.role == "primary" for answer in answers)
        self.buttons, cancel = closing(self, say("Cancel"), *(self._made(answer) for answer in answers))
        cancel.setAutoDefault(not is_advised)
        layout = self._column = column_of(heading, words, inside=self, margins=DIALOG_MARGINS, spacing=SPACE)
        self.typed = QLineEdit()
        if typed:
            request = QLabel(say("Type “{word}” to confirm:", word=typed))
            request.setBuddy(self.typed)
            self.typed.setAccessibleName(request.text())
            self.typed.textChanged.connect(self._on_typed)
            layout.addSpacing(SPACE)
            layout.addWidget(request)
            layout.addWidget(self.typed)
            self._on_typed("")
        layout.addSpacing(SPACE)
        layout.addWidget(self.buttons)
        if not typed and not is_advised:
            cancel.setFocus()  # a key pressed too early must not do what cannot be undone

    def showEvent(self, event: QShowEvent) -> None:
        """Only now the fonts are known, and with them how many lines the words take."""
        super().showEvent(event)
        self.resize(self.width(), self._column.totalHeightForWidth(self.width()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Where a word is wanted, Enter in its field does nothing: it would press Cancel, unseen."""
        if not self._word or event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
        elif isinstance(focused := self.focusWidget(), QPushButton):
            focused.click()

    def _on_typed(self, words: str) -> None:
        for answer in self.buttons.findChildren(QPushButton):
            if answer.objectName():  # Cancel has none and is always open
                answer.setEnabled(words.strip().casefold() == self._word.casefold())

    def _made(self, answer: AnswerButton) -> QPushButton:
        made = push_button(answer.label, partial(self._choose, answer.id), answer.role)
        made.setObjectName(f"answer.{answer.id}")
        # Enter presses the one that has the focus; not from the field of a word that is to be typed.
        made.setAutoDefault(answer.role == "primary" or not self._word)
        made.setDefault(answer.role == "primary")
        return made

    def _choose(self, answer: str) -> None:
        self.answer = answer
        self.accept()


async def asked(parent: QWidget | None, title: str, hint: str, *answers: AnswerButton, typed: str = "") -> str:
    """The id of the answer, or CANCEL."""
    question = Question(title, hint, answers, _still_there(parent), typed)
    await shown(question)
    return question.answer


def closing(dialog: QDialog, words: str, *buttons: QPushButton) -> tuple[QDialogButtonBox, QPushButton]:
    """The foot of a dialog: what can be done, and the way out."""
    foot = QDialogButtonBox()
    for one in buttons:
        # All on one side: the system's order by role would tear them apart.
        foot.addButton(one, QDialogButtonBox.ButtonRole.ActionRole)
    foot.rejected.connect(dialog.reject)
    # Where it has the focus Return presses it, and not the button that Return in a field means.
    out = push_button(words)
    foot.addButton(out, QDialogButtonBox.ButtonRole.RejectRole)
    return foot, out


async def agreed(parent: QWidget | None, title: str, hint: str, action: str, role: str = "danger") -> bool:
    """Whether the one button there is beside Cancel was chosen."""
    answer = AnswerButton("yes", action, role)
    return await asked(parent, title, hint, answer) == answer.id


class ErrorReport(QDialog):
    """A mistake of ours: one sentence, and a report to copy."""

    def __init__(
        self,
        report: str,
        theme: Theme,
        parent: QWidget | None = None,
        report_problem: Callable[[str], None] | None = None,
    ) -> None:
        """`report_problem`: makes more of it, in a dialog that takes the place of this one."""
        super().__init__(parent)
        self.setWindowTitle(say("Something went wrong"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(640, 420)
        heading = label(say("Something went wrong inside TrainDeck."), "heading")
        words = label(
            say("Your jobs and files are not affected. Copy the report and attach it to an issue."), wraps=True
        )
        self.report = QPlainTextEdit(report)
        self.report.setReadOnly(True)
        self.report.setFont(theme.mono_font())
        self.report.setAccessibleName(say("Error report"))
        self.copy = QPushButton(theme.icon("copy", "on_accent"), say("&Copy report"))
        set_role(self.copy, "primary")
        self.copy.clicked.connect(self._copy)
        self.more = push_button(say("&Report a problem…"))
        self.more.setVisible(report_problem is not None)
        if report_problem is not None:
            self.more.clicked.connect(self.accept)
            self.more.clicked.connect(lambda: report_problem(report))
        buttons, _ = closing(self, say("Close"), self.copy, self.more)
        column_of(heading, words, self.report, buttons, inside=self, margins=2 * SPACE, spacing=SPACE)
        self.copy.setFocus()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.report.toPlainText())
        self.copy.setText(say("Copied"))


class LastFolders:
    """Where dialogs for files were left, each kind of them; a dialog that is told where to begin begins there."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._keep: Callable[[dict[str, str]], object] | None = None

    def keep_with(self, kept: object, keep: Callable[[dict[str, str]], object]) -> None:
        """Go on from what was kept; `keep` is told of every change."""
        if isinstance(kept, dict):
            self._folders = {str(kind): folder for kind, folder in kept.items() if isinstance(folder, str)}
        self._keep = keep

    def of(self, kind: str) -> str:
        return self._folders.get(kind, "")

    def note(self, kind: str, folder: str) -> None:
        self._folders = {**self._folders, kind: folder}
        if self._keep is not None:
            self._keep(self._folders)


last_folders = LastFolders()
"""One for the program, as there is one user who looks for files."""


_TYPE_OF_FILE = 2
_BUTTONS = {"backButton": "back", "forwardButton": "forward", "toParentButton": "up", "newFolderButton": "folder-plus"}
"""Qt draws these black, also where all around them is dark."""


def _file_dialog(parent: QWidget | None, title: str, start: str = "", pattern: str = "") -> QFileDialog:
    """Qt's own translation has not followed these two of its sentences, nor its columns what stands in them."""
    dialog = QFileDialog(parent, title, start, pattern)
    dialog.setLabelText(QFileDialog.DialogLabel.LookIn, say("&Look in:"))
    dialog.setLabelText(QFileDialog.DialogLabel.FileType, say("Files of &type:"))
    for tree in dialog.findChildren(QTreeView):  # none where the desktop has a dialog of its own
        header = tree.header()
        header.setResizeContentsPrecision(0)  # of the rows in sight, however many there are
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        tree.setColumnHidden(_TYPE_OF_FILE, True)  # the ending says it, in less room
    for place in dialog.findChildren(QComboBox, "lookInCombo"):
        place.currentTextChanged.connect(partial(_tell_place, dialog))
        place.setToolTip(place.currentText())
    groups = (QPalette.ColorGroup.Active, QPalette.ColorGroup.Disabled)
    color, disabled = (dialog.palette().color(group, QPalette.ColorRole.ButtonText).name() for group in groups)
    for name, icon in _BUTTONS.items():
        if isinstance(button := dialog.findChild(QToolButton, name), QToolButton):
            button.setIcon(drawn_icon(icon, color, disabled, dialog.devicePixelRatio()))
    return dialog


def _tell_place(dialog: QFileDialog, words: str) -> None:
    """Of a long path the middle is left out."""
    for place in dialog.findChildren(QComboBox, "lookInCombo"):
        place.setToolTip(words)


def _remembered(dialog: QFileDialog, kind: str, start: str = "") -> QFileDialog:
    if begin := start or last_folders.of(kind):
        dialog.setDirectory(begin)
    dialog.accepted.connect(lambda: last_folders.note(kind, dialog.directory().absolutePath()))
    return dialog


async def chosen_file(parent: QWidget | None, title: str, pattern: str = "", folder: Path | None = None) -> Path | None:
    """An existing file of the user's choice."""
    dialog = _remembered(_file_dialog(parent, title, "", pattern), "open", str(folder or ""))
    _set_mode(dialog, QFileDialog.FileMode.ExistingFile)
    return await _chosen(dialog)


async def chosen_place(parent: QWidget | None, title: str, name: str, pattern: str = "") -> Path | None:
    """Where to save, with the ending of the kind that is chosen; asks itself before a file is replaced."""
    dialog = _remembered(_file_dialog(parent, title, name, pattern), "save")
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(_ending_of(pattern.partition(";;")[0]))
    dialog.filterSelected.connect(partial(_take_kind, dialog))
    return await _chosen(dialog)


def _ending_of(kind: str) -> str:
    """Of `CSV (*.csv)`; empty: any."""
    return kind.rpartition("*.")[2].rstrip(")") if "*." in kind else ""


def _take_kind(dialog: QFileDialog, kind: str) -> None:
    ending, names = _ending_of(kind), dialog.selectedFiles()
    dialog.setDefaultSuffix(ending)
    if ending and names:
        dialog.selectFile(str(Path(names[0]).with_suffix(f".{ending}")))


async def _chosen(dialog: QFileDialog) -> Path | None:
    if await shown(dialog) != QDialog.DialogCode.Accepted:
        return None
    files = dialog.selectedFiles()
    return Path(files[0]) if files else None


Chosen = Callable[[list[Path]], None]


def choose_files(parent: QWidget, title: str, chosen: Chosen) -> QFileDialog:
    return _opened(_remembered(_file_dialog(parent, title), "files"), QFileDialog.FileMode.ExistingFiles, chosen)


def choose_folder(parent: QWidget, title: str, chosen: Chosen, start: Path | None = None) -> QFileDialog:
    dialog = _remembered(_file_dialog(parent, title), "folder", str(start or ""))
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    return _opened(dialog, QFileDialog.FileMode.Directory, chosen)


def choose_job_file(parent: QWidget, title: str, chosen: Chosen, start: Path, *, to_save: bool) -> QFileDialog:
    dialog = _file_dialog(parent, title, str(start.parent), "job.toml (*.toml)")
    dialog.setDefaultSuffix("toml")
    if to_save:
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    _opened(dialog, QFileDialog.FileMode.AnyFile if to_save else QFileDialog.FileMode.ExistingFile, chosen)
    dialog.selectFile(start.name)
    return dialog


def _set_mode(dialog: QFileDialog, mode: QFileDialog.FileMode) -> None:
    """Where a file is to be opened, no key deletes or renames one."""
    dialog.setFileMode(mode)
    is_read = mode in (QFileDialog.FileMode.ExistingFile, QFileDialog.FileMode.ExistingFiles)
    dialog.setOption(QFileDialog.Option.ReadOnly, is_read)


def _opened(dialog: QFileDialog, mode: QFileDialog.FileMode, chosen: Chosen) -> QFileDialog:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    _set_mode(dialog, mode)
    dialog.filesSelected.connect(lambda names: chosen([Path(name) for name in names]))
    dialog.open()
    return dialog


class NameDialog(QDialog):
    """The button opens when `check`, which raises AppError, has nothing against what was typed."""

    def __init__(
        self,
        title: str,
        question: str,
        action: str,
        value: str,
        check: Callable[[str], object],
        parent: QWidget | None,
        *,
        may_stay: bool = False,
    ) -> None:
        """`may_stay`: what stands there at first is an answer, too."""
        super().__init__(parent)
        self._check = check
        self._first = value
        self._may_stay = may_stay
        self.setWindowTitle(title)
        self.setMinimumWidth(480)
        heading = sentence(title, "heading")
        self.words = label(question, wraps=True)
        self.edit = QLineEdit(value)
        self.edit.setAccessibleName(question)
        self.words.setBuddy(self.edit)
        self.trouble = sentence("", "error")
        # Room for what may be said, so that the buttons stay where they are.
        self.trouble.setMinimumHeight(2 * self.fontMetrics().lineSpacing() + 4)
        self.trouble.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.accept_button = push_button(action, self.accept, "primary")
        self.accept_button.setAutoDefault(True)
        self.accept_button.setDefault(True)
        buttons, cancel = closing(self, say("Cancel"), self.accept_button)
        cancel.setAutoDefault(False)
        parts = (heading, self.words, self.edit, self.trouble, 1, buttons)
        column_of(*parts, inside=self, margins=DIALOG_MARGINS, spacing=SPACE)
        self.edit.textChanged.connect(self._on_typed)
        self._on_typed(value)
        self.edit.setFocus()
        self.edit.setSelection(0, _stem(value))

    def _on_typed(self, words: str) -> None:
        trouble = ""
        try:
            self._check(words)
        except AppError as error:
            trouble = error.sentence()
        self.accept_button.setEnabled(not trouble and (self._may_stay or words != self._first))
        # What was not typed yet is no mistake.
        self.trouble.setText(trouble if words and words != self._first else "")


async def asked_line(
    parent: QWidget | None,
    title: str,
    question: str,
    action: str,
    value: str,
    check: Callable[[str], object],
    *,
    may_stay: bool = False,
) -> str | None:
    """What was typed, or None."""
    dialog = NameDialog(title, question, action, value, check, _still_there(parent), may_stay=may_stay)
    code = await shown(dialog)
    return dialog.edit.text() if code == QDialog.DialogCode.Accepted else None


def _stem(name: str) -> int:
    """So much is selected: all but the ending, which mostly stays."""
    at = name.rfind(".")
    return at if at > 0 and "/" not in name else len(name)
