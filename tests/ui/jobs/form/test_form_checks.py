"""The checks over the button."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QPushButton

from support.folder_cloud import digits_spec
from support.form_window import CTRL, bench
from support.waiting import until
from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.jobs.start_kinds import OF_START, StartKind
from traindeck.ui.jobs.form.job_form_view import JobFormView
from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.jobs.form.form_values import USUAL_WAY

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


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


async def test_who_submits_an_empty_form_is_told_what_is_missing(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        assert on.lines() == ["The form is checked while it is filled in."]
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)
        await until(lambda: on.lines()[:1] == ["✗ Enter a name of 1 to 40 letters, digits, “-” or “_”."])
        await on.checked()
        assert not on.sent and on.bar.again.isEnabled()
        on.form.new()
        assert on.lines() == ["The form is checked while it is filled in."]


async def test_a_fix_acts_and_a_warning_wants_a_click_of_its_own(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(stop_after="none")) as on:
        await on.checked()
        assert on.lines()[0].startswith("! Nothing stops this job")
        assert "1 warning" in on.bar.head.text() and on.bar.submit.text() == "Submit to the Lab anyway"
        qtbot.keyClick(on.editor("name"), Qt.Key.Key_Return, CTRL)
        high = on.bar.height()
        await until(lambda: on.bar.stage.text() == "Not submitted: 1 warning. Submit anyway?")
        on.bar.stage.grab()
        assert on.bar.height() == high and not on.bar.stage.toolTip(), "nothing moved, and all of it is seen"
        assert not on.sent and on.view.window().focusWidget() is not on.bar.submit, "a blank would submit"
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


async def test_who_types_elsewhere_when_the_warnings_come_submits_nothing_with_a_key(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec(stop_after="none")) as on:
        await on.checked()
        qtbot.mouseClick(on.bar.submit, Qt.MouseButton.LeftButton)  # says “anyway” already
        await until(lambda: on.sent and on.bar.submit.isEnabled())
        qtbot.keyClick(on.editor("name"), Qt.Key.Key_Return, CTRL)
        elsewhere = on.editor("boot")
        elsewhere.setFocus()
        await until(lambda: on.bar.stage.text() == "Not submitted: 1 warning. Submit anyway?")
        focused = on.view.window().focusWidget()
        assert focused is not on.bar.submit
        qtbot.keyClick(focused, Qt.Key.Key_Space)
        assert len(on.sent) == 1 and on.sending.state.stage is None


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


async def test_a_window_that_takes_the_place_of_another_goes_on_checking(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        await on.checked()
        after = JobFormView(on.parts, theme, on.user, on.cloud.scope)
        qtbot.addWidget(after)
        after.show()
        on.view.hide()  # as a window does when the language is another
        on.form.set_field("stop_after", "none")
        await until(lambda: on.parts.checks.state.report is not None and after.bar.checks.item(0).text()[0] == "!")
        after.hide()
        on.form.set_field("stop_after", "2h")
        assert not on.cloud.scope.is_running("check the form"), "nobody sees it"


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        (StartKind.PRESET, {"engine"}),
        (StartKind.IMAGE, {"image", "command"}),
        (StartKind.IMAGE_ON_PRESET, {"image"}),
        (StartKind.ALGORITHM, {"algorithm_id"}),
    ],
)
async def test_what_is_missing_is_that_of_the_way_the_job_starts(
    tmp_path: Path, theme: Theme, qtbot: QtBot, kind: StartKind, missing: set[str]
) -> None:
    """Fields that are not shown for this way are not asked for."""
    async with bench(tmp_path, theme, qtbot, digits_spec(boot="", engine="", engine_version="")) as on:
        await on.checked()
        on.form.choose_start(kind)
        await on.checked()
        report = on.parts.checks.state.report
        assert report is not None
        of_start = {one.field for one in report.of(CheckLevel.RED)} & OF_START
        assert of_start == missing
        assert all(on.view.fields[name].isVisible() for name in missing)
