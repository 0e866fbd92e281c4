"""Choosing files and folders without holding up the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

Chosen = Callable[[list[Path]], None]


def choose_files(parent: QWidget, title: str, chosen: Chosen) -> QFileDialog:
    return _open(parent, title, chosen, QFileDialog.FileMode.ExistingFiles)


def choose_folder(parent: QWidget, title: str, chosen: Chosen, start: Path | None = None) -> QFileDialog:
    return _open(parent, title, chosen, QFileDialog.FileMode.Directory, start)


def choose_job_file(parent: QWidget, title: str, chosen: Chosen, start: Path, *, to_save: bool) -> QFileDialog:
    mode = QFileDialog.FileMode.AnyFile if to_save else QFileDialog.FileMode.ExistingFile
    dialog = _open(parent, title, chosen, mode, start.parent, to_save=to_save)
    dialog.setNameFilter("job.toml (*.toml)")
    dialog.setDefaultSuffix("toml")
    dialog.selectFile(start.name)
    return dialog


def _open(
    parent: QWidget,
    title: str,
    chosen: Chosen,
    mode: QFileDialog.FileMode,
    start: Path | None = None,
    *,
    to_save: bool = False,
) -> QFileDialog:
    dialog = QFileDialog(parent, title, str(start) if start else "")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    if to_save:
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setFileMode(mode)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly, mode is QFileDialog.FileMode.Directory)
    dialog.filesSelected.connect(lambda names: chosen([Path(name) for name in names]))
    dialog.open()
    return dialog
