"""Where the system's clock is set, as far as this system has a window for it."""

from __future__ import annotations

import shutil
import sys

from PySide6.QtCore import QProcess, QUrl
from PySide6.QtGui import QDesktopServices

_PAGES = {"win32": "ms-settings:dateandtime", "darwin": "x-apple.systempreferences:com.apple.preference.datetime"}
_PROGRAMS = (
    ("gnome-control-center", "datetime"),
    ("systemsettings", "kcm_clock"),
    ("systemsettings5", "kcm_clock"),
    ("xfce4-datetime-settings", ""),
    ("deepin-control-center", "datetime"),
)


def has_clock_settings() -> bool:
    return sys.platform in _PAGES or any(shutil.which(program) for program, _ in _PROGRAMS)


def open_clock_settings() -> None:
    if page := _PAGES.get(sys.platform):
        QDesktopServices.openUrl(QUrl(page))
        return
    found = next(((program, page) for program, page in _PROGRAMS if shutil.which(program)), None)
    if found is not None:
        QProcess.startDetached(found[0], [found[1]] if found[1] else [])
