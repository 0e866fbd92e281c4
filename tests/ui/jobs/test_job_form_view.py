from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QEvent, QMimeData, QModelIndex, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragMoveEvent, QGuiApplication, QWheelEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QComboBox, QLabel, QLineEdit, QPushButton, QWidget

from support.folder_cloud import (
    CPU,
    GPU,
    NPU,
    TORCH,
    TORCH_OLD,
    FolderCloud,
    code_folder,
    digits_spec,
    offline,
)
from support.form_bench import billing_of, form_parts, prepare_data
from support.panel_bench import User, drop, let_go, light_theme
from support.qt_support import watched_for_stalls
from support.waiting import until
from traindeck.domain.jobs import job_file
from traindeck.domain.jobs.form_fields import BY_NAME
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.job_spec import Channel, ChannelAccess, JobSpec, Volume, VolumeKind
from traindeck.domain.jobs.start_kinds import StartKind
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say
from traindeck.store.price_file import PriceFile
from traindeck.ui.jobs.check_list import CheckList
from traindeck.ui.jobs.choice_picker import facts_words
from traindeck.ui.jobs.code_changes_dialog import CodeChangesDialog
from traindeck.ui.jobs.code_tree_dialog import CodeTreeDialog
from traindeck.ui.jobs.field_editors import OpenEditor
from traindeck.ui.jobs.job_form_view import JobFormView
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.object_drag import mime_of
from traindeck.viewmodels.jobs.form_parts import FormParts
from traindeck.viewmodels.jobs.form_values import USUAL_WAY
from traindeck.viewmodels.jobs.job_form import JobForm
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
    def __init__(self, cloud: FolderCloud, parts: FormParts, view: JobFormView, user: User) -> None:
        self.cloud, self.parts, self.form, self.view, self.user = cloud, parts, parts.form, view, user
        self.page, self.bar, self.sending = view.page, view.bar, parts.sending
        self.sent: list[Run] = []
        self.sending.submitted.connect(self.sent.append)

    def editor(self, name: str) -> Any:
        editor = self.view.fields[name].editor
        return editor.words if isinstance(editor, OpenEditor) else editor

    def error(self, name: str) -> str:
        """What is said of this field where it is."""
        field = self.view.fields[name]
        assert field.editor.accessibleDescription() in (field.wrong_words, say(BY_NAME[name].help))
        return field.wrong_words

    def lines(self, checks: CheckList | None = None) -> list[str]:
        """What is said over the button."""
        checks = checks or self.bar.checks
        return [checks.item(row).text() for row in range(checks.count())]

    async def checked(self) -> None:
        await until(lambda: self.parts.checks.state.report)


@asynccontextmanager
async def bench(folder: Path, theme: Theme, qtbot: QtBot, spec: JobSpec | None = None) -> AsyncIterator[Bench]:
    async with FolderCloud(folder) as cloud:
        code = code_folder(folder / "code")
        prepare_data(cloud)
        prices = billing_of(cloud).table
        form = JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope, code, read_prices=prices)
        parts, user = form_parts(cloud, form), User()
        view = JobFormView(parts, theme, user, cloud.scope)
        qtbot.addWidget(view)
        view.resize(380, 700)
        view.show()
        form.start()
        await until(lambda: form.state.offer and not form.state.offer_is_old)
        if spec is not None:
            form.load_spec(spec, code)
            await until(lambda: form.state.boot_files)
        yield Bench(cloud, parts, view, user)
        view.close()


