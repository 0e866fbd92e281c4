"""Buckets that are being emptied, each with its progress and a way to stop it."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from traindeck.domain.texts import say
from traindeck.ui.elided_label import ElidedLabel
from traindeck.ui.theme import HALF, SPACE, set_role
from traindeck.viewmodels.bucket_removals import BucketRemovals, Removal

_PARTS = 1000


class RemovalRows(QWidget):
    """Below the buckets; nothing is there while none is removed."""

    def __init__(self, removals: BucketRemovals) -> None:
        super().__init__()
        self._removals = removals
        self.rows: dict[tuple[str, str], RemovalRow] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(SPACE, 0, HALF, 0)
        self._column.setSpacing(HALF)
        removals.changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        running = {(one.profile, one.bucket): one for one in self._removals.running}
        for key in [key for key in self.rows if key not in running]:
            self.rows.pop(key).deleteLater()
        for key, removal in running.items():
            if key not in self.rows:
                self.rows[key] = RemovalRow(key[1])
                self.rows[key].stop.clicked.connect(partial(self._removals.stop, removal))
                self._column.addWidget(self.rows[key])
            self.rows[key].show_removal(removal)
        self.setVisible(bool(running))


class RemovalRow(QWidget):
    """One of them."""

    def __init__(self, bucket: str) -> None:
        super().__init__()
        self.words, self.bar, self.stop = ElidedLabel(), QProgressBar(), QPushButton(say("Stop"))
        set_role(self.words, "small")
        set_role(self.stop, "flat")
        self.stop.setAccessibleName(say("Stop deleting “{bucket}”", bucket=bucket))
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(say("Deleting “{bucket}”", bucket=bucket))
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self.words, 1)
        line.addWidget(self.stop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, HALF, 0, HALF)
        column.setSpacing(2)
        column.addLayout(line)
        column.addWidget(self.bar)

    def show_removal(self, removal: Removal) -> None:
        self.words.setText(say(removal.sentence))
        share = removal.share
        self.bar.setRange(0, 0 if share is None else _PARTS)
        if share is not None:
            self.bar.setValue(round(share * _PARTS))
