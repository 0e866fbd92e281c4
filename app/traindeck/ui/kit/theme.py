"""Colours, fonts, spacing: no other module has a literal for them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from PySide6.QtCore import QDir, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QIcon, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory, QWidget

from traindeck.ui.kit.icons import drawn_icon, drawn_mark
from traindeck.ui.kit.style_sheet import style_sheet
from traindeck.viewmodels.shell.preferences import DARK, LIGHT, SYSTEM

SPACE = 8  # everything stands on multiples of this, or on its half
HALF = SPACE // 2
ROW = 28  # height of a row that holds a button or a field

# Asked for by name, else the system may take Japanese forms for Chinese words.
_CHINESE_FONTS = ("Microsoft YaHei UI", "PingFang SC", "Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Micro Hei")
_CHINESE_MONO_FONTS = ("Noto Sans Mono CJK SC", *_CHINESE_FONTS)


@dataclass(frozen=True, slots=True)
class Colors:
    """What a colour is for; each theme has one value for each purpose."""

    window: str  # behind everything
    surface: str  # lists, tables, pages
    sunken: str  # logs, code
    hover: str
    border: str
    border_strong: str  # around what can be typed into or pressed
    text: str
    dim: str  # said, but not first
    disabled: str
    accent: str  # a filled button
    accent_hover: str
    on_accent: str
    link: str  # the accent as text
    selection: str
    on_selection: str
    good: str
    warn: str
    bad: str
    good_soft: str
    warn_soft: str
    bad_soft: str
    info_soft: str
    scroll: str


LIGHT_COLORS = Colors(
    window="#f3f4f7",
    surface="#ffffff",
    sunken="#fafbfc",
    hover="#e9ecf1",
    border="#dde1e7",
    border_strong="#b9c0cb",
    text="#1c2430",
    dim="#586274",
    disabled="#98a1af",
    accent="#1a66d6",
    accent_hover="#1558bb",
    on_accent="#ffffff",
    link="#175cc4",
    selection="#d8e6fb",
    on_selection="#14213a",
    good="#1a7438",
    warn="#8a5a00",
    bad="#c4232f",
    good_soft="#e2f4e7",
    warn_soft="#fdf1d6",
    bad_soft="#fde7e8",
    info_soft="#e6effc",
    scroll="#c3c9d2",
)

DARK_COLORS = Colors(
    window="#171a1f",
    surface="#1e2228",
    sunken="#14171b",
    hover="#2a2f37",
    border="#2f353e",
    border_strong="#4b5462",
    text="#e4e8ee",
    dim="#a2acba",
    disabled="#6b7583",
    accent="#2b71d9",
    accent_hover="#2465c9",
    on_accent="#ffffff",
    link="#79b0ff",
    selection="#29456f",
    on_selection="#f4f7fb",
    good="#5cc980",
    warn="#e0b04c",
    bad="#ff8a84",
    good_soft="#1c3325",
    warn_soft="#383018",
    bad_soft="#3d2224",
    info_soft="#1f2f48",
    scroll="#464e5a",
)


class Theme(QObject):
    """The look in use; follows the system unless the user chose one."""

    changed = Signal()

    def __init__(self, application: QApplication, images: Path, chosen: str = SYSTEM) -> None:
        super().__init__()
        self._application = application
        self._chosen = chosen
        self._icons: dict[tuple[str, str], QIcon] = {}
        self.colors = LIGHT_COLORS
        QDir.setSearchPaths("theme", [str(images)])
        self._base_font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        self._base_font.setFamilies([_real_family(self._base_font), *_CHINESE_FONTS])
        application.setFont(self._base_font)
        application.setStyle(QStyleFactory.create("Fusion"))
        self.choose(chosen)
        application.styleHints().colorSchemeChanged.connect(self._follow)

    @property
    def chosen(self) -> str:
        return self._chosen

    @property
    def is_dark(self) -> bool:
        return self.colors is DARK_COLORS

    def choose(self, name: str) -> None:
        """`light`, `dark`, or empty to follow the system."""
        self._chosen = name
        schemes = {LIGHT: Qt.ColorScheme.Light, DARK: Qt.ColorScheme.Dark}
        # Told to Qt as well, so that title bars and system dialogs agree.
        self._application.styleHints().setColorScheme(schemes.get(name, Qt.ColorScheme.Unknown))
        self._apply(self._application.styleHints().colorScheme())

    def icon(self, name: str, color: str = "text") -> QIcon:
        """A drawn icon in one of our colours, named as in Colors."""
        key = (name, getattr(self.colors, color))
        if key not in self._icons:
            self._icons[key] = drawn_icon(name, key[1], self.colors.disabled)
        return self._icons[key]

    def program_icon(self) -> QIcon:
        return drawn_mark(LIGHT_COLORS.accent, LIGHT_COLORS.on_accent)

    def color(self, name: str) -> QColor:
        return QColor(getattr(self.colors, name))

    def font(self, *, bigger_by: int = 0, bold: bool = False) -> QFont:
        font = QFont(self._base_font)
        font.setPointSize(max(6, font.pointSize() + bigger_by))
        font.setBold(bold)
        return font

    def mono_font(self) -> QFont:
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setFamilies([_real_family(font), *_CHINESE_MONO_FONTS])
        font.setPointSize(self._base_font.pointSize())
        return font

    def close(self) -> None:
        self._application.styleHints().colorSchemeChanged.disconnect(self._follow)

    def _follow(self, scheme: Qt.ColorScheme) -> None:
        if self._chosen == SYSTEM:
            self._apply(scheme)

    def _apply(self, system: Qt.ColorScheme) -> None:
        dark = self._chosen == DARK or (self._chosen == SYSTEM and system == Qt.ColorScheme.Dark)
        self.colors = DARK_COLORS if dark else LIGHT_COLORS
        # Taken off first: where one sheet replaces another, Qt styles every widget several times over.
        self._application.setStyleSheet("")
        self._application.setPalette(_palette(self.colors))
        tokens = {field.name: getattr(self.colors, field.name) for field in fields(self.colors)}
        sizes = {"small": self.font(bigger_by=-1), "heading": self.font(bigger_by=1), "title": self.font(bigger_by=6)}
        points = {f"{name}_pt": str(font.pointSize()) for name, font in sizes.items()}
        self._application.setStyleSheet(style_sheet({**tokens, **points}))
        self.changed.emit()


def set_role(widget: QWidget, role: str) -> None:
    """Give a widget its part in the style sheet: primary, danger, flat, title, heading, dim, error, card, chip…"""
    widget.setProperty("role", role)
    if not widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
        return  # it is styled when it is first shown
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    # Only this makes a frame ask the style sheet for its padding again.
    QApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))


def _real_family(font: QFont) -> str:
    """What a name such as Sans Serif stands for here; as it is, any font of the list would come before it."""
    return QFontInfo(font).family()


def _palette(colors: Colors) -> QPalette:
    palette = QPalette()
    role = QPalette.ColorRole
    pairs = {
        role.Window: colors.window,
        role.WindowText: colors.text,
        role.Base: colors.surface,
        role.AlternateBase: colors.sunken,
        role.Text: colors.text,
        role.PlaceholderText: colors.dim,
        role.Button: colors.surface,
        role.ButtonText: colors.text,
        role.BrightText: colors.bad,
        role.Highlight: colors.selection,
        role.HighlightedText: colors.on_selection,
        role.Link: colors.link,
        role.LinkVisited: colors.link,
        role.ToolTipBase: colors.surface,
        role.ToolTipText: colors.text,
        role.Accent: colors.accent,
        role.Light: colors.surface,
        role.Midlight: colors.hover,
        role.Mid: colors.border,
        role.Dark: colors.border_strong,
        role.Shadow: colors.border_strong,
    }
    for name, value in pairs.items():
        palette.setColor(name, QColor(value))
    for name in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        palette.setColor(QPalette.ColorGroup.Disabled, name, QColor(colors.disabled))
    return palette
