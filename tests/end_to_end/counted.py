"""How many things a person does until a run is there, and that no key starts one by mistake."""

from __future__ import annotations

from pathlib import Path

from hands import Hands, log_words, tell
from outside import outside_of_tasks
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QWidget

from traindeck.domain.jobs.job import Run, RunState
from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.ui.shell.command_palette import CommandPalette
from traindeck.ui.shell.welcome_page import WelcomePage
from traindeck.ui.storage.browser_view import BrowserView

_SHIFT, _CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


class Counted(Hands):
    """Counts presses and clicks; typing words is not counted."""

    count = 0

    async def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        self.count += 1
        await super().press(key, modifiers)

    async def accept(self) -> None:
        """Return in a field of a dialog that goes with it, before the key is let go of."""
        self.count += 1
        await outside_of_tasks(lambda: QTest.keyPress(self.focused(), Qt.Key.Key_Return))

    def runs(self) -> tuple[Run, ...]:
        runs: tuple[Run, ...] = self.program.models.jobs.runs.state.runs
        return runs

    async def finished(self, number: int) -> None:
        await self.until(lambda: len(self.runs()) == number and all(run.state.is_over for run in self.runs()))

    def take(self) -> int:
        count, self.count = self.count, 0
        return count


async def count_what_is_done(by: Hands, other_code: str) -> None:
    """The sample, the same again, and the same with code of another folder."""
    hands = Counted(by.program)
    await hands.until(hands.window.isActiveWindow)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), WelcomePage))
    welcome = hands.window.tabs.currentWidget()
    assert isinstance(welcome, WelcomePage)
    await hands.click(welcome.sample)
    hands.count += 1
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), RunPageView))
    page, log = hands.window.tabs.currentWidget(), hands.panel("log")
    assert isinstance(page, RunPageView)
    await hands.finished(1)
    await hands.until(lambda: "finished: test_accuracy" in log_words(log.pane))
    tell("first", actions=hands.take(), title=page.title.text(), log=log.name.text(), tabs=hands.window.open_tabs())
    await hands.press(Qt.Key.Key_R)
    await hands.finished(2)
    tell("again", actions=hands.take(), title=page.title.text(), parent=hands.runs()[0].resubmission_of)

    await hands.press(Qt.Key.Key_R, _SHIFT)
    form = hands.panel("job")
    folder = form.fields["code_folder"].editor
    await hands.until(lambda: form.isAncestorOf(QApplication.focusWidget()))
    while not folder.hasFocus():
        await hands.press(Qt.Key.Key_Tab)
    await hands.type(other_code)
    await hands.press(Qt.Key.Key_Return, _CTRL)
    await hands.finished(3)
    tell("other code", actions=hands.take(), folder=hands.runs()[0].spec.code_folder, name=hands.runs()[0].bundle)


async def change_one_value(by: Hands, parameter: str, value: str) -> None:
    """The sample with one parameter changed, and a run that is stopped."""
    hands = Counted(by.program)
    await hands.until(hands.window.isActiveWindow)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), WelcomePage))
    welcome = hands.window.tabs.currentWidget()
    assert isinstance(welcome, WelcomePage)
    await hands.click(welcome.sample)
    await hands.finished(1)
    form = hands.panel("job")
    hands.take()
    await hands.press(Qt.Key.Key_R, _SHIFT)
    table = form.fields["parameters"].editor
    await hands.until(lambda: table.isVisible() and form.origin.isVisible())
    row = next(number for number, one in enumerate(table.pairs.rows) if one[0] == parameter)
    form.scroll_area.ensureWidgetVisible(table)
    await hands.choose_cell(table, row, 1, double=True)
    hands.count += 1
    await hands.type(value)
    strip = form.origin.words.text()
    await hands.press(Qt.Key.Key_Return, _CTRL)
    await hands.until(lambda: len(hands.runs()) == 2 and hands.runs()[0].state is RunState.RUNNING)
    tell("changed", actions=hands.take(), strip=strip, value=dict(hands.runs()[0].spec.parameters)[parameter])
    await hands.click(hands.button("Stop…"))
    hands.count += 1
    await hands.until(lambda: hands.dialog() is not None)
    await hands.click(hands.button("Stop", hands.dialog()))
    hands.count += 1
    await hands.finished(2)
    tell("stopped", actions=hands.take(), state=hands.runs()[0].state.value)


