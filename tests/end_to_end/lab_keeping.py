"""The Lab looked at, emptied, and used without the disk."""

from __future__ import annotations

from pathlib import Path

from disk_watch import disk_watched
from hands import Hands, log_words, tell
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QScrollArea, QToolButton, QWidget
from sample_form import bar_words, clipboard_words, log_state, set_parameter, state_of, submit_sample
from switching import plan_sync

from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.lab.lab_page_view import LabPageView
from traindeck.ui.storage.browser_view import BrowserView


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
    log = log_words(hands.panel("log").pane)
    tell("emptied", facts=facts_of(page), bar=bar_words(hands), log=log)
    await press(page.stop)
    await hands.until(lambda: page.chip.text() == "Not running" and place.text() == "Lab (not running)")
    buckets.refresh()
    await hands.until(lambda: "The Lab is stopped." in hands.texts(buckets))
    await press(page.start)
    await hands.until(lambda: page.chip.text() == "Running" and place.text() == "Lab on this computer")
    await hands.until(lambda: "No buckets yet." in hands.texts(buckets))
    await hands.choose("Job", "Sample project")
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


def facts_of(page: LabPageView) -> dict[str, str]:
    labels = [label.text() for facts in (page.disk_usage, page.facts) for label in facts.findChildren(QLabel)]
    return dict(zip(labels[::2], labels[1::2], strict=True))


async def stop_without_a_disk(hands: Hands) -> None:
    """The run is in the list and can be stopped, though nothing of it can be written."""
    await hands.until(lambda: "cannot be written" in bar_words(hands))
    await hands.until(lambda: state_of(hands, 0) == "Running")
    tell("listed", bar=bar_words(hands), state=state_of(hands, 0))
    core = hands.program.core
    (run,) = await core.records.live()
    await core.run_service.stop(run.id)
    await hands.until(lambda: state_of(hands, 0) == "Stopped")
    tell("stopped")
