"""Jobs that are submitted, watched, and left behind by a window that ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from hands import Hands, log_words, tell
from PySide6.QtCore import Qt
from sample_form import (
    bar_words,
    field_edit,
    fill_in_sample,
    log_state,
    outputs_of,
    place_of,
    set_parameter,
    state_of,
    stay,
    submit_sample,
)

from traindeck.domain.jobs.job import RunState
from traindeck.domain.texts import say
from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.ui.shell.command_palette import CommandPalette
from traindeck.ui.shell.welcome_page import WelcomePage
from traindeck.viewmodels.jobs.runs.run_page import OUTPUTS, SUB_PAGES


async def sample_twice(hands: Hands, epochs: str, who: str) -> None:
    """The first minute by hand; `who` presses Submit and R: these hands, or somebody outside."""
    tell("window", id=int(hands.window.winId()))
    await hands.until(hands.window.isActiveWindow)
    await fill_in_sample(hands)
    await set_parameter(hands, "epochs", epochs)
    submit = hands.panel("job").bar.submit
    if who == "outside":
        tell("submit wanted", **place_of(submit))
    else:
        await hands.click(submit)
    await hands.until(lambda: state_of(hands, 0))
    tell("sent", state=state_of(hands, 0))
    pane = hands.panel("log").pane
    await hands.until(lambda: f"epoch 1/{epochs} " in log_words(pane))
    tell("log", words=log_words(pane), in_log=log_state(hands), in_list=state_of(hands, 0))
    await hands.until(lambda: state_of(hands, 0) == log_state(hands) == "Completed")
    await hands.until(lambda: "finished: test_accuracy" in log_words(pane))
    page = hands.window.tabs.currentWidget()
    assert isinstance(page, RunPageView)
    await hands.click(page.tabs, page.tabs.tabRect(SUB_PAGES.index(OUTPUTS)).center())
    await hands.until(lambda: "metrics.json" in outputs_of(page))
    first = page.page.state.run
    rows = hands.panel("runs").rows
    await hands.choose_cell(rows, 0, 0)
    if who == "outside":
        tell("again wanted", **place_of(rows.viewport()))
    else:
        await hands.press(Qt.Key.Key_R)
    await hands.until(lambda: rows.model().rowCount() == 2)
    await hands.until(lambda: state_of(hands, 0) == state_of(hands, 1) == log_state(hands) == "Completed")
    assert hands.window.tabs.currentWidget() is page, "one tab follows the run that is selected"
    await hands.until(lambda: page.page.state.run != first and "metrics.json" in outputs_of(page))
    await tell_runs(hands)


async def submit_and_stay(hands: Hands, epochs: str) -> None:
    """A job under way, then somebody outside decides."""
    await submit_sample(hands, epochs)
    await stay(hands)


async def glance(hands: Hands) -> None:
    """Open and leave, while the Lab is only starting."""
    tell("seen", visible=hands.window.isVisible())


async def open_dialog_and_stay(hands: Hands) -> None:
    """A question is open when the program is told to end."""
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), WelcomePage))
    welcome = hands.window.tabs.currentWidget()
    assert isinstance(welcome, WelcomePage)
    await hands.click(welcome.account)
    await hands.until(lambda: hands.dialog() is not None)
    await stay(hands)


async def submit_only(hands: Hands, epochs: str) -> None:
    """Press Submit and wait; what comes of it is seen from outside."""
    await fill_in_sample(hands)
    await set_parameter(hands, "epochs", epochs)
    await hands.click(hands.panel("job").bar.submit)
    tell("pressed")
    await stay(hands)


async def watch_to_the_end(hands: Hands, wanted: str, phase: str) -> None:
    """What the list shows becomes `wanted`; the log is opened and told once it holds its last line."""
    runs = hands.panel("runs")
    await hands.until(lambda: runs.rows.model().rowCount() > 0)
    tell("first seen", state=state_of(hands, 0))
    await hands.until(lambda: state_of(hands, 0) == wanted)
    await hands.choose_cell(runs.rows, 0, 0)
    await hands.click(hands.window.menus.toolbar.widgetForAction(hands.window.menus.actions["run.log"]))
    log = hands.panel("log")
    await hands.until(lambda: log_state(hands) == wanted)
    await hands.until(lambda: f"the job ends as {phase}" in log_words(log.pane))
    tell("log", words=log_words(log.pane))
    await tell_runs(hands)


async def outlive_the_lab(hands: Hands, epochs: str) -> None:
    """The Lab is killed from outside; the run ends, and the window is still a window."""
    await submit_sample(hands, epochs)
    await hands.until(lambda: state_of(hands, 0) not in ("Running", "Pending", ""))
    log = hands.panel("log")
    await hands.until(lambda: log_state(hands) == state_of(hands, 0))
    await hands.until(lambda: "started again" in log_words(log.pane).splitlines()[-1])
    page = hands.window.tabs.currentWidget()
    assert isinstance(page, RunPageView)
    events = [say(one.title) for one in hands.program.models.notices.journal.entries]
    tell("over", state=state_of(hands, 0), log=log_words(log.pane), reason=hands.texts(page), events=events)
    await hands.choose_cell(hands.panel("runs").rows, 0, 0)
    await hands.press(Qt.Key.Key_R)
    await hands.until(lambda: hands.panel("runs").rows.model().rowCount() == 2)
    await hands.until(lambda: f"epoch 1/{epochs} " in log_words(log.pane) and log_state(hands) == "Running")
    tell("again", state=state_of(hands, 0))


async def quit_by_question(hands: Hands, epochs: str, answer: str) -> None:
    """Close the window as the window system does, and answer what it asks."""
    await submit_sample(hands, epochs)
    hands.program.status = 0
    hands.window.close()
    dialog = await hands.dialog_saying("Active runs in the Lab: 1")
    tell("asked", words=hands.texts(dialog))
    button = hands.button(answer, dialog)
    tell("leaving")
    await hands.click(button)
    await asyncio.Event().wait()


async def quit_while_counting(hands: Hands, epochs: str, live: str) -> None:
    """Run again on an account that is charged, then Ctrl+Q within the seconds that are counted."""
    await fill_in_sample(hands)
    await set_parameter(hands, "epochs", epochs)
    await hands.click(hands.panel("job").bar.submit)
    await hands.until(lambda: state_of(hands, 0) == ("Running" if live else "Completed"))
    runs = hands.program.models.jobs.runs
    paid = replace(runs.state.runs[0], id="paid", name="paid", profile="campus", job_id="", state=RunState.COMPLETED)
    await hands.program.core.records.add(paid)
    runs.refresh()
    rows = hands.panel("runs").rows
    await hands.until(lambda: rows.model().rowCount() == 2)
    row = [run.id for run in runs.state.runs].index("paid")
    await hands.choose_cell(rows, row, 0)
    await hands.press(Qt.Key.Key_R)
    strip = hands.program.workspace.jobs.strip
    await hands.until(strip.isVisible)
    hands.program.status = 0
    await hands.press(Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    await hands.until(lambda: hands.dialog() is not None)
    dialog = hands.dialog()
    assert dialog is not None and runs.again.countdown is not None
    await hands.until(dialog.isActiveWindow)
    tell("asked", words=hands.texts(dialog), held=runs.again.countdown.is_held)
    await hands.press(Qt.Key.Key_Escape)
    await hands.until(lambda: hands.dialog() is None)
    tell("stays", strip=hands.texts(strip))
    hands.window.close()
    await hands.until(lambda: hands.dialog() is not None)
    await hands.click(hands.button("Stop them and quit" if live else "Quit", hands.dialog()))
    await asyncio.Event().wait()


async def read_the_bar(hands: Hands, words: str) -> None:
    """The notice bar says it; the program still answers a key."""
    await hands.until(lambda: words in bar_words(hands))
    tell("said", bar=bar_words(hands), words=hands.texts())
    await hands.press(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    await hands.until(lambda: hands.visible(CommandPalette))
    await hands.press(Qt.Key.Key_Escape)
    await hands.until(lambda: not hands.visible(CommandPalette))


async def submit_in_vain(hands: Hands, words: str, field: str = "", value: str = "", go: str = "") -> None:
    """Submit what cannot be sent, once the file `go` is there; the window says why and stays a window."""
    await fill_in_sample(hands)
    form = hands.panel("job")
    if field:
        await hands.fill(field_edit(form.fields[field]), value)
    if go:
        tell("ready")
        await hands.until(Path(go).exists)
    await hands.click(form.bar.submit)
    await hands.until(lambda: words in hands.texts() and form.bar.submit.isEnabled())
    tell("said", words=hands.texts(), bar=bar_words(hands))
    await hands.press(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    await hands.until(lambda: hands.visible(CommandPalette))
    tell("listed", states=[state_of(hands, row) for row in range(9) if state_of(hands, row)])


async def tell_runs(hands: Hands) -> None:
    """What the records hold, newest first."""
    tell(
        "runs",
        runs=[
            {
                "id": run.id,
                "name": run.name,
                "job_id": run.job_id,
                "state": run.state.value,
                "bundle": run.bundle,
                "outputs": [channel.place for channel in run.filled_spec.outputs],
                "parent": run.resubmission_of,
            }
            for run in await hands.program.core.records.all(100)
        ],
    )
