"""The sentences that Qt itself says, in file dialogs and standard buttons."""

from __future__ import annotations

from PySide6.QtCore import QLibraryInfo, QTranslator
from PySide6.QtWidgets import QApplication

from traindeck.domain.texts import CHINESE


class QtTexts:
    """Keeps Qt's own language the same as ours."""

    def __init__(self, application: QApplication) -> None:
        self._application = application
        self._translator = QTranslator()

    def speak(self, language: str) -> None:
        self._application.removeTranslator(self._translator)
        folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        if language == CHINESE and self._translator.load("qtbase_zh_CN", folder):
            self._application.installTranslator(self._translator)
