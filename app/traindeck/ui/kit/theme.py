"""Colours, fonts, spacing: no other module has a literal for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import QDir, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QIcon, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory, QWidget

from traindeck.ui.kit.icons import drawn_icon, drawn_mark
from traindeck.ui.kit.restyling import Restyling
from traindeck.ui.kit.style_sheet import STYLE_SHEET
from traindeck.viewmodels.shell.preferences import DARK, LIGHT, SYSTEM

SPACE = 8  # everything stands on multiples of this, or on its half
HALF = SPACE // 2
ROW = 28  # height of a row that holds a button or a field

# Asked for by name, else the system may take Japanese forms for Chinese words.
_CHINESE_FONTS = ("Microsoft YaHei UI", "PingFang SC", "Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Micro Hei")
_CHINESE_MONO_FONTS = ("Noto Sans Mono CJK SC", *_CHINESE_FONTS)

_TYPING_MS = 1000  # letters that follow one another so soon look for one name in a list


_COLORS = {
    "window": ("#f3f4f7", "#171a1f"),  # behind everything
    "surface": ("#ffffff", "#1e2228"),  # lists, tables, pages
    "sunken": ("#fafbfc", "#14171b"),  # logs, code
    "hover": ("#e9ecf1", "#2a2f37"),
    "border": ("#dde1e7", "#2f353e"),
    "border_strong": ("#b9c0cb", "#4b5462"),  # around what can be typed into or pressed
    "text": ("#1c2430", "#e4e8ee"),
    "dim": ("#586274", "#a2acba"),  # said, but not first
    "disabled": ("#98a1af", "#6b7583"),
    "accent": ("#1a66d6", "#2b71d9"),  # a filled button
    "accent_hover": ("#1558bb", "#2465c9"),
    "on_accent": ("#ffffff", "#ffffff"),
    "link": ("#175cc4", "#79b0ff"),  # the accent as text
    "selection": ("#d8e6fb", "#29456f"),
    "selection_idle": ("#dde2ea", "#343b46"),  # while something else has the focus
    "on_selection": ("#101c33", "#f4f7fb"),
    "good": ("#1a7438", "#5cc980"),
    "warn": ("#8a5a00", "#e0b04c"),
    "bad": ("#c4232f", "#ff8a84"),
    "good_soft": ("#e2f4e7", "#1c3325"),
    "warn_soft": ("#fdf1d6", "#383018"),
    "bad_soft": ("#fde7e8", "#3d2224"),
    "info_soft": ("#e6effc", "#1f2f48"),
    "scroll": ("#c3c9d2", "#464e5a"),
}
"""What a colour is for, and what it is in the light and in the dark."""

LIGHT_COLORS = {name: light for name, (light, _) in _COLORS.items()}
DARK_COLORS = {name: dark for name, (_, dark) in _COLORS.items()}
TERMINAL_COLORS = (
    "#000000", "#c4232f", "#1a7438", "#8a5a00", "#175cc4", "#8a2a9b", "#0b6b78", "#c0c4cc",
    "#6b7280", "#e5484d", "#2f9e58", "#c28a00", "#4a8df0", "#b65fc7", "#25a0b0", "#ffffff",
)  # fmt: skip
"""The sixteen that programs ask for by number."""
GROUND_COLORS = (
    ("#fff1a8", "#5c5200"), ("#c9f0d0", "#1f5130"), ("#cfe3ff", "#1f4272"), ("#ffd3c9", "#6b2f20"),
    ("#ecd2ff", "#4c2a66"), ("#c6f0f0", "#155555"),
)  # fmt: skip
"""Behind words that are to be told apart, in the light and in the dark."""
CURVE_COLORS = (
    ("#1a66d6", "#79b0ff"), ("#c4232f", "#ff8a84"), ("#1a7438", "#5cc980"), ("#8a5a00", "#e0b04c"),
    ("#7a3fbf", "#c39bff"), ("#007a87", "#4fd0dc"), ("#a0376f", "#ff9bcb"), ("#586274", "#a2acba"),
)  # fmt: skip
"""Of lines that are to be told apart, in the light and in the dark."""


class Theme(QObject):
    """The look in use; follows the system unless the user chose one."""

    changed = Signal()

    def __init__(self, application: QApplication, images: Path, chosen: str = SYSTEM) -> None:
        super().__init__()
        self._application = application
        self.chosen = chosen
        self._icons: dict[tuple[str, str], QIcon] = {}
        self._mark = drawn_mark(LIGHT_COLORS["accent"], LIGHT_COLORS["on_accent"])
        self._restyling = Restyling(application)
        self.colors: Mapping[str, str] = LIGHT_COLORS
        QDir.setSearchPaths("theme", [str(images)])
        self._base_font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        # What a name such as Sans Serif stands for here; as it is, any font of the list would come before it.
        self._base_font.setFamilies([QFontInfo(self._base_font).family(), *_CHINESE_FONTS])
        application.setFont(self._base_font)
        application.setStyle(QStyleFactory.create("Fusion"))
        application.setKeyboardInputInterval(_TYPING_MS)
        self.choose(chosen)
        application.styleHints().colorSchemeChanged.connect(self._follow)

    def choose(self, name: str) -> None:
        """`light`, `dark`, or empty to follow the system; in a full window it is in sight a few turns later."""
        self.chosen = name
        schemes = {LIGHT: Qt.ColorScheme.Light, DARK: Qt.ColorScheme.Dark}
        # Told to Qt as well, so that title bars and system dialogs agree.
        self._application.styleHints().setColorScheme(schemes.get(name, Qt.ColorScheme.Unknown))
        self._apply(self._application.styleHints().colorScheme())

    def icon(self, name: str, color: str = "text") -> QIcon:
        """A drawn icon in one of our colours."""
        key = (name, self.colors[color])
        if key not in self._icons:
            self._icons[key] = drawn_icon(name, key[1], self.colors["disabled"])
        return self._icons[key]

    def program_icon(self) -> QIcon:
        return self._mark

    def color(self, name: str) -> QColor:
        return QColor(self.colors[name])

    def mono_font(self) -> QFont:
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setFamilies([QFontInfo(font).family(), *_CHINESE_MONO_FONTS])
        font.setPointSize(self._base_font.pointSize())
        return font

    def close(self) -> None:
        self._restyling.close()
        self._application.styleHints().colorSchemeChanged.disconnect(self._follow)

    def _follow(self, scheme: Qt.ColorScheme) -> None:
        if self.chosen == SYSTEM:
            self._apply(scheme)

    def _apply(self, system: Qt.ColorScheme) -> None:
        dark = self.chosen == DARK or (self.chosen == SYSTEM and system == Qt.ColorScheme.Dark)
        colors = DARK_COLORS if dark else LIGHT_COLORS
        self._restyling.change([partial(self._dress, colors), self.changed.emit])

    def _dress(self, colors: Mapping[str, str]) -> None:
        self.colors = colors
        # Taken off first: where one sheet replaces another, Qt styles every widget several times over.
        self._application.setStyleSheet("")
        self._application.setPalette(_palette(self.colors))
        bigger_by = {"small_pt": -1, "heading_pt": 1, "title_pt": 6}
        points = {name: max(6, self._base_font.pointSize() + more) for name, more in bigger_by.items()}
        self._application.setStyleSheet(STYLE_SHEET.substitute(self.colors, **points))


def set_role(widget: QWidget, role: str) -> None:
    """Give a widget its part in the style sheet: primary, danger, flat, title, heading, dim, error, card, chip…"""
    if (widget.property("role") or "") == role:
        return
    widget.setProperty("role", role)
    if not widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
        return  # it is styled when it is first shown
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    # Only this makes a frame ask the style sheet for its padding again.
    QApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))


def _palette(colors: Mapping[str, str]) -> QPalette:
    palette = QPalette()
    role = QPalette.ColorRole
    pairs = {
        role.Window: "window",
        role.WindowText: "text",
        role.Base: "surface",
        role.AlternateBase: "sunken",
        role.Text: "text",
        role.PlaceholderText: "dim",
        role.Button: "surface",
        role.ButtonText: "text",
        role.BrightText: "bad",
        role.Highlight: "selection",
        role.HighlightedText: "on_selection",
        role.Link: "link",
        role.LinkVisited: "link",
        role.ToolTipBase: "surface",
        role.ToolTipText: "text",
        role.Accent: "accent",
        role.Light: "surface",
        role.Midlight: "hover",
        role.Mid: "border",
        role.Dark: "border_strong",
        role.Shadow: "border_strong",
    }
    for name, value in pairs.items():
        palette.setColor(name, QColor(colors[value]))
    for name in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        palette.setColor(QPalette.ColorGroup.Disabled, name, QColor(colors["disabled"]))
    return palette
