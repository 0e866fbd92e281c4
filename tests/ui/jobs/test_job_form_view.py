from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragMoveEvent, QGuiApplication, QWheelEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QLabel, QLineEdit, QPushButton, QWidget

from support.folder_cloud import (
    CPU,
    TORCH,
    TORCH_OLD,
    FolderCloud,
    code_folder,
    digits_spec,
    offline,
)
from support.panel_bench import drop, let_go, light_theme
from support.waiting import until
from traindeck.domain.jobs import job_file
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.job_spec import Channel, JobSpec
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.place_facts import PlaceService
from traindeck.ui.jobs.job_form_view import JobFormView
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.object_drag import mime_of
from traindeck.viewmodels.jobs.job_form import JobForm
from traindeck.viewmodels.jobs.place_notes import PlaceNotes
from traindeck.viewmodels.storage.moving import Carried

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


def said(notes: QWidget) -> str:
    return "\n".join(label.text() for label in notes.findChildren(QLabel) if label.isVisible())


class Bench:
    def __init__(self, cloud: FolderCloud, form: JobForm, view: JobFormView) -> None:
        self.cloud, self.form, self.view = cloud, form, view
        self.sent: list[Run] = []
        form.submitted.connect(self.sent.append)

    def editor(self, name: str) -> Any:
        return self.view._texts.get(name) or self.view.fields[name].editor

    def error(self, name: str) -> str:
        """What is said of this field over the button, as it is seen at the field itself."""
        field, checks = self.view.fields[name], self.view.checks
        items = [checks.item(row) for row in range(checks.count())]
        said = [one.text() for one in items if str(one.data(Qt.ItemDataRole.UserRole)).partition(":")[0] == name]
        assert field.editor.accessibleDescription() in ("", "\n".join(words.partition(" ")[2] for words in said))
        return field.editor.accessibleDescription()


@asynccontextmanager
async def bench(folder: Path, theme: Theme, qtbot: QtBot, spec: JobSpec | None = None) -> AsyncIterator[Bench]:
    async with FolderCloud(folder) as cloud:
        code = code_folder(folder / "code")
        form = JobForm(cloud.submission, cloud.choices, cloud.profiles, cloud.disk, cloud.scope, code)
        places = PlaceNotes(form, PlaceService(cloud.connections, cloud.planes), cloud.scope)
        view = JobFormView(form, places, theme)
        qtbot.addWidget(view)
        view.resize(380, 700)
        view.show()
        form.start()
        await until(lambda: form.state.offer)
        if spec is not None:
            form.load_spec(spec, code)
            await until(lambda: form.state.boot_files)
        yield Bench(cloud, form, view)


