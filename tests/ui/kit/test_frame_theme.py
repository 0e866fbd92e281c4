"""Both looks: readable, complete, and the only place with colours."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QMenu,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from support.frame_bench import ICONS
from support.qt_support import until
from traindeck.ui.kit import icons
from traindeck.ui.kit.dialogs import choose_files
from traindeck.ui.kit.theme import DARK_COLORS, LIGHT_COLORS, Theme, set_role

KIT = Path(icons.__file__).parent
UI = KIT.parent


def brightness(color: str) -> float:
    parts = (QColor(color).redF(), QColor(color).greenF(), QColor(color).blueF())
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((brightness(one), brightness(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


TEXT_ON = [
    *((text, ground) for text in ("text", "dim", "link", "bad", "good", "warn") for ground in ("window", "surface")),
    *((text, "sunken") for text in ("text", "dim", "link", "bad", "good", "warn")),
    *((text, "hover") for text in ("text", "dim", "link")),
    *((text, "selection_idle") for text in ("text", "dim")),
    ("on_accent", "accent"),
    ("on_accent", "accent_hover"),
    ("on_selection", "selection"),
    ("good", "good_soft"),
    ("warn", "warn_soft"),
    ("bad", "bad_soft"),
    ("link", "info_soft"),
    ("text", "bad_soft"),
    ("text", "info_soft"),
    ("text", "warn_soft"),
]


@pytest.mark.parametrize("colors", [LIGHT_COLORS, DARK_COLORS], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), TEXT_ON)
def test_text_can_be_read(colors: dict[str, str], text: str, ground: str) -> None:
    assert contrast(colors[text], colors[ground]) >= 4.5


def test_the_look_changes_while_it_is_in_use(qapp: QApplication) -> None:
    theme = Theme(qapp, ICONS, "light")
    label, told = QLabel("x"), []
    theme.changed.connect(lambda: told.append(theme.colors is DARK_COLORS))
    label.show()
    theme.choose("dark")
    assert told == [True]
    assert label.palette().color(QPalette.ColorRole.Window) == QColor(DARK_COLORS["window"])
    assert label.grab().toImage().pixelColor(0, 0).lightness() < 60
    theme.choose("light")
    assert label.grab().toImage().pixelColor(0, 0).lightness() > 200
    theme.close()


class Told(QLabel):
    """Counts what it is told of its style."""

    times = 0

    def changeEvent(self, event: QEvent) -> None:
        self.times += event.type() == QEvent.Type.StyleChange
        super().changeEvent(event)


async def test_what_nobody_sees_is_styled_later_in_turns_of_its_own(qapp: QApplication, qtbot: QtBot) -> None:
    """All at once, a window with all its tabs open did not answer for a tenth of a second and more."""
    theme = Theme(qapp, ICONS, "light")
    window, hidden = QWidget(), QWidget()
    qtbot.addWidget(window)
    shown, page = Told("shown", window), QStackedWidget(window)
    page.addWidget(QWidget())
    page.addWidget(hidden)
    labels = [Told(f"{number}", hidden) for number in range(600)]
    for label in labels:
        label.ensurePolished()
        set_role(label, "dim")
    window.show()
    for label in (shown, *labels):
        label.times = 0
    most = 0
    theme.choose("dark")
    while not shown.times:
        before = sum(label.times for label in labels)
        await asyncio.sleep(0)
        most = max(most, sum(label.times for label in labels) - before)
    assert (most, theme.colors) == (0, DARK_COLORS)
    set_role(labels[0], "error")  # while it has no style
    page.setCurrentWidget(hidden)
    while not all(label.times for label in labels):
        before = sum(label.times for label in labels)
        await asyncio.sleep(0)
        most = max(most, sum(label.times for label in labels) - before)
    assert 0 < most < len(labels) // 2
    # As one that is made under this style.
    for role, one in (("error", labels[0]), ("dim", labels[1]), ("dim", labels[-1])):
        fresh = QLabel(one.text(), window)
        set_role(fresh, role)
        fresh.ensurePolished()
        assert one.palette() == fresh.palette()
        assert one.palette().color(QPalette.ColorRole.WindowText) == theme.color("bad" if role == "error" else "dim")
    # And back before it is done.
    theme.choose("light")
    theme.choose("dark")
    theme.choose("light")
    await until(lambda: theme.colors is LIGHT_COLORS and window.updatesEnabled())
    theme.close()
    assert all(label.palette().color(QPalette.ColorRole.WindowText) == theme.color("dim") for label in labels[1:])


def test_the_systems_choice_counts_unless_the_user_chose(qapp: QApplication) -> None:
    theme = Theme(qapp, ICONS)
    hints = qapp.styleHints()
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme.colors is DARK_COLORS
    theme.choose("light")
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme.colors is not DARK_COLORS
    theme.close()


@pytest.mark.parametrize("name", sorted(icons.STROKES))
def test_every_icon_is_drawn_in_the_colour_asked_for(qapp: QApplication, name: str) -> None:
    image = icons.drawn_icon(name, "#ff0000", "#00ff00").pixmap(32, 32).toImage()
    drawn = [image.pixelColor(x, y) for x in range(32) for y in range(32) if image.pixelColor(x, y).alpha() > 200]
    assert len(drawn) > 20
    assert all(color.red() > 240 and color.green() < 15 for color in drawn)


def test_pictures_of_the_style_sheet_are_there() -> None:
    sheet = (KIT / "style_sheet.py").read_text(encoding="utf-8")
    named = set(re.findall(r"url\(theme:([^)]+)\)", sheet))
    assert named
    assert {name for name in named if not (ICONS / name).is_file()} == set()


def test_every_colour_is_used_and_no_unknown_one() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in UI.rglob("*.py") if path.name != "theme.py")
    _, _, theme = (KIT / "theme.py").read_text(encoding="utf-8").partition("class Theme")
    for name in LIGHT_COLORS:
        used = re.search(rf"\${name}\b|[\"']{name}[\"']", sources + theme)
        assert used, f"{name} is never used"


@pytest.mark.parametrize("path", sorted(UI.rglob("*.py")), ids=lambda path: path.relative_to(UI).as_posix())
def test_colours_stand_in_the_theme_alone(path: Path) -> None:
    if path.name != "theme.py":
        assert (
            re.findall(r"[\"'\s:]#[0-9a-fA-F]{6}\b|[\"']#[0-9a-fA-F]{3}[\"']", path.read_text(encoding="utf-8")) == []
        )


def test_what_scrolls_the_tabs_shows_arrows(qapp: QApplication) -> None:
    theme = Theme(qapp, ICONS, "light")
    bar = QTabBar()
    for number in range(20):
        bar.addTab(f"tab {number}")
    bar.resize(300, bar.sizeHint().height())
    bar.show()
    for name in ("ScrollLeftButton", "ScrollRightButton"):
        button = bar.findChild(QToolButton, name)
        assert button is not None
        image = button.grab().toImage()
        points = [(x, y) for x in range(image.width()) for y in range(image.height())]
        drawn = [at for at in points if (seen := image.pixelColor(*at)).alpha() > 150 and seen.lightness() < 190]
        assert len({y for _, y in drawn}) >= 6, f"{name} has no arrow"
    alone, beside_tabs = QToolButton(), QToolButton(bar)  # as the buttons of docks that share a place
    for button in (alone, beside_tabs):
        button.setIcon(theme.icon("close"))
        button.ensurePolished()
    assert beside_tabs.sizeHint() == alone.sizeHint()
    theme.close()


def test_arrows_of_qts_own_file_dialog_are_seen_in_the_dark(qapp: QApplication) -> None:
    theme = Theme(qapp, ICONS, "dark")
    parent = QWidget()
    dialog = choose_files(parent, "Choose", lambda _: None)
    for name in ("backButton", "forwardButton", "toParentButton"):
        button = dialog.findChild(QToolButton, name)
        assert button is not None
        image = button.icon().pixmap(16, 16).toImage()
        seen = [image.pixelColor(x, y) for x in range(16) for y in range(16) if image.pixelColor(x, y).alpha() > 150]
        assert seen and max(color.lightness() for color in seen) > 110, name
    dialog.close()
    parent.deleteLater()
    theme.close()


def test_entries_of_a_menu_are_of_one_height(qapp: QApplication) -> None:
    theme = Theme(qapp, ICONS, "light")
    menu = QMenu()
    plain, with_picture = menu.addAction("Rename…"), menu.addAction(theme.icon("folder"), "Open")
    menu.popup(QPoint())
    assert menu.actionGeometry(plain).height() == menu.actionGeometry(with_picture).height()
    menu.close()
    theme.close()


@pytest.mark.parametrize("look", ["light", "dark"])
def test_what_stands_in_an_empty_field_can_be_read_in_a_box_too(qapp: QApplication, look: str) -> None:
    theme = Theme(qapp, ICONS, look)
    box = QComboBox()
    box.setEditable(True)
    line = box.lineEdit()
    assert line is not None
    line.setPlaceholderText("e.g. train.py")
    box.show()
    assert line.palette().color(QPalette.ColorRole.PlaceholderText) == theme.color("dim")
    theme.close()


def test_a_box_shows_its_arrow(qapp: QApplication) -> None:
    theme = Theme(qapp, ICONS, "light")
    box = QComboBox()
    box.resize(120, 28)
    image = box.grab().toImage()
    right = [image.pixelColor(x, y).lightness() for x in range(100, 116) for y in range(8, 20)]
    assert min(right) < 180, "no arrow"
    theme.close()
