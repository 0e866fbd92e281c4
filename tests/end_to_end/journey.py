"""Runs the real program with a person inside: `journey.py NAME [WORD…]`; what happens is told in lines of JSON."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from counted import change_one_value, come_again, count_what_is_done, press_r_everywhere
from disk_watch import disk_watched
from hands import Hands, plain, tell
from leaving import find_open, leave_open
from looking import look_and_edit
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QLineEdit, QMenu, QMenuBar, QPushButton, QScrollArea, QToolButton, QWidget
from reopening import open_old_home
from tour.walk import tour

from traindeck.bootstrap import Program, run_program
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import spoken
from traindeck.ui.accounts.profile_dialog import ProfileDialog
from traindeck.ui.jobs.run_page_view import RunPageView
from traindeck.ui.kit.dialogs import Question
from traindeck.ui.kit.pair_table import PairTable
from traindeck.ui.kit.property_dialog import PropertyDialog
from traindeck.ui.kit.theme import DARK_COLORS
from traindeck.ui.lab.lab_page_view import LabPageView
from traindeck.ui.shell.command_palette import CommandPalette
from traindeck.ui.shell.welcome_page import WelcomePage
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.bucket_rules_pages import BucketTagsPage
from traindeck.ui.transfers.sync_dialog import SyncDialog
from traindeck.viewmodels.jobs.run_page import OUTPUTS, SUB_PAGES, state_words

Journey = Callable[..., Awaitable[None]]


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
    await hands.until(lambda: f"epoch 1/{epochs} " in pane.toPlainText())
    tell("log", words=pane.toPlainText(), in_log=log_state(hands), in_list=state_of(hands, 0))
    await hands.until(lambda: state_of(hands, 0) == log_state(hands) == "Completed")
    await hands.until(lambda: "finished: test_accuracy" in pane.toPlainText())
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
    await hands.until(lambda: f"the job ends as {phase}" in log.pane.toPlainText())
    tell("log", words=log.pane.toPlainText())
    await tell_runs(hands)


async def outlive_the_lab(hands: Hands, epochs: str) -> None:
    """The Lab is killed from outside; the run ends, and the window is still a window."""
    await submit_sample(hands, epochs)
    await hands.until(lambda: state_of(hands, 0) not in ("Running", "Pending", ""))
    log = hands.panel("log")
    await hands.until(lambda: log_state(hands) == state_of(hands, 0))
    await hands.until(lambda: "started again" in log.pane.toPlainText().splitlines()[-1])
    page = hands.window.tabs.currentWidget()
    assert isinstance(page, RunPageView)
    tell("over", state=state_of(hands, 0), log=log.pane.toPlainText(), reason=page.note.text())
    await hands.choose_cell(hands.panel("runs").rows, 0, 0)
    await hands.press(Qt.Key.Key_R)
    await hands.until(lambda: hands.panel("runs").rows.model().rowCount() == 2)
    await hands.until(lambda: f"epoch 1/{epochs} " in log.pane.toPlainText() and log_state(hands) == "Running")
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


async def connect(hands: Hands, access_key: str, project: str, obs: str, modelarts: str, iam: str) -> None:
    """Add an account by hand, for this session where there is no keyring, and see what the services say."""
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), WelcomePage))
    welcome = hands.window.tabs.currentWidget()
    assert isinstance(welcome, WelcomePage)
    await hands.click(welcome.account)
    await hands.until(lambda: isinstance(hands.dialog(), ProfileDialog))
    dialog = hands.dialog()
    assert isinstance(dialog, ProfileDialog)
    await hands.click(dialog.more)
    typed = {
        "name": "campus", "access_key": access_key, "secret_key": os.environ["SECRET_KEY"], "project_id": project,
        "obs_endpoint": obs, "modelarts_endpoint": modelarts, "iam_endpoint": iam,
    }  # fmt: skip
    await fill_account(hands, dialog, typed)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: dialog.error.text() and dialog.save.isEnabled())
    tell("kept", error=dialog.error.text(), buttons=[button.text() for button in hands.visible(QPushButton, dialog)])
    await hands.click(dialog.session)
    await hands.until(dialog.use_anyway.isVisible)
    await hands.bring_into_view(dialog.more, dialog.area)
    await hands.click(dialog.more)
    facts = [label for label in dialog.checks.findChildren(QLabel) if label.text()]
    await hands.until(lambda: all(_is_in_sight(label) for label in facts))
    tell("checked", facts=[label.text() for label in facts], keys_in_sight=typed["secret_key"] in hands.texts(dialog))
    accounts, form = hands.program.models.accounts.accounts, hands.program.models.jobs.form
    assert accounts.is_lab, "it is not in use before its checks passed or the user said so"
    await hands.click(dialog.use_anyway)
    await hands.until(lambda: accounts.current == "campus")
    await hands.press(Qt.Key.Key_Escape)
    await hands.until(lambda: hands.dialog() is None)
    assert form.state.profile == "lab", "where a job goes is for the user to say"
    form.choose_profile("campus")
    offer = hands.panel("job").page.offer
    await hands.until(lambda: offer.text() or hands.panel("job").page.engine.count())
    tell("form", offer=offer.text(), target=hands.panel("job").page.profile.currentText())


async def empty_the_lab(hands: Hands) -> None:
    """The page of the Lab by way of the status bar; stop, start, empty; then a new run of the sample."""
    await submit_sample(hands, "29")
    buckets = hands.panel("buckets")
    await hands.until(lambda: buckets.model.rowCount() == 1)
    place = hands.window.statusBar().findChild(QToolButton, "status.lab")
    await hands.click(place)
    page = hands.window.tabs.currentWidget()
    assert isinstance(page, LabPageView)

    async def press(button: QWidget) -> None:
        await hands.bring_into_view(button, page.findChildren(QScrollArea)[0])
        await hands.click(button)

    await hands.until(lambda: facts_of(page).get("Buckets") == "1" and facts_of(page)["Jobs"] == "1, active: 1")
    await hands.until(lambda: facts_of(page)["Size on disk"].endswith("B") and page.counted.text())
    await press(page.folder.button)
    tell("seen", facts=facts_of(page), chip=page.chip.text(), obs=page.obs.value.text(), copied=clipboard_words())
    await press(page.empty)
    dialog = await hands.dialog_saying("Empty the Lab?")
    await hands.press(Qt.Key.Key_Return)  # too early: means Cancel
    await hands.until(lambda: hands.dialog() is None)
    await press(page.empty)
    dialog = await hands.dialog_saying("Empty the Lab?")
    tell("asked", words=hands.texts(dialog))
    await hands.click(hands.button("Empty the Lab", dialog))
    await hands.until(lambda: facts_of(page).get("Buckets") == "0" and page.chip.text() == "Running")
    await hands.until(lambda: buckets.model.rowCount() == 0 and "No buckets yet." in hands.texts())
    await hands.until(lambda: state_of(hands, 0) == log_state(hands) == "Stopped")
    log = hands.panel("log").pane.toPlainText()
    tell("emptied", facts=facts_of(page), bar=bar_words(hands), log=log)
    await press(page.stop)
    await hands.until(lambda: page.chip.text() == "Not running" and place.text() == "Lab (not running)")
    buckets.refresh()
    await hands.until(lambda: "The Lab is stopped." in hands.texts(buckets))
    await press(page.start)
    await hands.until(lambda: page.chip.text() == "Running" and place.text() == "Lab on this computer")
    await hands.until(lambda: "No buckets yet." in hands.texts(buckets))
    await hands.click(hands.window.menus.toolbar.widgetForAction(hands.window.menus.actions["job.sample"]))
    await hands.until(lambda: buckets.model.rowCount() == 1)
    parameters = hands.panel("job").fields["parameters"].editor
    await hands.until(lambda: ("epochs", "29") not in parameters.pairs.rows)
    hands.window.activateWindow()  # what a window manager does for a person once a dialog is closed
    await set_parameter(hands, "epochs", "1")
    await hands.click(hands.panel("job").bar.submit)
    await hands.until(lambda: state_of(hands, 1) == "Stopped" and state_of(hands, 0) == "Completed")
    tell("again", states=[state_of(hands, row) for row in range(2)])


async def look_at_the_lab(hands: Hands) -> None:
    """By the menu; what can be pressed is told."""
    await hands.choose("Account", "The Lab…")
    page = hands.window.tabs.currentWidget()
    assert isinstance(page, LabPageView)
    await hands.until(lambda: page.chip.text() == "Running")
    acts = (page.start, page.stop, page.empty)
    tell("seen", words=hands.texts(page), open=[button.text() for button in acts if button.isEnabled()])
    await hands.choose("View", "Language", "简体中文")
    await hands.until(lambda: "运行中" in hands.texts(hands.window.tabs.currentWidget()))
    assert isinstance(hands.window.tabs.currentWidget(), LabPageView)


async def own_account(hands: Hands, access_key: str, region: str, obs: str, modelarts: str, iam: str) -> None:
    """From the button that is always in sight to an account in use; each act of the user is counted."""
    acts: list[str] = []

    async def act(what: str, doing: Awaitable[None]) -> None:
        acts.append(what)
        await doing

    toolbar, actions = hands.window.menus.toolbar, hands.window.menus.actions
    await act("connect", hands.click(toolbar.widgetForAction(actions["account.connect"])))
    await hands.until(lambda: isinstance(hands.dialog(), ProfileDialog))
    dialog = hands.dialog()
    assert isinstance(dialog, ProfileDialog)
    # The cloud of this test is elsewhere than the real one; nobody has to say so of that.
    for name, place in {"obs_endpoint": obs, "modelarts_endpoint": modelarts, "iam_endpoint": iam}.items():
        dialog.form.set(name, place)
    QGuiApplication.clipboard().setText(f"{access_key}\n{os.environ['SECRET_KEY']}")
    await hands.until(lambda: dialog.fields["access_key"].hasFocus())
    await act("paste both keys", hands.press(Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier))
    edit = dialog.region.lineEdit()
    assert edit is not None
    edit.selectAll()
    await act("go to the region", hands.press(Qt.Key.Key_Backtab))
    await act("type it", hands.type(region))
    await hands.until(dialog.session.isVisible)
    await act("keep for this session, as there is no keyring", hands.click(dialog.session))
    await hands.until(lambda: hands.program.models.accounts.accounts.current == "account")
    await act("close", hands.press(Qt.Key.Key_Escape))
    await hands.until(lambda: hands.dialog() is None)
    QGuiApplication.clipboard().clear()
    tell("in use", acts=acts, status=hands.program.models.status.state.profile is not None)


async def lose_keys(hands: Hands, access_key: str, obs: str, modelarts: str, iam: str, rotated: str) -> None:
    """The keys of an account become others once `rotated` is there: one banner, and everything goes on."""
    hands.program.workspace.accounts.connect_account()
    await hands.until(lambda: isinstance(hands.dialog(), ProfileDialog))
    dialog = hands.dialog()
    assert isinstance(dialog, ProfileDialog)
    await hands.click(dialog.more)
    typed = {
        "name": "campus", "access_key": access_key, "secret_key": os.environ["SECRET_KEY"],
        "obs_endpoint": obs, "modelarts_endpoint": modelarts, "iam_endpoint": iam,
    }  # fmt: skip
    await fill_account(hands, dialog, typed)
    await hands.click(dialog.session)
    await hands.click(dialog.use_anyway)  # the Lab has no project in the region of the form
    await hands.until(lambda: hands.program.models.accounts.accounts.current == "campus" and dialog.save.isEnabled())
    tell("connected", words=hands.texts(dialog))
    await hands.press(Qt.Key.Key_Escape)
    await hands.until(lambda: hands.dialog() is None)
    await hands.until(Path(rotated).exists)
    hands.program.models.storage.buckets.refresh()
    bar = hands.window.notice_bar
    await hands.until(lambda: bar.isVisible() and "rejected" in bar.title.text())
    tell("refused", title=bar.title.text(), hint=bar.hint.text(), button=bar.mending.text(),
         notices=len(hands.program.models.notices.conditions))  # fmt: skip
    await hands.click(bar.mending)
    await hands.until(lambda: isinstance(hands.dialog(), ProfileDialog))
    again = hands.dialog()
    assert isinstance(again, ProfileDialog)
    await hands.fill(again.fields["access_key"], "LAB" + access_key[:2:-1])
    await hands.fill(again.fields["secret_key"], os.environ["SECRET_KEY"][::-1])
    await hands.click(again.session)
    await hands.until(lambda: "The credential is valid." in hands.texts(again) and again.save.isEnabled())
    await hands.press(Qt.Key.Key_Escape)
    await hands.until(lambda: not hands.program.models.notices.conditions)
    tell("accepted", words=hands.texts())


async def fill_account(hands: Hands, dialog: ProfileDialog, typed: dict[str, str]) -> None:
    for name, words in typed.items():
        edit = dialog.fields[name]
        if dialog.more_box.isAncestorOf(edit):
            await hands.bring_into_view(edit, dialog.area)
        await hands.fill(edit, words)


async def switch_language(hands: Hands) -> None:
    """A half-filled form, an open run, a moved window; then the other language, and back."""
    await fill_in_sample(hands)
    await set_parameter(hands, "epochs", "1")
    await hands.click(hands.panel("job").bar.submit)
    await hands.until(lambda: state_of(hands, 0) == log_state(hands) == "Completed")
    name_edit = field_edit(hands.panel("job").fields["name"])
    await hands.bring_into_view(name_edit, hands.panel("job").scroll_area)
    await hands.fill(name_edit, "mine")
    hands.window.setGeometry(37, 41, 1100, 700)
    await hands.until(lambda: hands.window.width() == 1100)
    await hands.until(lambda: "the job ends as Completed" in hands.panel("log").pane.toPlainText())
    tell("before", **picture_of(hands))
    await hands.choose("View", "Language", "简体中文")
    await hands.until(lambda: "视图" in hands.texts())
    await hands.until(lambda: "Loading…" not in hands.texts())
    tell("after", **picture_of(hands))
    await hands.choose("视图", "语言", "English")
    await hands.until(lambda: "View" in hands.texts())
    tell("back", **picture_of(hands))


async def switch_with_dialogs(hands: Hands, folder: str) -> None:
    """A folder is synchronized beside its open tab; then the language changes while dialogs still read and plan."""
    program, place = hands.program, ObjectPath("team-data", "photos/")
    await (await program.core.connections.open("lab")).storage.create_bucket(place.bucket)
    program.workspace.storage.open_bucket(place)
    await hands.until(lambda: hands.window.findChildren(BrowserView))
    view = hands.window.findChildren(BrowserView)[0]
    dialog = await plan_sync(hands, view, folder)
    await hands.click(dialog.begin)
    await hands.until(lambda: view.model.rowCount())
    tell("arrived", names=[view.model.index(row, 0).data() for row in range(view.model.rowCount())])
    (Path(folder) / "later.txt").write_text("later", "utf-8")
    await plan_sync(hands, view, folder)
    settings = program.workspace.storage.settings.show("lab", place.bucket)
    for row in range(settings.list.count()):
        settings.list.setCurrentRow(row)
    await hands.until(settings.isActiveWindow)
    program.models.storage.removals.remove("lab", [place.bucket], program.workspace.shell.confirm_loss)
    await hands.until(lambda: settings.findChildren(Question))
    tell("asked", over=settings.findChildren(Question)[0].parent() is settings)
    settings.findChildren(Question)[0].reject()
    await hands.until(lambda: not settings.findChildren(Question))
    program.models.preferences.choose_language("zh_CN")
    await hands.until(lambda: "视图" in hands.texts())
    await hands.until(lambda: len(program.core.transfers.rows()) == 1)
    await hands.until(lambda: not hands.window.findChildren(PropertyDialog))
    tell("after", transfers=[row.state.value for row in program.core.transfers.rows()])


async def switch_with_draft(hands: Hands, folder: str) -> None:
    """The language is changed while a dialog holds what is not saved and another what was only typed."""
    program, place = hands.program, ObjectPath("team-data", "photos/")
    await (await program.core.connections.open("lab")).storage.create_bucket(place.bucket)
    program.workspace.storage.open_bucket(place)
    await hands.until(lambda: hands.window.findChildren(BrowserView))
    hands.window.commands.run("object.sync")
    await hands.until(lambda: hands.window.findChildren(SyncDialog))
    sync = hands.window.findChildren(SyncDialog)[0]
    sync.folder.setText(folder)
    sync.compare.setCurrentIndex(2)
    sync.delete.setChecked(True)
    sync.ignore.setPlainText("*.tmp")
    settings = program.workspace.storage.settings.show("lab", place.bucket, "Tags")
    await hands.until(settings.reload_button.isEnabled)
    page = settings.current.page
    assert isinstance(page, BucketTagsPage)
    page.table.pairs.setData(page.table.pairs.index(0, 0), "team")
    await hands.until(settings.has_changes)
    program.models.preferences.choose_language("zh_CN")
    await hands.until(lambda: settings.findChildren(Question))
    tell("asked", words=hands.texts(settings.findChildren(Question)[0]))
    settings.findChildren(Question)[0].reject()
    await hands.until(hands.window.notice_bar.isVisible)
    tell(
        "waits",
        words=hands.texts(),
        notice=hands.window.notice_bar.accessibleName(),
        spoken=spoken(),
        rows=page.table.pairs.rows,
    )
    program.models.preferences.choose_language("en")
    await hands.until(lambda: not hands.window.notice_bar.isVisible())
    program.models.preferences.choose_language("zh_CN")
    await hands.until(lambda: settings.findChildren(Question))
    settings.findChildren(Question)[0].reject()
    await hands.until(hands.window.notice_bar.isVisible)
    settings.reject()
    await hands.until(lambda: settings.findChildren(Question))
    await hands.click(hands.button("Discard", settings.findChildren(Question)[0]))
    await hands.until(lambda: "视图" in hands.texts())
    await hands.until(lambda: hands.window.findChildren(SyncDialog))
    again = hands.window.findChildren(SyncDialog)[0]
    tell(
        "after",
        words=hands.texts(),
        spoken=spoken(),
        notice=hands.window.notice_bar.isVisible(),
        title=again.windowTitle(),
        typed=[again.folder.text(), again.compare.currentIndex(), again.delete.isChecked(), again.ignore.toPlainText()],
    )


async def use_without_the_disk(hands: Hands, folder: str) -> None:
    """An everyday round through the window, with an eye on the thread that draws it."""
    program, place = hands.program, ObjectPath("team-data", "photos/")
    workspace, form = program.workspace, program.models.jobs.form
    with disk_watched() as found:
        await submit_sample(hands, "1")
        await hands.until(lambda: state_of(hands, 0) == log_state(hands) == "Completed")
        hands.panel("log").find_bar.open_bar()
        hands.panel("log").find_bar.words.setText("epoch")
        await hands.until(lambda: hands.panel("log").find_bar.hits.text().startswith("Hits:"))
        hands.panel("log").find_bar.close_bar()
        program.models.jobs.log.show(form.state.origin or program.models.jobs.runs.state.runs[0])
        await hands.until(lambda: program.models.jobs.log.state.is_read)
        form.save_file(Path(folder) / "job.toml")
        await hands.until(lambda: form.state.file is not None)
        form.look_at_dragged(Path(folder))
        form.take_dropped(Path(folder) / "job.toml")
        await hands.until(lambda: not program.models.jobs.form.state.is_dirty)
        await (await program.core.connections.open("lab")).storage.create_bucket(place.bucket)
        workspace.storage.open_bucket(place)
        await hands.until(lambda: hands.window.findChildren(BrowserView))
        dialog = await plan_sync(hands, hands.window.findChildren(BrowserView)[0], folder)
        await hands.click(dialog.begin)
        await hands.until(lambda: any(row.state.value == "done" for row in program.core.transfers.rows()))
        settings = workspace.storage.settings.show("lab", place.bucket, "Tags")
        await hands.until(settings.reload_button.isEnabled)
        settings.close()
        program.models.preferences.choose_theme("dark")
        program.models.preferences.choose_language("zh_CN")
        await hands.until(lambda: "视图" in hands.texts())
        program.workspace.window.save_layout()
        await program.models.layout.keep(program.core.disk)
    tell("asked the disk", who=found)


async def read_the_menus(hands: Hands) -> None:
    """What stands where, in both languages; then the palette is used by somebody outside."""
    tell("window", id=int(hands.window.winId()))
    for language in ("en", "zh_CN"):
        window = hands.window
        commands = [
            {"id": one.id, "menu": one.menu, "contexts": list(one.contexts), "keys": one.shortcut, "scope": one.scope}
            for one in window.commands.all()
        ]
        tell("menus", commands=commands, menus=_entries(window.menuBar()))
        hands.program.models.preferences.choose_language("zh_CN" if language == "en" else "en")
        await hands.until(lambda window=window: hands.window is not window and hands.window.is_painted)
    tell("window", id=int(hands.window.winId()))
    await hands.until(hands.window.isActiveWindow)
    await hands.until(lambda: hands.window.commands.all())
    tell("palette wanted")
    await hands.until(lambda: hands.program.theme.chosen == "dark")
    tell("done")


def _entries(menu: QMenuBar | QMenu, where: str = "") -> dict[str, list[str]]:
    """The entries of each menu below this one."""
    actions = [action for action in menu.actions() if not action.isSeparator()]
    found = {where: [action.text() for action in actions]}
    for action in actions:
        if isinstance(below := action.menu(), QMenu):
            found |= _entries(below, f"{where}/{plain(action.text())}")
    return found


async def plan_sync(hands: Hands, view: BrowserView, folder: str) -> SyncDialog:
    view.came.emit()  # the one that is meant
    hands.window.commands.run("object.sync")
    await hands.until(lambda: hands.window.findChildren(SyncDialog))
    dialog: SyncDialog = hands.window.findChildren(SyncDialog)[-1]
    dialog.folder.setText(folder)
    await hands.click(dialog.look)
    await hands.until(dialog.begin.isEnabled)
    return dialog


async def switch_theme(hands: Hands) -> None:
    """Dark and light by the menu, with the sample in the form."""
    await fill_in_sample(hands)
    for name in ("Light", "Dark", "Light"):
        await hands.choose("View", "Theme", name)
        await hands.until(lambda dark=name == "Dark": (hands.program.theme.colors is DARK_COLORS) == dark)
        image = hands.window.grab().toImage()
        form = hands.panel("job")
        spots = [QPoint(3, 3), form.mapTo(hands.window, QPoint(3, 3))]
        tell("theme", name=name, lightness=[image.pixelColor(spot).lightness() for spot in spots])


# what journeys are made of


async def fill_in_sample(hands: Hands) -> None:
    await hands.click(hands.window.menus.toolbar.widgetForAction(hands.window.menus.actions["job.sample"]))
    await hands.until(lambda: field_edit(hands.panel("job").fields["name"]).text() == "digits")
    await hands.until(lambda: hands.panel("job").bar.submit.isEnabled() and hands.panel("job").page.version.count() > 0)
    await hands.until(lambda: hands.panel("job").page.boot.count() > 0)


async def set_parameter(hands: Hands, name: str, value: str) -> None:
    """By typing into the table of the form."""
    form = hands.panel("job")
    table = form.fields["parameters"].editor
    assert isinstance(table, PairTable)
    await hands.bring_into_view(table, form.scroll_area)
    row = next(number for number, pair in enumerate(table.pairs.rows) if pair[0] == name)
    await hands.choose_cell(table, row, 1)
    await hands.choose_cell(table, row, 1, double=True)
    await hands.until(lambda: table.viewport().findChildren(QLineEdit))
    await hands.type(value)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: (name, value) in table.pairs.rows)


async def submit_sample(hands: Hands, epochs: str) -> None:
    await fill_in_sample(hands)
    await set_parameter(hands, "epochs", epochs)
    await hands.click(hands.panel("job").bar.submit)
    pane = hands.panel("log").pane
    await hands.until(lambda: f"epoch 1/{epochs} " in pane.toPlainText() and state_of(hands, 0) == "Running")
    tell("streams", words=pane.toPlainText())


async def stay(hands: Hands) -> None:
    """Until the program is ended from outside, which is no failure."""
    hands.program.status = 0
    tell("staying")
    await asyncio.Event().wait()


def state_of(hands: Hands, row: int) -> str:
    """What the chip of that row says."""
    runs = hands.program.models.jobs.runs.state.runs
    return state_words(runs[row]) if row < min(len(runs), hands.panel("runs").rows.model().rowCount()) else ""


def log_state(hands: Hands) -> str:
    return str(hands.panel("log").chip.text())


def facts_of(page: LabPageView) -> dict[str, str]:
    labels = [label.text() for facts in (page.disk_usage, page.facts) for label in facts.findChildren(QLabel)]
    return dict(zip(labels[::2], labels[1::2], strict=True))


def clipboard_words() -> str:
    return QGuiApplication.clipboard().text()


def bar_words(hands: Hands) -> str:
    bar = hands.window.notice_bar
    return hands.texts(bar) if bar.isVisible() else ""


def field_edit(field: QWidget) -> QLineEdit:
    return field.findChildren(QLineEdit)[0]


def _is_in_sight(widget: QWidget) -> bool:
    return widget.visibleRegion().boundingRect() == widget.rect()


def outputs_of(page: RunPageView) -> list[str]:
    model = page.outputs.model
    return [model.row(number)[0] for number in range(model.rowCount())]


def place_of(widget: QWidget) -> dict[str, int]:
    place: QPoint = widget.mapToGlobal(widget.rect().center())
    return {"x": place.x(), "y": place.y()}


def picture_of(hands: Hands) -> dict[str, object]:
    window = hands.window
    place = window.geometry()
    return {
        "words": hands.texts(),
        "tabs": window.open_tabs(),
        "current": window.current_tab(),
        "name": field_edit(hands.panel("job").fields["name"]).text(),
        "parameters": hands.panel("job").fields["parameters"].editor.pairs.rows,
        "place": [place.x(), place.y(), place.width(), place.height()],
        "log": hands.panel("log").pane.toPlainText(),
    }


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


async def browse(hands: Hands, bucket: str, count: str) -> None:
    """Look into a bucket of many objects while it is listed: sort it, scroll, choose all, search."""
    workspace = hands.program.workspace
    await hands.until(hands.window.isActiveWindow)
    await hands.until(lambda: hands.panel("buckets").model.rowCount())
    tree = hands.panel("buckets").rows
    row = tree.visualRect(tree.model().index(0, 0)).center()
    await hands.click(tree.viewport(), row)
    await hands.click(tree.viewport(), row, double=True)
    await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), BrowserView))
    view = hands.window.tabs.currentWidget()
    assert isinstance(view, BrowserView)
    browser, table = workspace.storage.browsers.browser(bucket), view.table
    await hands.until(lambda: browser.rows.shown.count)
    folder = table.visualRect(view.model.index(1, 0)).center()
    await hands.click(table.viewport(), folder)
    await hands.press(Qt.Key.Key_Return)
    await hands.until(lambda: browser.state.place.key == "images/" and browser.rows.shown.look.folder == "images/")
    tell("first rows", rows=browser.rows.shown.count, name=view.model.index(0, 0).data())
    header = table.horizontalHeader()
    heads = [QPoint(header.sectionViewportPosition(column) + 12, header.height() // 2) for column in range(4)]
    await hands.click(header.viewport(), heads[1])  # sorted anew with every page that comes
    bar = table.verticalScrollBar()
    while not (browser.rows.shown.count == int(count) and browser.rows.shown.below):
        bar.setValue((bar.value() + bar.maximum() // 7 + 5) % max(1, bar.maximum()))
        await asyncio.sleep(0.01)
    tell("listed", words=view.footing.text())
    sizes = []
    for descending in (False, True):
        await hands.until(lambda descending=descending: browser.rows.shown.look.descending is descending)
        bar.setValue(0)
        await hands.until(lambda: browser.rows.row(0))
        sizes.append(view.model.index(0, 1).data())
        await hands.click(header.viewport(), heads[1])
    await hands.press(Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    tell("chosen", rows=table.count_selected(), smallest=sizes[0], largest=sizes[1])
    await hands.click(view.search)
    await hands.until(lambda: view.search.hasFocus())
    await hands.type("0199 JPG")
    await hands.until(lambda: browser.rows.shown.look.search == "0199 JPG")
    await hands.until(lambda: view.footing.text().count("found"))
    tell("found", rows=browser.rows.shown.count, name=view.model.index(0, 0).data(), words=view.footing.text())


JOURNEYS: dict[str, Journey] = {
    journey.__name__: journey
    for journey in (
        sample_twice, glance, open_dialog_and_stay, submit_and_stay, submit_only, watch_to_the_end, outlive_the_lab,
        quit_by_question, read_the_bar, submit_in_vain, connect, own_account, lose_keys, empty_the_lab, look_at_the_lab,
        switch_language, switch_theme, switch_with_dialogs, switch_with_draft, use_without_the_disk,
        browse, look_and_edit, open_old_home, read_the_menus, leave_open, find_open,
        count_what_is_done, change_one_value, press_r_everywhere, come_again,
        tour,
    )
}  # fmt: skip


async def visit(name: str, words: list[str], program: Program) -> int:
    await JOURNEYS[name](Hands(program), *words)
    return 0


if __name__ == "__main__":
    journey_name, *rest = sys.argv[1:]
    # An old home brings the language it was left in.
    language = "" if journey_name == open_old_home.__name__ else "en"
    sys.exit(run_program(Namespace(language=language, theme=None, opens=[]), partial(visit, journey_name, rest)))
