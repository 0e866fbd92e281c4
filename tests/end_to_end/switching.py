"""Another language or theme, in the middle of things."""

from __future__ import annotations

from pathlib import Path

from hands import Hands, log_words, tell
from PySide6.QtCore import QPoint
from sample_form import field_edit, fill_in_sample, log_state, picture_of, set_parameter, state_of

from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import spoken
from traindeck.ui.kit.dialogs import Question
from traindeck.ui.kit.property_dialog import PropertyDialog
from traindeck.ui.kit.theme import DARK_COLORS, LIGHT_COLORS
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.bucket_rules_pages import BucketTagsPage
from traindeck.ui.transfers.sync_dialog import SyncDialog


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
    await hands.until(lambda: "the job ends as Completed" in log_words(hands.panel("log").pane))
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
    question = await hands.opened(Question)
    tell("asked", over=question.parent() is settings)
    question.reject()
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
    sync = await hands.opened(SyncDialog)
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
    question = await hands.opened(Question)
    tell("asked", words=hands.texts(question))
    question.reject()
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
    question = await hands.opened(Question)
    question.reject()
    await hands.until(hands.window.notice_bar.isVisible)
    settings.reject()
    question = await hands.opened(Question)
    await hands.click(hands.button("Discard", question))
    await hands.until(lambda: "视图" in hands.texts())
    again = await hands.opened(SyncDialog)
    tell(
        "after",
        words=hands.texts(),
        spoken=spoken(),
        notice=hands.window.notice_bar.isVisible(),
        title=again.windowTitle(),
        typed=[again.folder.text(), again.compare.currentIndex(), again.delete.isChecked(), again.ignore.toPlainText()],
    )


async def plan_sync(hands: Hands, view: BrowserView, folder: str) -> SyncDialog:
    view.came.emit()  # the one that is meant
    hands.window.commands.run("object.sync")
    dialog: SyncDialog = await hands.opened(SyncDialog)
    dialog.folder.setText(folder)
    await hands.click(dialog.look)
    await hands.until(dialog.begin.isEnabled)
    return dialog


async def switch_theme(hands: Hands) -> None:
    """Dark and light by the menu, with the sample in the form."""
    await fill_in_sample(hands)
    for name in ("Light", "Dark", "Light"):
        await hands.choose("View", "Theme", name)
        colors = DARK_COLORS if name == "Dark" else LIGHT_COLORS
        # A window is not painted while one look replaces the other, and what it is between the two nobody sees.
        await hands.until(lambda colors=colors: hands.program.theme.colors is colors and hands.window.updatesEnabled())
        image = hands.window.grab().toImage()
        form = hands.panel("job")
        spots = [QPoint(3, 3), form.mapTo(hands.window, QPoint(3, 3))]
        tell("theme", name=name, lightness=[image.pixelColor(spot).lightness() for spot in spots])
