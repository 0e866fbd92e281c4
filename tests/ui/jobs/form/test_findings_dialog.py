"""What is wrong with the scripts stands in the window with its line, and is fixed or silenced from there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtWidgets import QApplication

from support.folder_cloud import digits_spec
from support.jobs_window import JobsWindow, jobs_window
from support.waiting import until
from traindeck.domain.jobs.checks import CheckLevel
from traindeck.ui.jobs.form.findings_dialog import FindingsDialog
from traindeck.ui.scripts.fix_dialog import FixDialog

SCRIPT = """\
import argparse

parser = argparse.ArgumentParser()
args = parser.parse_args()
password = "Correct-Horse-7"
for line in open("obs://bucket/data/train.csv"):
    print(line, input("go on? "))
"""


def write_script(on: JobsWindow) -> Path:
    code = on.folder / "code"
    (code / "train.py").write_text(SCRIPT)
    on.form.load_spec(digits_spec(), code)
    return code


async def opened(on: JobsWindow) -> FindingsDialog:
    on.do("job.findings")
    dialog = await on.dialog(FindingsDialog)
    await until(lambda: bool(dialog.findings.state.lines) and not dialog.findings.state.is_reading)
    return dialog


def told(dialog: FindingsDialog) -> list[tuple[str, int, bool]]:
    return [(one.rule, one.line, one.is_silenced) for one in dialog.findings.state.findings]


async def test_findings_are_shown_with_their_lines_fixed_and_silenced(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as on:
        code = write_script(on)
        dialog = await opened(on)
        assert [one[:2] for one in told(dialog)][:3] == [("parse-args", 4), ("obs-path-opened", 6), ("interactive", 7)]
        assert dialog.head.text().startswith("3 must be corrected, ") and "silenced" not in dialog.head.text()
        assert dialog.table.hasFocus(), "arrows go through them"
        assert [index.row() for index in dialog.table.selectionModel().selectedRows()] == [0]
        # The first is in sight: its line in the file, why, and what to do.
        assert "parse_args" in dialog.why.text() and "parse_known_args" in dialog.hint.text()
        assert dialog.code.current() == 3 and "args = parser.parse_args()" in dialog.code.toPlainText()
        assert "Correct-Horse-7" not in dialog.code.toPlainText()
        assert dialog.findings.place(dialog.findings.state.findings[0]) == code / "train.py"
        dialog.table.selectRow(2)
        assert "input" in dialog.why.text() and dialog.code.current() == 6
        assert dialog.fix_button.isVisible() and not dialog.fix_button.isEnabled(), "nothing does this by itself"
        # Silenced in the job, listed as silenced, and told again.
        dialog.silence_button.click()
        await until(lambda: ("interactive", 7, True) in told(dialog))
        assert on.form.state.spec.silenced_rules == ("interactive",)
        assert dialog.findings.state.chosen is not None and dialog.findings.state.chosen.is_silenced
        dialog.silence_button.click()
        await until(lambda: ("interactive", 7, False) in told(dialog))
        assert on.form.state.spec.silenced_rules == ()
        # Fixed after its difference was seen.
        dialog.table.selectRow(0)
        dialog.fix_button.click()
        fixing = await on.dialog(FixDialog)
        await until(lambda: not fixing.preview.state.is_reading)
        fixing.apply_button.click()
        await until(lambda: "parse_known_args" in (code / "train.py").read_text())
        await until(lambda: "parse-args" not in [one[0] for one in told(dialog)])
        await until(lambda: "parse-args" not in [one.rule for one in on.parts.checks.state.findings])
        # Whoever edits the code elsewhere sees it when coming back.
        await until(lambda: on.parts.code.state.tree is not None and not on.parts.code.state.is_looking)
        (code / "train.py").write_text("print('training')\n")
        on.parts.code.look()
        await until(lambda: not told(dialog))
        dialog.close()
        assert not on.cloud.reported


async def test_a_check_leads_to_its_finding(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as on:
        write_script(on)
        checks = on.parts.checks
        await until(lambda: checks.state.report is not None)
        mine = next(one for one in checks.state.findings if one.rule == "interactive")
        assert mine.level is CheckLevel.RED and (mine.file, mine.line) == ("train.py", 7)
        assert mine.source_line == 'print(line, input("go on? "))'
        listed = on.job.bar.checks
        await until(lambda: any("waits for an input" in listed.item(row).text() for row in range(listed.count())))
        row = next(row for row in range(listed.count()) if "waits for an input" in listed.item(row).text())
        listed.itemClicked.emit(listed.item(row))
        dialog = await on.dialog(FindingsDialog)
        await until(lambda: dialog.findings.state.chosen is not None)
        assert dialog.findings.state.chosen is not None and dialog.findings.state.chosen.rule == "interactive"
        dialog.close()


async def test_a_right_script_has_none(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path) as on:
        code = on.folder / "code"
        (code / "train.py").write_text("import sys\n\nprint(sys.argv)\n")
        on.form.load_spec(replace(digits_spec(), parameters=()), code)
        on.do("job.findings")
        dialog = await on.dialog(FindingsDialog)
        await until(lambda: dialog.findings.state.report is not None)
        assert dialog.none.isVisible() and not dialog.splitter.isVisible()
        dialog.close()
