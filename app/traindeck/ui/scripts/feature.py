"""Commands that adapt the scripts of the job that is being filled in, and the dialog that shows what they would do."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import Qt

from traindeck.domain.scripts.fixes import FOR_ASCEND, FOR_EIGHT_CARDS, FOR_MODELARTS, FixFamily
from traindeck.domain.texts import say, text
from traindeck.ui.scripts.fix_dialog import FixDialog
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.ui.shell.help_dialog import HelpDialog
from traindeck.viewmodels.scripts.script_fixes import FixPreview, ScriptFixes
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.help_pages import FROM_SCRIPT_TO_JOB, help_page

_NO_CODE = text("Specify a code directory in the job form first.")
_GROUP = 3


class ScriptsFeature(Feature):
    def __init__(self, shell: Shell, fixes: ScriptFixes) -> None:
        super().__init__(shell)
        self._fixes = fixes

    def news(self) -> Subscriptions:
        return [(self._fixes.wanted, self._show)]

    def commands(self) -> Iterable[Command]:
        return [
            self._command("job.modelarts", say("Adapt for &ModelArts…"), FOR_MODELARTS),
            self._command("job.ascend", say("Adapt for &Ascend…"), FOR_ASCEND),
            self._command("job.cards", say("Train on all &cards…"), FOR_EIGHT_CARDS),
            Command("help.script", say("From &script to job"), self._help, menu="help"),
            Command(
                "job.fix_back", say("&Undo the last change of scripts"), self._fixes.undo_last, self._has_scripts,
                menu="job", group=_GROUP, needs=_NO_CODE,
            ),
        ]  # fmt: skip

    def _command(self, name: str, title: str, family: FixFamily) -> Command:
        ask = partial(self._fixes.ask_family, family)
        return Command(name, title, ask, self._has_scripts, menu="job", group=_GROUP, needs=_NO_CODE)

    def _has_scripts(self) -> bool:
        return self._fixes.source.has_scripts

    def _help(self) -> None:
        dialog = HelpDialog(say("From script to job"), help_page(FROM_SCRIPT_TO_JOB), self.shell.window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        # Beside the window: what it says is done there.
        dialog.show()

    def _show(self, preview: FixPreview) -> None:
        dialog = FixDialog(preview, self.shell.theme, self.shell.window)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