async def test_a_job_is_typed_and_submitted_by_hand(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        qtbot.keyClicks(on.editor("name"), "digits")
        assert drop(on.view, [tmp_path / "code"], QPoint(100, 200))
        await until(lambda: on.editor("boot").text() == "train.py")
        for box, words in ((on.page.engine, "PyTorch"), (on.page.flavor, CPU.id)):
            box.setFocus()
            qtbot.keyClicks(box, words[:3])
            box.activated.emit(box.currentIndex())
        assert on.form.state.spec.engine_version == TORCH.version
        qtbot.keyClicks(on.editor("stop_after"), "1h")
        table = on.page._tables["outputs"]
        for column, words in ((0, "train_url"), (1, "obs://digits/out/{run}/")):
            table.setCurrentIndex(table.pairs.index(0, column))
            qtbot.keyClick(table, Qt.Key.Key_Return)
            cell = table.viewport().findChildren(QLineEdit)[-1]
            qtbot.keyClicks(cell, words)
            qtbot.keyClick(cell, Qt.Key.Key_Return)
            await until(lambda: table.state() != QAbstractItemView.State.EditingState)
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        await until(lambda: on.sent)
        assert on.sent[0].spec.outputs == (Channel("train_url", "obs://digits/out/{run}/"),)


async def test_five_clicks_and_the_key_make_one_job(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        await on.checked()
        on.cloud.jobs.wait = asyncio.Event()
        assert on.bar.submit.text() == "Submit to the Lab"
        for _ in range(5):
            qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        qtbot.keyClick(on.editor("name"), Qt.Key.Key_Return, CTRL)
        assert not on.bar.submit.isEnabled()
        await until(lambda: on.bar.stage.text() == "Submitting the job…")
        on.cloud.jobs.wait.set()
        await until(lambda: on.sent)
        assert not on.bar.submit.isEnabled()  # a slow double click is one click
        await until(on.bar.submit.isEnabled)
        assert len(on.cloud.jobs.jobs) == 1


async def test_control_enter_submits_from_any_field(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        places = (on.editor("name"), on.page.fields["nodes"].editor, on.page.flavor, on.page._tables["parameters"])
        for count, place in enumerate(places, start=1):
            place.setFocus()
            qtbot.keyClick(place, Qt.Key.Key_Return, CTRL)
            await until(lambda count=count: len(on.sent) == count and on.sending.state.stage is None)


async def test_mistakes_stand_over_the_button_and_the_first_gets_the_focus(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(stop_after="", environment=(("MA_X", "1"),))) as on:
        assert on.error("stop_after") == ""
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        assert "Enter when to stop" in on.error("stop_after")
        assert "MA_X" in on.error("environment")
        assert on.page.more.button.isChecked(), "the field with the mistake is unfolded"
        on.page.more.unfold(False)
        assert on.view.window().focusWidget() in (on.page.stop_after, on.page.stop_after.lineEdit())
        qtbot.keyClicks(on.editor("stop_after"), "2d")
        assert on.error("stop_after") == ""
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        assert on.page.more.button.isChecked() and not on.sent
        place = on.bar.submit.mapTo(on.view, QPoint())
        await until(lambda: any("MA_" in line for line in on.lines()))
        on.form.set_rows("environment", ())
        await until(lambda: not any("MA_" in line for line in on.lines()))
        assert on.bar.submit.mapTo(on.view, QPoint()) == place, "nothing moves under the pointer"


async def test_typing_is_not_disturbed_by_what_arrives_meanwhile(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(name="digits-big")) as on:
        edit = on.editor("name")
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
        assert on.page.version.currentText() == f"{old} (not available)"
        remedy = on.view.fields["engine_version"].remedy
        assert TORCH_OLD.version in remedy.text()
        qtbot.mouseClick(remedy, Qt.MouseButton.LeftButton)
        assert on.form.state.spec.engine_version == TORCH_OLD.version
        assert on.page.version.currentText() == TORCH_OLD.version
        assert remedy.isHidden()


async def test_trouble_with_the_offer_has_its_try_again(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.cloud.choices._kept.clear()
        on.cloud.jobs.trouble = offline()
        on.form.load_offer()
        await until(lambda: on.page.offer_again.isVisible())
        assert "cannot be reached" in on.page.offer.text()
        assert on.page.version.currentText() == TORCH.version, "what was chosen stays"
        on.cloud.jobs.trouble = None
        qtbot.mouseClick(on.page.offer_again, Qt.MouseButton.LeftButton)
        await until(lambda: not on.page.offer_again.isVisible())


async def test_parameters_are_pasted_and_removed_by_key(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        table = on.page._tables["parameters"]
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
        table = on.page._tables["parameters"]
        table.setCurrentIndex(table.pairs.index(0, 1))
        qtbot.keyClick(table, Qt.Key.Key_F2)
        cell = table.viewport().findChildren(QLineEdit)[-1]
        cell.setCursorPosition(0)
        qtbot.keyClicks(cell, "12")
        assert cell.text() == "1230"
        assert cell.cursorPosition() == 2
        on.sending.submit()
        await until(lambda: on.sent)
        assert dict(on.sent[0].spec.parameters)["epochs"] == 1230
        qtbot.keyClick(cell, Qt.Key.Key_Escape)
        assert dict(on.form.state.spec.parameters)["epochs"] == 30


async def test_the_wheel_scrolls_the_form_and_changes_no_field(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(nodes=2)) as on:
        on.editor("name").setFocus()
        for box in (on.page.fields["nodes"].editor, on.page.flavor, on.page.engine, on.page.stop_after):
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
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        await until(lambda: on.sent)
        on.form.load_spec(on.sent[0].spec, tmp_path, on.sent[0])
        assert on.view.origin.words.text() == "Same as run 1"
        qtbot.keyClick(on.page.fields["nodes"].editor, Qt.Key.Key_Up)
        assert on.view.origin.words.text() == "Same as run 1 except Nodes 1 → 2"
        assert on.page.fields["nodes"].editor.property("role") == "changed"


async def test_tab_goes_through_the_form_in_reading_order(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        order = [on.editor("name"), on.page.profile, on.page.start, on.editor("code_folder")]
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
        on.page.more.unfold(True)
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
        notes = on.page.notes["log_to"]
        await until(lambda: "not empty" in said(notes))

        on.form.set_rows("inputs", (("data_url", ""),))
        table = on.editor("inputs")
        table.setCurrentIndex(table.model().index(0, 1))
        table.edit(table.currentIndex())
        cell = table.findChild(QLineEdit)
        qtbot.keyClicks(cell, "s3://bucket/data")
        qtbot.keyClick(cell, Qt.Key.Key_Return)
        await until(lambda: on.form.state.rows["inputs"] == (("data_url", "obs://bucket/data", USUAL_WAY),))
        notes = on.page.notes["inputs"]
        await until(lambda: said(notes) == "data_url: “data” also matches data_private/.")
        assert notes.isVisible()
        qtbot.mouseClick(notes.findChild(QPushButton), Qt.MouseButton.LeftButton)
        assert on.form.state.rows["inputs"] == (("data_url", "obs://bucket/data/", USUAL_WAY),)
        await until(lambda: said(notes) == "data_url: 1 object, 5 B")


async def test_objects_dropped_on_a_field_give_it_their_address(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        data = ObjectPath("digits", "more data/")
        inputs = on.page._tables["inputs"]

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
        await on.checked()
        checks = on.bar.checks
        assert [line[0] for line in on.lines()] == ["○", "○", "?", "✓"], "not filled in yet is no mistake"
        place = checks.visualItemRect(checks.item(0)).center()
        qtbot.mouseClick(checks.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert on.view.window().focusWidget() is on.page.flavor
        checks.setCurrentRow(1)
        qtbot.keyClick(checks, Qt.Key.Key_Return)
        assert on.view.window().focusWidget() in (on.page.stop_after, on.editor("stop_after"))


async def test_a_fix_acts_and_a_warning_wants_a_click_of_its_own(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(stop_after="none")) as on:
        await on.checked()
        assert on.lines()[0].startswith("! Nothing stops this job")
        assert "1 warning" in on.bar.head.text() and on.bar.submit.text() == "Submit to the Lab anyway"
        qtbot.keyClick(on.editor("name"), Qt.Key.Key_Return, CTRL)
        await until(lambda: "press “Submit anyway”" in on.bar.stage.text())
        assert not on.sent and on.view.window().focusWidget() is on.bar.submit
        fix = on.bar.checks.indexWidget(on.bar.checks.model().index(0, 0))
        assert isinstance(fix, QPushButton)
        qtbot.mouseClick(fix, Qt.MouseButton.LeftButton)
        assert on.form.state.spec.stop_after == "4h"
        await until(lambda: on.bar.submit.text() == "Submit to the Lab" and on.parts.checks.state.report)
        on.form.set_field("stop_after", "none")
        await until(lambda: on.bar.submit.text() == "Submit to the Lab anyway")
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        await until(lambda: on.sent)
        assert not on.cloud.reported


async def test_submit_waits_for_the_checks_and_can_be_given_up(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.cloud.storage.wait = asyncio.Event()
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        assert on.bar.stage.text() == "Waiting for the checks…" and on.bar.cancel.isVisible()
        qtbot.mouseClick(on.bar.cancel, Qt.MouseButton.LeftButton)
        await until(lambda: on.sending.state.stage is None)
        assert not on.bar.cancel.isVisible() and on.bar.submit.isEnabled()
        on.cloud.storage.wait.set()
        await on.checked()
        assert not on.sent and not on.cloud.jobs.jobs


async def test_no_line_goes_elsewhere_while_the_mouse_is_over_the_checks(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    wrong = digits_spec(stop_after="none", outputs=(Channel("train_url", "obs://digits/out/"),))
    async with bench(tmp_path, theme, qtbot, wrong) as on:
        await on.checked()
        checks = on.bar.checks
        before = on.lines()
        assert [line[0] for line in before[:2]] == ["!", "!"]
        checks.setAttribute(Qt.WidgetAttribute.WA_UnderMouse)
        on.form.set_rows("outputs", (("train_url", "obs://digits/out/{run}/", USUAL_WAY),))
        await until(lambda: on.parts.checks.state.report)
        assert [line[2:] for line in on.lines()[:2]] == [line[2:] for line in before[:2]], "only its mark is another"
        checks.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)
        QApplication.sendEvent(checks, QEvent(QEvent.Type.Leave))
        assert [line[0] for line in on.lines()[:2]] == ["!", "?"]


async def test_start_kinds_show_the_fields_that_count_and_lose_nothing(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:

        def choose(kind: StartKind) -> set[str]:
            on.page.start.setCurrentIndex(on.page.start.findData(kind.value))
            on.page.start.activated.emit(on.page.start.currentIndex())
            return {name for name, field in on.view.fields.items() if not field.isHidden()}

        assert "command" not in choose(StartKind.PRESET)
        shown = choose(StartKind.IMAGE)
        assert {"command", "image"} <= shown and not {"boot", "engine", "engine_version"} & shown
        assert (on.form.state.spec.engine, on.form.state.spec.boot) == ("", "")
        qtbot.keyClicks(on.editor("image"), "my-org/torch:1.0")
        assert {"boot", "engine", "image"} <= choose(StartKind.IMAGE_ON_PRESET)
        assert not {"boot", "engine", "image", "code_folder"} & choose(StartKind.ALGORITHM)
        choose(StartKind.PRESET)
        assert on.form.state.spec == digits_spec()
        choose(StartKind.IMAGE)
        assert on.form.state.spec.image == "my-org/torch:1.0"


async def test_every_field_is_described_where_it_is(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.page.more.unfold(True)
        assert set(on.view.fields) == set(BY_NAME), "no second list of fields"
        for name, field in on.view.fields.items():
            assert field.label.text() == say(BY_NAME[name].label)
            assert say(BY_NAME[name].help) == field.editor.accessibleDescription() == field.label.toolTip()
        lowest = BY_NAME["priority"].limits
        editor = on.editor("priority")
        assert (editor.minimum(), editor.maximum()) == (lowest.lowest, lowest.highest)


async def test_channels_say_how_they_are_passed_and_volumes_what_they_are(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        inputs = on.page._tables["inputs"]
        inputs.setCurrentIndex(inputs.pairs.index(0, 2))
        inputs.edit(inputs.currentIndex())
        box = inputs.findChild(QComboBox)
        assert box is not None
        box.setCurrentIndex(1)
        box.activated.emit(1)
        assert on.form.state.spec.inputs == (Channel("data_url", "obs://digits/data/", ChannelAccess.ENVIRONMENT),)
        on.page.more.unfold(True)
        on.form.set_rows("volumes", (("/data", "192.168.0.10:/", "nfs", "ro"),))
        assert on.form.state.spec.volumes == (Volume(VolumeKind.NFS, "192.168.0.10:/", "/data", read_only=True),)


async def test_parameters_are_ordered_by_key_and_by_dragging_their_number(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        table = on.page._tables["parameters"]
        table.setFocus()
        table.setCurrentIndex(table.pairs.index(0, 0))
        qtbot.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
        assert [name for name, _ in on.form.state.spec.parameters] == ["lr", "epochs", "tag"]
        table.verticalHeader().moveSection(2, 0)
        assert [name for name, _ in on.form.state.spec.parameters] == ["tag", "lr", "epochs"]
        assert table.pairs.index(0, 0).data() == "tag" and table.verticalHeader().logicalIndex(0) == 0


async def test_the_list_of_specifications_filters_and_greys_what_does_not_fit(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.page.flavor.showPopup()
        popup = on.page.flavor.popup
        assert popup is not None
        npu = next(row for row in popup.model.rows if row.value == NPU.id)
        assert "not built for Ascend" in facts_words(npu)
        assert not popup.model.flags(popup.model.index(list(popup.model.rows).index(npu))) & Qt.ItemFlag.ItemIsEnabled
        assert "As of 20" in popup.age.text()
        qtbot.keyClicks(popup.filter, "v100 gpu")
        assert [row.value for row in popup.model.rows] == [GPU.id]
        qtbot.keyClick(popup.filter, Qt.Key.Key_Return)
        assert on.form.state.spec.flavor == GPU.id and not popup.isVisible()


async def test_prices_are_on_the_button_and_in_the_list_of_specifications(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, replace(digits_spec(), stop_after="3h")) as on:
        await on.cloud.add_cloud_profile("work")
        on.form.refresh_profiles()
        on.form.choose_profile("work")
        await until(lambda: on.form.state.offer and not on.form.state.offer_is_old)
        assert on.bar.submit.text() == "Submit · cost unknown"
        PriceFile(on.cloud.paths.prices).change(flavors={CPU.id: 2.0}, currency=None, limit=None)
        on.form.refresh_offer()
        await until(lambda: on.bar.submit.text() == "Submit · at most 6.00 CNY")
        on.page.flavor.showPopup()
        popup = on.page.flavor.popup
        assert popup is not None
        cpu = next(row for row in popup.model.rows if row.value == CPU.id)
        assert "per hour: 2.00 CNY" in facts_words(cpu) and "Prices are not known" not in popup.age.text()
        popup.close()


async def test_what_was_offered_the_last_time_is_there_without_a_line(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.cloud.jobs.trouble = offline()
        on.form.refresh_offer()
        await until(lambda: on.form.state.offer_trouble is not None)
        assert on.form.state.offer is not None and on.form.state.offer_is_old
        assert "The lists are those of 20" in on.page.offer.text()
        on.form.set_field("flavor", "modelarts.new")
        assert not [error for error in on.form.state.all_errors if error.field == "flavor"], (
            "an old list refuses nothing"
        )


async def test_the_code_is_listed_and_a_click_leaves_out_and_takes_in(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(ignore=("data.txt",))) as on:
        code = tmp_path / "code"
        (code / "lib").mkdir()
        (code / "lib" / "a[1].py").write_text("x = 1\n", encoding="utf-8")
        on.parts.code.look()
        await until(lambda: on.page.code.text() == "2 files, 21 B, 1 left out")
        qtbot.mouseClick(on.page.code, Qt.MouseButton.LeftButton)
        dialog = on.view.findChild(CodeTreeDialog)
        assert dialog is not None
        model = dialog.model

        def node(*path: str) -> Any:
            index = QModelIndex()
            for part in path:
                rows = range(model.rowCount(index))
                index = next(model.index(row, 0, index) for row in rows if model.index(row, 0, index).data() == part)
            return index

        assert "“data.txt” in “ignore”" in model.index(node("data.txt").row(), 2).data()
        check = Qt.ItemDataRole.CheckStateRole
        assert model.setData(node("data.txt"), Qt.CheckState.Checked, check)
        await until(lambda: on.page.code.text() == "3 files, 27 B")
        assert on.form.state.spec.ignore == ("data.txt", "!/data.txt")
        dialog.tree.expandAll()
        assert model.setData(node("lib/", "a[1].py"), Qt.CheckState.Unchecked, check)
        await until(lambda: on.page.code.text() == "2 files, 21 B, 1 left out")
        assert on.form.state.spec.ignore[-1] == r"/lib/a\[1\].py"
        assert dialog.tree.isExpanded(node("lib/")), "what is unfolded stays so"
        assert model.setData(node("lib/", "a[1].py"), Qt.CheckState.Checked, check)
        assert on.form.state.spec.ignore == ("data.txt", "!/data.txt")
        dialog.close()


async def test_the_form_as_text_and_back_with_mistakes_at_their_line(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        path = tmp_path / "code" / "job.toml"
        path.write_text("# mine\n" + job_file.to_toml(digits_spec()), encoding="utf-8")
        on.form.open_file(path)
        await until(lambda: on.form.state.file)
        on.form.set_field("nodes", 2)
        qtbot.mouseClick(on.view.text_button, Qt.MouseButton.LeftButton)
        await until(lambda: on.view.text is not None and "nodes = 2" in on.view.text.text.toPlainText())
        assert on.view.text is not None
        words = on.view.text.text
        assert words.toPlainText().startswith("# mine\n")
        words.setPlainText(words.toPlainText().replace("nodes = 2", "nodez = 2"))
        marks = on.view.text.marks
        await until(lambda: "nodez" in marks.item(0).text())
        line = next(number for number, one in enumerate(words.toPlainText().splitlines(), 1) if "nodez" in one)
        assert f"Line {line}:" in marks.item(0).text() and "“nodes”" in marks.item(0).text()
        assert on.form.state.spec.nodes == 2
        on.sending.submit()
        await until(lambda: on.sending.state.told is not None)
        assert not on.sent, "what cannot be read is not sent"
        on.user.answer = False
        qtbot.mouseClick(on.view.text_button, Qt.MouseButton.LeftButton)
        await until(lambda: on.user.asked)
        assert on.parts.written.state.is_open, "nothing typed is thrown away"
        words.setPlainText(words.toPlainText().replace("nodez = 2", "nodes = 3"))
        await until(lambda: on.form.state.spec.nodes == 3)
        qtbot.mouseClick(on.view.text_button, Qt.MouseButton.LeftButton)
        assert on.editor("nodes").value() == 3
        on.form.save_file(path)
        await until(lambda: not on.form.state.is_dirty)
        assert path.read_text(encoding="utf-8").startswith("# mine\n")


async def test_a_template_locks_its_fields_until_they_are_unlocked(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.parts.templates.save("on two nodes", frozenset({"flavor", "parameters"}))
        await until(lambda: on.parts.templates.state.names == ("on two nodes",))
        on.form.new()
        on.parts.templates.begin_with("on two nodes")
        await until(lambda: on.form.state.template)
        made = replace(digits_spec(), template="on two nodes")
        assert on.form.state.spec == made
        assert on.view.origin.words.text() == "From template “on two nodes” · 2 fields locked"
        assert not on.page.flavor.isEnabled()
        on.form.set_rows("parameters", ())
        on.form.set_field("flavor", GPU.id)
        assert on.form.state.spec == made
        qtbot.mouseClick(on.view.origin.unlock, Qt.MouseButton.LeftButton)
        assert on.page.flavor.isEnabled()
        on.parts.templates.remove("on two nodes")
        await until(lambda: not on.parts.templates.state.names)


async def test_a_job_file_that_left_its_template_is_told_and_set_back_or_detached(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.parts.templates.save("ours", frozenset({"parameters", "stop_after"}))
        await until(lambda: on.parts.templates.state.names == ("ours",))
        changed = replace(digits_spec(), template="ours", parameters=(("lr", 1.0),), stop_after="9h")
        on.form.load_spec(changed, on.form.state.base)

        async def template() -> list[tuple[str, str]]:
            await on.checked()
            return [(one.field, one.level.value) for one in on.parts.checks.state.findings if one.check == "template"]

        assert await template() == [("parameters", "red"), ("stop_after", "red")]
        for one in [one for one in on.parts.checks.state.findings if one.check == "template"]:
            on.parts.checks.mend(one.fixes[0])
        assert await template() == [("", "green")]
        assert on.form.state.spec == replace(digits_spec(), template="ours")
        table = on.page._tables["parameters"]
        assert table.pairs.rowCount() > len(digits_spec().parameters), "and the table shows them"
        on.form.load_spec(changed, on.form.state.base)
        await on.checked()
        (first, _) = (one for one in on.parts.checks.state.findings if one.check == "template")
        on.parts.checks.mend(first.fixes[1])
        assert await template() == [] and on.form.state.spec == replace(changed, template="")


async def test_the_code_of_then_or_the_current_one_is_submitted(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        await until(lambda: on.sent and on.sending.state.stage is None)
        first = on.sent[0]
        code = tmp_path / "code"
        (code / "train.py").write_text("print('other')\n", encoding="utf-8")
        (code / "more.py").write_text("", encoding="utf-8")
        on.form.load_spec(first.spec, code, first)
        await until(lambda: on.view.origin.differs.text() == "(2 files differ)")
        qtbot.mouseClick(on.view.origin.view, Qt.MouseButton.LeftButton)
        dialog = on.view.findChild(CodeChangesDialog)
        assert dialog is not None
        dialog.files.setCurrentRow(1)
        await until(lambda: "+print('other')" in dialog.text.toPlainText())
        dialog.close()
        qtbot.mouseClick(on.view.origin.then, Qt.MouseButton.LeftButton)
        on.form.set_rows("parameters", (("epochs", "30"), ("lr", "0.003"), ("tag", "7")))
        assert on.view.origin.words.text() == "Same as run 1 except lr 0.05 → 0.003"
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        await until(lambda: len(on.sent) == 2 and on.sending.state.stage is None)
        assert (on.sent[1].bundle, on.sent[1].resubmission_of) == (first.bundle, first.id)
        qtbot.mouseClick(on.view.origin.now, Qt.MouseButton.LeftButton)
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        await until(lambda: len(on.sent) == 3)
        assert on.sent[2].bundle != first.bundle and not on.cloud.reported


async def test_at_300_by_500_everything_is_reached_and_nothing_is_wider(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    engine = TORCH.version * 2
    async with bench(tmp_path, theme, qtbot, digits_spec(engine_version=engine, flavor="modelarts." * 9)) as on:
        on.view.resize(300, 500)
        await until(lambda: on.view.scroll_area.widget().width() <= on.view.scroll_area.viewport().width())
        assert on.view.width() == 300 and on.view.height() == 500
        assert on.bar.submit.geometry().bottom() < 500 and on.bar.submit.geometry().right() < 300
        assert on.view.scroll_area.height() > 200
        assert on.page.version.toolTip().startswith(engine)
        on.page.flavor.showPopup()
        popup = on.page.flavor.popup
        assert popup is not None and popup.isVisible()
        assert popup.list.viewport().width() >= popup.list.sizeHintForColumn(0), "in the list every entry is whole"
        on.page.flavor.hidePopup()


async def test_tab_goes_through_a_table_and_leaves_it(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(parameters=(("lr", 0.1),))) as on:
        table = on.page._tables["parameters"]

        def cell() -> QLineEdit:
            return table.viewport().findChildren(QLineEdit)[-1]

        on.page.boot.setFocus()
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
        assert not on.page.more.button.isChecked()
        on.form.load_spec(digits_spec(description="a first try"), tmp_path / "code")
        assert on.page.more.button.isChecked()
        on.page.more.unfold(False)
        qtbot.keyClicks(on.editor("name"), "x")
        assert not on.page.more.button.isChecked(), "whoever shuts it keeps it shut"


async def test_typing_waits_for_nothing_with_many_files_and_specifications(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    for number in range(2_000):
        place = tmp_path / "code" / f"part{number % 40}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.py").write_bytes(b"x = 1\n")
    async with bench(tmp_path, theme, qtbot) as on:
        on.cloud.jobs.offered_flavors = [CPU, *(replace(GPU, id=f"modelarts.p{number}.large") for number in range(300))]
        on.form.refresh_offer()
        await until(lambda: on.form.state.offer and len(on.form.state.offer.flavors) == 301)
        on.form.load_spec(digits_spec(), tmp_path / "code")
        await on.checked()
        with watched_for_stalls() as stalls:
            for letter in "a-name-that-is-typed-":
                qtbot.keyClicks(on.editor("name"), letter)
                await asyncio.sleep(0)
            on.form.set_field("flavor", "modelarts.p7.large")
            await on.checked()
            on.page.flavor.showPopup()
            popup = on.page.flavor.popup
            assert popup is not None
            for letter in "p29":
                qtbot.keyClicks(popup.filter, letter)
                await asyncio.sleep(0)
            assert len(popup.model.rows) == 11
            popup.hide()
            on.parts.code.look()
            await until(lambda: not on.parts.code.state.is_looking)
        assert "2,002 files" in on.page.code.text()
        stalls.check()
