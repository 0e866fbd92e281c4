"""Templates: what they lock, and jobs that left theirs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

from support.folder_cloud import (
    GPU,
    digits_spec,
)
from support.form_window import bench
from support.waiting import until
from traindeck.domain.jobs.form import job_file
from traindeck.ui.jobs.form.template_dialogs import SaveTemplateDialog
from traindeck.ui.kit.theme import Theme

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


async def test_a_template_locks_its_fields_until_they_are_unlocked(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.parts.templates.save("on two nodes", frozenset({"flavor", "parameters"}))
        await until(lambda: on.parts.templates.state.names == ("on two nodes",))
        on.form.new()
        on.parts.templates.begin_with("on two nodes")
        await until(lambda: on.form.state.template)
        made = replace(digits_spec(), template="on two nodes")
        assert on.form.state.spec == made
        assert on.view.origin.words.text() == "Template “on two nodes” · 2 locked"
        assert not on.page.flavor.isEnabled()
        dialog = SaveTemplateDialog(on.parts.templates, "on two nodes", on.view)
        checked = [dialog.fields.item(row) for row in range(dialog.fields.count())]
        locked = [item.text() for item in checked if item.checkState() == Qt.CheckState.Checked]
        assert locked == ["Specification", "Running parameters"], "whoever saves it anew keeps them locked"
        dialog.close()
        on.form.set_rows("parameters", ())
        on.form.set_field("flavor", GPU.id)
        assert on.form.state.spec == made
        on.view.activateWindow()
        await until(on.view.isActiveWindow)
        qtbot.mouseClick(on.view.origin.unlock, Qt.MouseButton.LeftButton)
        assert on.editor("name").hasFocus(), "the button is gone, and the keyboard still in the form"
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


async def test_a_job_file_that_names_a_template_has_its_fields_locked_and_says_why(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.parts.templates.save("ours", frozenset({"flavor", "parameters", "code_folder", "boot"}))
        await until(lambda: on.parts.templates.state.names == ("ours",))
        file = tmp_path / "code" / "job.toml"
        changed = replace(digits_spec(), template="ours", flavor=GPU.id)
        file.write_text(job_file.to_toml(changed), encoding="utf-8")
        on.form.open_file(file)
        await until(lambda: on.form.state.locked)
        assert on.view.origin.words.text() == "Template “ours” · 4 locked"
        assert on.form.state.spec == changed, "what the file says is not changed behind anyone's back"

        def told(widget: QWidget) -> str:
            QToolTip.hideText()
            QApplication.sendEvent(
                widget, QHelpEvent(QEvent.Type.ToolTip, QPoint(3, 3), widget.mapToGlobal(QPoint(3, 3)))
            )
            return QToolTip.text()

        words = "Locked by the template “ours”"
        table = on.page._tables["parameters"]
        locked = (on.page.flavor, on.editor("code_folder"), on.editor("boot"))
        for editor in locked:
            assert not editor.isEnabled() and told(editor) == words
        assert told(table.viewport()) == words
        assert not any(beside.isEnabled() for beside in on.view.fields["code_folder"]._beside)
        assert told(on.editor("name")) != words
        qtbot.mouseClick(on.view.origin.unlock, Qt.MouseButton.LeftButton)
        assert all(editor.isEnabled() for editor in locked) and told(on.page.flavor) != words
        on.form.new()
        on.form.set_field("template", "our")
        on.form.set_field("template", "ours")
        await until(lambda: not on.page.flavor.isEnabled())
        on.parts.templates.save("ours", frozenset({"boot"}))
        await until(lambda: on.form.state.locked == {"boot"})
        on.parts.templates.remove("ours")
        await until(lambda: not on.form.state.locked)
        assert not on.cloud.reported


async def test_what_is_empty_says_why(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot) as on:
        assert on.lines() == ["The form is checked while it is filled in."]
        on.form.set_field("nodes", 1)
        dialog = SaveTemplateDialog(on.parts.templates, "", on.view)
        dialog.open()
        assert dialog.fields.isHidden() and "No field is filled in" in dialog.locked.text()
        dialog.reject()
        dialog.deleteLater()
