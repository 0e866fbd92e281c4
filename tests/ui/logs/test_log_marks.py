"""What a log shows of the whole of it, and what is read of it to those who do not see it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface, QColor, QImage
from PySide6.QtWidgets import QApplication

from support.log_bench import Bench, bench, numbered
from support.panel_bench import light_theme
from support.waiting import until
from traindeck.services.logs.wanted import LineLevel, Wanted
from traindeck.ui.kit.theme import Theme
from traindeck.ui.logs.log_scroll_bar import LogScrollBar
from traindeck.viewmodels.logs.log_appearance import Bookmark

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


def places(on: Bench, color: QColor) -> list[float]:
    """Where along the scroll bar this colour is, from 0 to 1."""
    image = on.bar.grab().toImage()
    rows = [y for y in range(image.height()) for x in range(image.width()) if image.pixelColor(x, y) == color]
    return sorted({round(y / image.height(), 1) for y in rows})


async def test_errors_hits_and_bookmarks_are_marked_in_the_scroll_bar(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        assert isinstance(on.bar, LogScrollBar)
        lines = numbered(1000)
        lines[300] = "2024-05-01 12:00:00 ERROR disk is full"
        lines[700] = "loss is nan"
        await on.write(*lines)
        bad, warn, link = (theme.color(name) for name in ("bad", "warn", "link"))
        await until(lambda: places(on, bad) == [0.3])
        assert not places(on, warn) and not places(on, link)
        on.feed.search.look_for(Wanted("nan"))
        row = on.feed.lines.document
        assert row is not None
        on.feed.look.put_bookmark("r1", "worker-0", Bookmark(row.rows(500, 1).rows[0].begin, "here"))
        await until(lambda: (places(on, bad), places(on, warn), places(on, link)) == ([0.3], [0.7], [0.5]))

        # Of the rows that are shown, and no others.
        on.feed.filter.ask("line", LineLevel.ALL)
        await until(lambda: (places(on, bad), places(on, warn), places(on, link)) == ([], [], [0.5]))
        on.feed.filter.ask("", LineLevel.ALL)
        on.feed.look.remove_bookmark("r1", "worker-0", row.rows(500, 1).rows[0].begin)
        await on.write(*numbered(999, "more"), "Traceback (most recent call last):")
        await until(
            lambda: max(places(on, bad), default=0) > 0.9 and min(places(on, bad)) < 0.3 and not places(on, link)
        )


async def test_marks_of_another_log_do_not_stay(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        await on.write("ERROR here", *numbered(300))
        await until(lambda: bool(places(on, theme.color("bad"))))
        on.cloud.logs.file("r1", "worker-0").path.write_bytes(b"".join(b"new %d\n" % n for n in range(200)))
        await until(lambda: on.has_last("new 199") and not places(on, theme.color("bad")))


def spoken(on: Bench) -> QAccessibleInterface:
    """As a reader finds it: the one with text below the pane."""

    def below(one: QAccessibleInterface) -> Iterator[QAccessibleInterface]:
        yield one
        for number in range(one.childCount()):
            if (child := one.child(number)) is not None:
                yield from below(child)

    root = QAccessible.queryAccessibleInterface(on.view.pane)
    found = [one for one in below(root) if one.role() == QAccessible.Role.EditableText and one.textInterface()]
    assert len(found) == 1, [one.role() for one in below(root)]
    return found[0]


def line_of(one: QAccessibleInterface) -> str:
    """The one with the caret."""
    text = one.textInterface()
    whole = text.text(0, text.characterCount())
    at = text.cursorPosition()
    return whole[whole.rfind("\n", 0, at) + 1 :].partition("\n")[0]


async def test_a_reader_finds_the_lines_in_sight_and_the_one_where_the_user_is(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        pane = on.view.pane
        await on.write(*numbered(200))
        await until(lambda: line_of(spoken(on)) == "line 199")
        text = spoken(on).textInterface()
        assert text.text(0, text.characterCount()).splitlines() == on.shown().splitlines()
        assert spoken(on).text(QAccessible.Text.Name) == "Lines in sight"
        assert spoken(on).state().readOnly

        pane.setFocus()
        pane.select_row(60)
        await until(lambda: line_of(spoken(on)) == "line 60")
        about = QAccessible.queryAccessibleInterface(pane)
        assert about.text(QAccessible.Text.Description) == "line 60"
        qtbot.keyClick(pane, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
        await until(lambda: line_of(spoken(on)) == "line 61")


async def test_what_is_read_is_not_painted_and_takes_neither_keys_nor_mouse(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        pane = on.view.pane
        await on.write(*numbered(200))
        await until(lambda: line_of(spoken(on)) == "line 199")

        def painted() -> QImage:
            return pane.viewport().grab().toImage().convertToFormat(QImage.Format.Format_RGB32)

        seen = painted()
        pane.spoken.hide()
        assert painted() == seen
        pane.spoken.show()
        assert pane.spoken.geometry() == pane.viewport().rect()
        assert pane.spoken.focusPolicy() == Qt.FocusPolicy.NoFocus
        qtbot.mouseDClick(pane.viewport(), Qt.MouseButton.LeftButton, pos=pane.viewport().rect().center())
        assert pane.spoken.testAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
