"""The form as it is filled in and submitted with keys and mouse."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QCheckBox, QLineEdit, QToolButton

from support.folder_cloud import (
    CPU,
    GPU,
    TORCH,
    digits_spec,
)
from support.form_window import CTRL, bench
from support.panel_bench import drop
from support.qt_support import watched_for_stalls
from support.waiting import until
from traindeck.domain.jobs.form.form_fields import BY_NAME
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.jobs.start_kinds import StartKind
from traindeck.domain.texts import say
from traindeck.ui.kit.theme import Theme

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


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


async def test_each_button_of_the_form_is_drawn_from_the_start(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    """The fields are made after the rest: their icons came only with the next change of the theme."""
    async with bench(tmp_path, theme, qtbot) as on:
        shown = [button for button in on.view.findChildren(QToolButton) if button.isVisible() and not button.text()]
        assert say("Select the code directory") in [button.toolTip() for button in shown]
        assert [button.toolTip() for button in shown if button.icon().isNull() and button.toolTip()] == []


async def test_five_clicks_and_the_key_make_one_job(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        await on.checked()
        on.cloud.jobs.wait = asyncio.Event()
        assert on.bar.submit.text() == "Submit to the Lab"
        for _ in range(5):
            qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        assert on.view.window().focusWidget() is on.bar, "no other panel gets the keyboard"
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


async def test_edit_again_marks_what_differs(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        await until(lambda: on.sent)
        on.form.load_spec(on.sent[0].spec, tmp_path, on.sent[0])
        assert on.view.origin.words.text() == "Same as run 1"
        qtbot.keyClick(on.page.fields["nodes"].editor, Qt.Key.Key_Up)
        assert on.view.origin.words.text() == "Same as run 1 except Nodes 1 → 2"
        assert on.page.fields["nodes"].editor.property("role") == "changed"
        table, back = on.page._tables["parameters"], Qt.ItemDataRole.BackgroundRole
        on.form.set_rows("parameters", (("epochs", "30"), ("lr", "0.003"), ("tag", "7"), ("new", "1")))
        marked = [table.pairs.index(row, 1).data(back) is not None for row in range(5)]
        assert marked == [False, True, False, True, False], "each row that is another"
        image = table.viewport().grab().toImage()
        seen = [image.pixelColor(image.width() - 12, table.rowViewportPosition(row) + 4) for row in range(5)]
        assert [color == theme.color("warn_soft") for color in seen] == marked, "and it is seen"
        on.form.set_rows("parameters", (("epochs", "30"), ("lr", "0.05"), ("tag", "7")))
        assert not any(table.pairs.index(row, 1).data(back) for row in range(4))


async def test_tab_goes_through_the_form_in_reading_order(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        order = [on.editor("name"), on.page.profile, on.page.start, on.editor("code_folder")]
        here = order[0]
        for wanted in order[1:]:
            here = here.nextInFocusChain()
            while here.focusPolicy() == Qt.FocusPolicy.NoFocus or not here.isVisible():
                here = here.nextInFocusChain()
            assert here is wanted


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
        copies = on.view.fields["log_copy"]
        assert isinstance(copies.editor, QCheckBox)
        assert copies.editor.text() == "Log in the code directory", "a box of many words has them beside it"
        assert copies.label.isHidden() and not on.view.fields["checkpoint_folder"].label.isHidden()
        events = on.editor("notify_events").findChildren(QCheckBox)
        assert [box.text() for box in events] == [say(words) for words in BY_NAME["notify_events"].limits.choice_words]
        assert [box.toolTip() for box in events] == list(BY_NAME["notify_events"].limits.choices)
        lowest = BY_NAME["priority"].limits
        editor = on.editor("priority")
        assert (editor.minimum(), editor.maximum()) == (lowest.lowest, lowest.highest)


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
        usual = on.bar.checks.height()
        assert usual >= 4 * on.bar.checks.fontMetrics().height()
        assert on.page.version.toolTip().startswith(engine)
        on.page.flavor.showPopup()
        popup = on.page.flavor.popup
        assert popup is not None and popup.isVisible()
        assert popup.list.viewport().width() >= popup.list.sizeHintForColumn(0), "in the list every entry is whole"
        on.page.flavor.hidePopup()
        on.view.resize(300, 240)
        await until(lambda: on.bar.checks.height() < usual)
        edges = [on.view.scroll_area.mapTo(on.view, on.view.scroll_area.rect().bottomLeft()).y()]
        for part in (on.bar.head, on.bar.checks, on.bar.stage, on.bar.submit):
            edges += [part.mapTo(on.view, QPoint()).y(), part.mapTo(on.view, part.rect().bottomLeft()).y()]
        assert edges == sorted(edges), "nothing lies over anything"


async def test_more_opens_by_itself_when_something_in_it_is_filled(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        assert not on.page.more.button.isChecked()
        on.form.load_spec(digits_spec(description="a first try"), tmp_path / "code")
        assert on.page.more.button.isChecked()
        on.page.more.unfold(False)
        qtbot.keyClicks(on.editor("name"), "x")
        assert not on.page.more.button.isChecked(), "whoever shuts it keeps it shut"


@pytest.mark.timed
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


async def test_what_is_too_long_is_read_from_its_beginning_and_a_folder_by_its_end(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    command = "bash ${MA_JOB_DIR}/code/run.sh " + "--epochs 3 " * 20
    async with bench(tmp_path, theme, qtbot, digits_spec(boot="", engine="", image="a/b:1", command=command)) as on:
        on.form.choose_code_folder(tmp_path / "nowhere")
        assert on.editor("command").text() == command
        assert on.editor("command").cursorPosition() == 0
        assert on.editor("code_folder").cursorPosition() == len(on.editor("code_folder").text()) > 0
