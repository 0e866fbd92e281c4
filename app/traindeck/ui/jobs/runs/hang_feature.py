"""What was asked about a run that may hang: the answer “stop” is the command, with its own confirmation."""

from __future__ import annotations

from traindeck.ui.shell.desktop_feature import bring_to_front
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.viewmodels.jobs.runs.hang_news import HangNews
from traindeck.viewmodels.jobs.runs.run_list import RunList


class HangFeature(Feature):
    """The question may have been answered outside the window, where nothing can be confirmed."""

    def __init__(self, shell: Shell, hangs: HangNews, runs: RunList) -> None:
        super().__init__(shell)
        self._hangs = hangs
        self._runs = runs

    def news(self) -> Subscriptions:
        return [(self._hangs.stop_wanted, self._stop)]

    def _stop(self, run_id: str) -> None:
        bring_to_front(self.shell.window)
        self._runs.stop([run_id], self.shell.confirm)