async def test_a_job_is_typed_and_submitted_by_hand(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        qtbot.keyClicks(on.editor("name"), "digits")
        assert drop(on.view, [tmp_path / "code"], QPoint(100, 200))
        await until(lambda: on.editor("boot").text() == "train.py")
        for box, words in ((on.view.engine, "PyTorch"), (on.view.flavor, CPU.id)):
            box.setFocus()
            qtbot.keyClicks(box, words[:3])
            box.activated.emit(box.currentIndex())
        assert on.form.state.spec.engine_version == TORCH.version
        qtbot.keyClicks(on.editor("stop_after"), "1h")
        table = on.view._tables["outputs"]
        for column, words in ((0, "train_url"), (1, "obs://digits/out/{run}/")):
            table.setCurrentIndex(table.pairs.index(0, column))
            qtbot.keyClick(table, Qt.Key.Key_Return)
            cell = table.viewport().findChildren(QLineEdit)[-1]
            qtbot.keyClicks(cell, words)
            qtbot.keyClick(cell, Qt.Key.Key_Return)
            await until(lambda: table.state() != QAbstractItemView.State.EditingState)
        qtbot.mouseClick(on.view.submit, Qt.MouseButton.LeftButton)
        await until(lambda: on.sent)
        assert on.sent[0].spec.outputs == (Channel("train_url", "obs://digits/out/{run}/"),)


async def test_five_clicks_and_the_key_make_one_job(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.cloud.jobs.wait = asyncio.Event()
        assert on.view.submit.text() == "Submit to the Lab"
        for _ in range(5):
            qtbot.mouseClick(on.view.submit, Qt.MouseButton.LeftButton)
        qtbot.keyClick(on.editor("name"), Qt.Key.Key_Return, CTRL)
        assert not on.view.submit.isEnabled()
        await until(lambda: on.view.stage.text() == "Submitting the job…")
        on.cloud.jobs.wait.set()
        await until(lambda: on.sent)
        assert not on.view.submit.isEnabled()  # a slow double click is one click
        await until(on.view.submit.isEnabled)
        assert len(on.cloud.jobs.jobs) == 1


async def test_control_enter_submits_from_any_field(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        places = (on.editor("name"), on.view.nodes, on.view.flavor, on.view._tables["parameters"])
        for count, place in enumerate(places, start=1):
            place.setFocus()
            qtbot.keyClick(place, Qt.Key.Key_Return, CTRL)
            await until(lambda count=count: len(on.sent) == count and on.form.state.stage is None)


async def test_mistakes_stand_over_the_button_and_the_first_gets_the_focus(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(stop_after="", environment=(("MA_X", "1"),))) as on:
        assert on.error("stop_after") == ""
        qtbot.mouseClick(on.view.submit, Qt.MouseButton.LeftButton)
        assert "Enter when to stop" in on.error("stop_after")
        assert "MA_X" in on.error("environment")
        assert on.view.more.button.isChecked(), "the field with the mistake is unfolded"
        on.view.more.unfold(False)
        assert on.view.window().focusWidget() in (on.view.stop_after, on.view.stop_after.lineEdit())
        qtbot.keyClicks(on.editor("stop_after"), "2d")
        assert on.error("stop_after") == ""
        qtbot.mouseClick(on.view.submit, Qt.MouseButton.LeftButton)
        assert on.view.more.button.isChecked() and not on.sent
        place, count = on.view.submit.pos(), on.view.checks.count()
        on.form.set_rows("environment", ())
        assert on.view.checks.count() != count and on.view.submit.pos() == place, "nothing moves under the pointer"


async def test_typing_is_not_disturbed_by_what_arrives_meanwhile(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(name="digits-big")) as on:
        edit = on.view._texts["name"]
        edit.setCursorPosition(6)
        qtbot.keyClicks(edit, "-v2")
        on.form.load_offer()
        await until(lambda: on.form.state.offer)
        qtbot.keyClicks(edit, "b")
        assert on.form.state.spec.name == "digits-v2b-big"
        assert edit.cursorPosition() == 10


async def test_what_is_not_offered_is_marked_and_replaced_by_a_click(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    old = TORCH_OLD.version.replace("1.8.0", "1.7.0")
    async with bench(tmp_path, theme, qtbot, digits_spec(engine_version=old)) as on:
        assert on.view.version.currentText() == f"{old} (not available)"
        remedy = on.view.fields["engine_version"].remedy
        assert TORCH_OLD.version in remedy.text()
        qtbot.mouseClick(remedy, Qt.MouseButton.LeftButton)
        assert on.form.state.spec.engine_version == TORCH_OLD.version
        assert on.view.version.currentText() == TORCH_OLD.version
        assert remedy.isHidden()


async def test_trouble_with_the_offer_has_its_try_again(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.cloud.choices._kept.clear()
        on.cloud.jobs.trouble = offline()
        on.form.load_offer()
        await until(lambda: on.view.offer_again.isVisible())
        assert "cannot be reached" in on.view.offer.text()
        assert on.view.version.currentText() == TORCH.version, "what was chosen stays"
        on.cloud.jobs.trouble = None
        qtbot.mouseClick(on.view.offer_again, Qt.MouseButton.LeftButton)
        await until(lambda: not on.view.offer_again.isVisible())


async def test_parameters_are_pasted_and_removed_by_key(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        table = on.view._tables["parameters"]
        QGuiApplication.clipboard().setText("lr=0.2; momentum=0.9")
        table.setFocus()
        qtbot.keyClick(table, Qt.Key.Key_V, CTRL)
        assert dict(on.form.state.spec.parameters) == {"epochs": 30, "lr": 0.2, "tag": "7", "momentum": 0.9}
        table.selectionModel().clear()
        table.setCurrentIndex(table.pairs.index(0, 0))
        qtbot.keyClick(table, Qt.Key.Key_Delete)
        assert [name for name, _ in on.form.state.spec.parameters] == ["lr", "tag", "momentum"]


async def test_a_job_sent_while_a_cell_is_edited_has_what_was_typed(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        table = on.view._tables["parameters"]
        table.setCurrentIndex(table.pairs.index(0, 1))
        qtbot.keyClick(table, Qt.Key.Key_F2)
        cell = table.viewport().findChildren(QLineEdit)[-1]
        cell.setCursorPosition(0)
        qtbot.keyClicks(cell, "12")
        assert cell.text() == "1230"
        assert cell.cursorPosition() == 2
        on.form.submit()
        await until(lambda: on.sent)
        assert dict(on.sent[0].spec.parameters)["epochs"] == 1230
        qtbot.keyClick(cell, Qt.Key.Key_Escape)
        assert dict(on.form.state.spec.parameters)["epochs"] == 30


async def test_the_wheel_scrolls_the_form_and_changes_no_field(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(nodes=2)) as on:
        on.editor("name").setFocus()
        for box in (on.view.nodes, on.view.flavor, on.view.engine, on.view.stop_after):
            place = QPointF(box.rect().center())
            event = QWheelEvent(
                place,
                QPointF(box.mapToGlobal(place.toPoint())),
                QPoint(),
                QPoint(0, -120),
                Qt.MouseButton.NoButton,
                Qt.KeyboardModifier.NoModifier,
                Qt.ScrollPhase.NoScrollPhase,
                False,
            )
            QApplication.sendEvent(box, event)
        assert on.form.state.spec == digits_spec(nodes=2)


async def test_a_dropped_job_file_fills_the_form(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        path = tmp_path / "code" / "job.toml"
        path.write_text(job_file.to_toml(digits_spec(name="from-file")), encoding="utf-8")
        (tmp_path / "picture.png").write_bytes(b"")
        assert drop(on.view, [path], QPoint(50, 50))
        await until(lambda: on.editor("name").text() == "from-file")
        assert on.view.file.text() == "job.toml"
        qtbot.keyClicks(on.editor("name"), "x")
        assert on.view.file.text() == "job.toml •"


async def test_what_is_of_no_use_is_refused_without_waiting_for_the_disk(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        picture = tmp_path / "picture.png"
        picture.write_bytes(b"")
        before = on.form.state.spec
        # Let go before the disk has answered: it is said what may be dropped.
        assert drop(on.view, [picture], QPoint(50, 50))
        await until(lambda: on.cloud.reported)
        assert "picture.png" in on.cloud.reported[0][1].sentence()
        await until(lambda: not on.form.may_take(picture))
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(picture))])
        button, key = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        move = QDragMoveEvent(QPoint(50, 50), Qt.DropAction.CopyAction, data, button, key)
        QApplication.sendEvent(on.view, move)
        assert not move.isAccepted()
        assert on.form.state.spec == before
        folder = tmp_path / "digits.py"  # what it is counts, not its name
        folder.mkdir()
        assert drop(on.view, [folder], QPoint(50, 50))
        await until(lambda: on.form.state.code_place == folder)
        on.cloud.reported.clear()


async def test_edit_again_marks_what_differs(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        qtbot.mouseClick(on.view.submit, Qt.MouseButton.LeftButton)
        await until(lambda: on.sent)
        on.form.load_spec(on.sent[0].spec, tmp_path, on.sent[0])
        assert "The same as run 1" in on.view.origin.text()
        qtbot.keyClick(on.view.nodes, Qt.Key.Key_Up)
        assert on.view.origin.text() == "Like run 1, except Nodes: 1 → 2."
        assert on.view.nodes.property("role") == "changed"


async def test_tab_goes_through_the_form_in_reading_order(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        order = [on.editor("name"), on.editor("code_folder")]
        here = order[0]
        for wanted in order[1:]:
            here = here.nextInFocusChain()
            while here.focusPolicy() == Qt.FocusPolicy.NoFocus or not here.isVisible():
                here = here.nextInFocusChain()
            assert here is wanted


async def test_a_place_is_completed_judged_and_spelled_our_way(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        for key in ("data/a", "data_private/b"):
            await on.cloud.storage.put(b"12345", ObjectPath("bucket", key))
        log = on.editor("log_to")
        log.setFocus()
        qtbot.keyClicks(log, "bucket/da")
        popup = log.completer().popup()
        await until(popup.isVisible)
        assert [popup.model().index(row, 0).data() for row in range(popup.model().rowCount())] == [
            "obs://bucket/data/", "obs://bucket/data_private/",
        ]  # fmt: skip
        popup.setCurrentIndex(popup.model().index(0, 0))
        qtbot.keyClick(popup, Qt.Key.Key_Return)
        assert on.form.state.spec.log_to == "obs://bucket/data/"
        notes = on.view.notes["log_to"]
        await until(lambda: "not empty" in said(notes))

        on.form.set_rows("inputs", (("data_url", ""),))
        table = on.editor("inputs")
        table.setCurrentIndex(table.model().index(0, 1))
        table.edit(table.currentIndex())
        cell = table.findChild(QLineEdit)
        qtbot.keyClicks(cell, "s3://bucket/data")
        qtbot.keyClick(cell, Qt.Key.Key_Return)
        await until(lambda: on.form.state.rows["inputs"] == (("data_url", "obs://bucket/data"),))
        notes = on.view.notes["inputs"]
        await until(lambda: said(notes) == "data_url: “data” also matches data_private/.")
        assert notes.isVisible()
        qtbot.mouseClick(notes.findChild(QPushButton), Qt.MouseButton.LeftButton)
        assert on.form.state.rows["inputs"] == (("data_url", "obs://bucket/data/"),)
        await until(lambda: said(notes) == "data_url: 1 object, 5 B")


async def test_objects_dropped_on_a_field_give_it_their_address(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        data = ObjectPath("digits", "more data/")
        inputs = on.view._tables["inputs"]

        def over(row: int) -> QPoint:
            place = QPoint(20, inputs.viewport().rect().top() + inputs.rowViewportPosition(row) + 5)
            return inputs.viewport().mapTo(on.view, place)

        first = mime_of(Carried("lab", (data,)))
        assert let_go(on.view, first, over(0)) == Qt.DropAction.CopyAction
        assert on.form.state.spec.inputs == (Channel("data_url", "obs://digits/more data/"),)
        two = mime_of(Carried("lab", (data, ObjectPath("digits", "labels.csv"))))
        assert let_go(on.view, two, over(1)) == Qt.DropAction.CopyAction
        assert on.form.state.spec.inputs[1:] == (
            Channel("more_data", "obs://digits/more data/"), Channel("labels_csv", "obs://digits/labels.csv"),
        )  # fmt: skip
        name = on.editor("name")
        assert let_go(on.view, first, name.mapTo(on.view, name.rect().center())) is None
        assert on.form.state.spec.name == "digits"


async def test_a_problem_that_is_clicked_leads_to_its_field(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(stop_after="", flavor="")) as on:
        checks = on.view.checks
        assert [checks.item(row).text()[0] for row in range(checks.count())] == ["○", "○", "✓"]
        place = checks.visualItemRect(checks.item(0)).center()
        qtbot.mouseClick(checks.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert on.view.window().focusWidget() is on.view.flavor
        checks.setCurrentRow(1)
        qtbot.keyClick(checks, Qt.Key.Key_Return)
        assert on.view.window().focusWidget() in (on.view.stop_after, on.view.stop_after.lineEdit())


async def test_at_300_by_500_everything_is_reached_and_nothing_is_wider(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    engine = TORCH.version * 2
    async with bench(tmp_path, theme, qtbot, digits_spec(engine_version=engine, flavor="modelarts." * 9)) as on:
        on.view.resize(300, 500)
        await until(lambda: on.view.scroll_area.widget().width() <= on.view.scroll_area.viewport().width())
        assert on.view.width() == 300 and on.view.height() == 500
        assert on.view.submit.geometry().bottom() < 500 and on.view.submit.geometry().right() < 300
        assert on.view.scroll_area.height() > 200
        assert on.view.version.toolTip().startswith(engine)
        on.view.flavor.showPopup()
        popup = on.view.flavor.view()
        await until(popup.isVisible)
        assert popup.width() >= popup.sizeHintForColumn(0), "in the list every entry is whole"
        on.view.flavor.hidePopup()


async def test_tab_goes_through_a_table_and_leaves_it(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(parameters=(("lr", 0.1),))) as on:
        table = on.view._tables["parameters"]

        def cell() -> QLineEdit:
            return table.viewport().findChildren(QLineEdit)[-1]

        on.view.boot.setFocus()
        table.setFocus()
        table.setCurrentIndex(table.pairs.index(0, 0))
        qtbot.keyClick(table, Qt.Key.Key_Return)
        for words in ("rate", "0.2", "epochs", "3"):
            cell().selectAll()
            qtbot.keyClicks(cell(), words)
            qtbot.keyClick(cell(), Qt.Key.Key_Tab)
            await until(lambda: len(table.viewport().findChildren(QLineEdit)) == 1)
        assert on.form.state.rows["parameters"] == (("rate", "0.2"), ("epochs", "3"))
        qtbot.keyClick(cell(), Qt.Key.Key_Tab)
        left = on.view.window().focusWidget()
        assert left is not None and left is not table and not table.isAncestorOf(left)
        table.setFocus()
        qtbot.keyClick(table, Qt.Key.Key_Tab)
        left = on.view.window().focusWidget()
        assert left is not table and not table.isAncestorOf(left)


async def test_more_opens_by_itself_when_something_in_it_is_filled(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        assert not on.view.more.button.isChecked()
        on.form.load_spec(digits_spec(description="a first try"), tmp_path / "code")
        assert on.view.more.button.isChecked()
        on.view.more.unfold(False)
        qtbot.keyClicks(on.editor("name"), "x")
        assert not on.view.more.button.isChecked(), "whoever shuts it keeps it shut"