async def come_again(by: Hands) -> None:
    """What there is at the next start."""
    models, form = by.program.models, by.panel("job")
    await by.until(lambda: isinstance(by.window.tabs.currentWidget(), RunPageView))
    page, log = by.window.tabs.currentWidget(), by.panel("log")
    assert isinstance(page, RunPageView)
    await by.until(lambda: models.jobs.log.state.is_read and form.fields["code_folder"].editor.text())
    folder = form.fields["code_folder"].editor.text()
    tell("again there", title=page.title.text(), log=log.name.text(), tabs=by.window.open_tabs(), folder=folder)


async def press_r_everywhere(by: Hands) -> None:
    """One letter, typed where it is no command."""
    hands = Counted(by.program)
    await hands.until(hands.window.isActiveWindow)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), WelcomePage))
    welcome = hands.window.tabs.currentWidget()
    assert isinstance(welcome, WelcomePage)
    await hands.click(welcome.sample)
    form = hands.panel("job")
    name = form.fields["name"].editor
    await hands.click(name)
    await hands.finished(1)
    tell("typing", is_still_there=name.hasFocus())
    buckets = hands.panel("buckets")
    await hands.until(lambda: buckets.model.rowCount())
    await hands.press(Qt.Key.Key_2, _CTRL)
    await hands.press(Qt.Key.Key_Down)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), BrowserView))
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    await hands.until(lambda: view.model.rowCount() and view.table.hasFocus())
    places: dict[str, QWidget] = {
        "file list": view.table,
        "buckets": buckets.rows,
        "log": hands.panel("log").pane,
        "text": name,
        "find": hands.panel("log").find_bar.words,
    }
    hands.panel("log").find_bar.open_bar()
    for name, place in places.items():
        place.setFocus()
        await hands.until(place.hasFocus)
        for modifiers in (Qt.KeyboardModifier.NoModifier, _SHIFT):
            await hands.press(Qt.Key.Key_R, modifiers)
        jobs = hands.program.models.jobs
        tell("pressed", where=name, runs=len(hands.runs()), busy=len(jobs.runs.state.busy), typed=form.isVisible())
    hands.panel("runs").setFocus()
    await hands.press(Qt.Key.Key_R)
    await hands.until(lambda: len(hands.runs()) == 2 and hands.runs()[0].state is not RunState.PREPARING)
    await hands.finished(2)
    assert Path(hands.runs()[0].spec.code_folder).is_dir()
    tell("meant", runs=len(hands.runs()))
    await hands.press(Qt.Key.Key_2, _CTRL)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(view.table.hasFocus)
    await hands.press(Qt.Key.Key_D, _CTRL)
    tell("found", **{words: await found_by(hands, words) for words in ("digits", "theme")})


async def fill_an_empty_bucket(by: Hands, folder: str) -> None:
    """A folder of this computer, from the list of buckets into one with nothing in it."""
    hands = Counted(by.program)
    await hands.until(hands.window.isActiveWindow)
    storage = (await hands.program.core.connections.open("lab")).storage
    await storage.create_bucket("empty")
    buckets = hands.panel("buckets")
    buckets.refresh()
    await hands.until(lambda: buckets.model.rowCount())
    buckets.setFocus()
    await hands.press(Qt.Key.Key_Down)
    hands.take()
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), BrowserView))
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    await hands.until(lambda: view.send_folder.isVisible() and view.browser.rows.shown.below)
    await hands.click(view.send_folder)
    hands.count += 1
    await hands.opened(QFileDialog)
    await hands.until(lambda: isinstance(hands.focused(), QLineEdit) and hands.focused().window().isModal())
    await hands.type(folder)
    await hands.accept()
    await hands.until(lambda: view.model.rowCount())
    tell("filled", acts=hands.take(), name=view.model.index(0, 0).data())


async def found_by(hands: Hands, words: str) -> list[str]:
    """What the palette finds, by the pictures of its kinds."""
    await hands.press(Qt.Key.Key_K, _CTRL)
    await hands.until(lambda: hands.visible(CommandPalette))
    [palette] = hands.visible(CommandPalette)
    await hands.type(words)
    rows = palette.list.model()
    entries = [rows.index(row, 0).data(Qt.ItemDataRole.UserRole) for row in range(rows.rowCount())]
    await hands.press(Qt.Key.Key_Escape)
    return sorted({entry.icon for entry in entries})
