"""The page of the rules on lines: made, tried on the log that is shown, switched off, taken away."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from support.jobs_window import JobsWindow, jobs_window, log_with
from support.waiting import until
from traindeck.domain.notices.line_rules import LineRule, RuleAct
from traindeck.ui.logs.line_rules_page import LineRulesPage


def page_of(at: JobsWindow) -> LineRulesPage:
    at.do("log.rules")
    page = at.page
    assert isinstance(page, LineRulesPage)
    return page


async def test_a_rule_is_made_tried_changed_and_taken_away(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as at:
        page, file = page_of(at), at.cloud.rules().file
        await until(lambda: page.none.isVisible())
        assert page.name.hasFocus(), "there is no list to go through yet"
        assert not page.save.isEnabled() and not page.remove.isEnabled()
        page.name.setText("no number")
        page.pattern.setText(r"loss\W+nan")
        page.test.click()
        assert page.outcome.text() == "Open the log of a run first."
        await log_with(at, *("epoch 1 Loss: 0.3", "epoch 2 loss: NaN", "done") * 150)
        page = page_of(at)
        page.test.click()
        await until(lambda: page.found.isVisible())
        assert page.outcome.text() == "150 lines in run 1."
        assert set(page.found.toPlainText().splitlines()) == {"epoch 2 loss: NaN"}
        page.save.click()
        made = LineRule("no number", r"loss\W+nan")
        await until(lambda: page.list.count() == 1 and page.list.currentRow() == 0)
        assert file.read() == (made,)
        assert "# What TrainDeck does" in file.path.read_text("utf-8"), "what stood in the file stays"

        page.act.setCurrentIndex(page.act.findData(RuleAct.LABEL.value))
        assert not page.save.isEnabled(), "a tag is wanted"
        page.tag.setText("nan")
        page.runs.setText("digits*")
        page.save.click()
        changed = LineRule("no number", r"loss\W+nan", RuleAct.LABEL, "nan", "digits*")
        await until(lambda: file.read() == (changed,))
        page.list.item(0).setCheckState(Qt.CheckState.Unchecked)
        await until(lambda: not file.read()[0].is_enabled)
        await until(lambda: not page.enabled.isChecked())

        page.add.click()
        assert page.name.text() == "" and page.list.currentItem() is None
        page.name.setText("no number")
        page.pattern.setText("x")
        page.save.click()
        await until(lambda: "two rules are called" in page.trouble.text())
        assert page.name.text() == "no number", "what was typed stays"
        page.name.setText("broken")
        page.pattern.setText("(")
        page.save.click()
        await until(lambda: "is not a regular expression" in page.trouble.text())
        assert len(file.read()) == 1
        # One that would take other engines years.
        page.pattern.setText("^(a+)+b$")
        page.test.click()
        await until(lambda: page.outcome.text() == "0 lines in run 1.")
        page.list.setCurrentRow(0)
        page.remove.click()
        await until(lambda: page.none.isVisible() and file.read() == ())
        page.save.click()
        await until(lambda: file.read() != () and file.read()[0].name == "no number")


async def test_a_file_that_was_broken_by_hand_is_not_written_over(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as at:
        file = at.cloud.rules().file
        file.path.write_text("[[rule]]\nname = ", encoding="utf-8")
        page = page_of(at)
        await until(lambda: "cannot be used" in page.trouble.text())
        page.name.setText("mine")
        page.pattern.setText("x")
        page.save.click()
        await until(lambda: "cannot be used" in page.trouble.text())
        assert file.path.read_text("utf-8") == "[[rule]]\nname = "
