"""Choosing what the code of a run is compared with: its folder, another folder, or another run."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidgetItem, QWidget

from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import push_button
from traindeck.ui.kit.dialogs import DIALOG_MARGINS, closing
from traindeck.ui.kit.layouts import column_of, fit_on_screen
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.tables import RowList
from traindeck.ui.kit.theme import SPACE
from traindeck.viewmodels.jobs.runs.code_diff import FOLDER
from traindeck.viewmodels.jobs.runs.run_words import run_title, state_words

OTHER_FOLDER = "other folder"
_MOST_SHOWN = 300
_SIZE = (520, 460)


class ChooseRunDialog(QDialog):
    """Runs of the same job come first."""

    def __init__(self, run: Run, runs: Sequence[Run], parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle(say("Compare code with…"))
        self._runs = sorted(
            (one for one in runs if one.bundle and one.id != run.id),
            key=lambda one: (one.spec.name != run.spec.name, -one.number),
        )
        self._folder = run.spec.code_folder
        heading = sentence(say("Compare the code of run {number} with", number=run.number), "heading")
        self.words = QLineEdit()
        self.words.setPlaceholderText(say("Search runs"))
        self.words.setAccessibleName(say("Search runs"))
        self.words.textChanged.connect(self._fill)
        self.list = RowList()
        self.list.setAccessibleName(say("What to compare with"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.itemDoubleClicked.connect(lambda _: self.accept())
        self.choose = push_button(say("Compare"), self.accept, "primary")
        self.choose.setAutoDefault(True)
        self.choose.setDefault(True)
        foot, cancel = closing(self, say("Cancel"), self.choose)
        cancel.setAutoDefault(False)
        parts = (heading, self.words, (self.list, 1), foot)
        column_of(*parts, inside=self, margins=DIALOG_MARGINS, spacing=SPACE)
        self._fill("")
        fit_on_screen(self, *_SIZE)
        self.words.setFocus()

    @property
    def chosen(self) -> str:
        item = self.list.currentItem()
        return str(item.data(Qt.ItemDataRole.UserRole)) if item is not None else ""

    def _fill(self, words: str) -> None:
        self.list.clear()
        if self._folder:
            self._add(say("Its folder as it is now: {folder}", folder=self._folder), FOLDER)
        self._add(say("Another folder…"), OTHER_FOLDER)
        wanted = words.casefold().split()
        found = (one for one in self._runs if all(word in _searched(one) for word in wanted))
        for one, _ in zip(found, range(_MOST_SHOWN), strict=False):
            self._add(f"{run_title(one)} · {state_words(one)}", one.id)
        runs = self.list.count() - (2 if self._folder else 1)
        self.list.setCurrentRow(self.list.count() - runs if words and runs else 0)

    def _add(self, words: str, chosen: str) -> None:
        item = QListWidgetItem(words)
        item.setData(Qt.ItemDataRole.UserRole, chosen)
        item.setToolTip(words)
        self.list.addItem(item)


def _searched(run: Run) -> str:
    return f"{run.number} {run.name} {run.note} {' '.join(run.tags)}".casefold()
