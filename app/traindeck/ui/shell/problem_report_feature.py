"""How a problem is reported: from the menu, and from the dialog that tells of a mistake of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from traindeck.domain.texts import say
from traindeck.ui.shell.feature import Feature, Shell
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.problem_report import ProblemForm


class ProblemReportFeature(Feature):
    """`make` is given the report of a mistake of ours, where there is one."""

    def __init__(self, shell: Shell, make: Callable[[str], ProblemForm]) -> None:
        super().__init__(shell)
        self._make = make
        shell.window.report_problem = self.open

    def commands(self) -> Iterable[Command]:
        yield Command("help.report", say("&Report a problem…"), self.open, menu="help", group=50, icon="warning")

    def open(self, crash: str = "") -> None:
        from traindeck.ui.shell.problem_report_dialog import ProblemReportDialog  # seldom seen

        ProblemReportDialog(self._make(crash), self.shell.theme, self.shell.tasks, self.shell.window).open()
