"""The tabs that compare: runs beside each other, and code with code; and having the code of a run back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QDialog, QWidget

from traindeck.domain.jobs.comparison import MOST_RUNS
from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import say, say_list
from traindeck.ui.jobs.runs.choose_run_dialog import OTHER_FOLDER, ChooseRunDialog
from traindeck.ui.jobs.runs.code_diff_view import CodeDiffView
from traindeck.ui.jobs.runs.compare_view import CompareView
from traindeck.ui.kit.dialogs import choose_folder, chosen_place, shown
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.viewmodels.jobs.runs.code_diff import FOLDER, CodeDiff
from traindeck.viewmodels.jobs.runs.run_comparison import RunsBeside
from traindeck.viewmodels.rooms import JobsRoom

_COMPARE, _DIFF = "compare.", "diff."
_ZIP = "ZIP (*.zip)"


class CompareFeature(Feature):
    """A tab for each set of runs, and for each pair of code."""

    def __init__(self, shell: Shell, room: JobsRoom) -> None:
        super().__init__(shell)
        self._room = room
        self._open: dict[str, RunsBeside | CodeDiff] = {}

    def news(self) -> Subscriptions:
        runs = self._room.runs
        return [
            (runs.compare_wanted, self.compare),
            (runs.diff_wanted, self._ask_other),
            (self._room.parts.earlier.difference_wanted, self.show_diff),
            (runs.restore_wanted, self._ask_folder),
            (runs.code_export_wanted, self._ask_archive),
        ]

    def compare(self, runs: Sequence[Run]) -> None:
        self._open_compare(".".join(run.id for run in sorted(runs, key=lambda run: run.number)))

    def show_diff(self, run_id: str, other: str, file: str = "") -> None:
        """`other` is the ID of a run, or `folder:` and a path."""
        key = f"{_DIFF}{run_id}.{other}"
        title = partial(self._diff_title, run_id, other)
        view = self.shell.window.open_tab(key, title(), partial(self._diff_view, key))
        self._name_tab(key, title, run_id, other)
        view.setFocus()
        self.shell.window.give_page_room()
        diff = self._open[key]
        if isinstance(diff, CodeDiff) and (file or diff.may_have_changed):
            diff.load(file)

    def restore(self, page: object) -> bool:
        if isinstance(page, str) and page.startswith(_COMPARE):
            self._open_compare(page.removeprefix(_COMPARE))
            return True
        if isinstance(page, str) and page.startswith(_DIFF):
            run_id, _, other = page.removeprefix(_DIFF).partition(".")
            self.show_diff(run_id, other)
            return True
        return False

    def page_closed(self, key: str) -> None:
        if model := self._open.pop(key, None):
            model.close()

    def _open_compare(self, ids: str) -> None:
        wanted = [one for one in ids.split(".") if one][:MOST_RUNS]
        key = f"{_COMPARE}{'.'.join(wanted)}"

        def title() -> str:
            return say("Compare {runs}", runs=say_list(self._number(one) for one in wanted))

        self.shell.window.open_tab(key, title(), partial(self._compare_view, key, wanted)).setFocus()
        self._name_tab(key, title, *wanted)
        self.shell.window.give_page_room()

    def _compare_view(self, key: str, ids: Sequence[str]) -> QWidget:
        model = RunsBeside(ids, self._room.comparing, self._room.scope)
        self._open[key] = model
        view = CompareView(model, self.shell.theme)
        view.diff_wanted.connect(self.show_diff)
        model.load()
        return view

    def _diff_view(self, key: str) -> QWidget:
        run_id, _, other = key.removeprefix(_DIFF).partition(".")
        diff = CodeDiff(run_id, other, self._room.service, self._room.scope)
        self._open[key] = diff
        return CodeDiffView(diff, self.shell.theme)

    def _name_tab(self, key: str, title: Callable[[], str], *run_ids: str) -> None:
        """Once it is known what the runs are called."""
        wanted = [one for one in run_ids if not one.startswith(FOLDER)]
        self._room.runs.when_known(wanted, lambda _: self.shell.window.rename_tab(key, title()))

    def _number(self, run_id: str) -> str:
        run = self._room.runs.run(run_id)
        return run_id if run is None else f"{run.number}"

    def _diff_title(self, run_id: str, other: str) -> str:
        right = Path(other.removeprefix(FOLDER)).name or say("folder") if other.startswith(FOLDER) else None
        return say("Code {left} ↔ {right}", left=self._number(run_id), right=right or self._number(other))

    # asked for with a dialog

    def _ask_other(self, run: Run) -> None:
        self.shell.tasks.start("choose what to compare with", partial(self._choose_other, run))

    async def _choose_other(self, run: Run) -> None:
        dialog = ChooseRunDialog(run, await self._room.runs.all(), self.shell.window)
        is_chosen = await shown(dialog) == QDialog.DialogCode.Accepted
        if is_chosen and dialog.chosen == OTHER_FOLDER:
            title = say("Compare the code with this folder")
            choose_folder(self.shell.window, title, lambda found: self.show_diff(run.id, f"{FOLDER}{found[0]}"))
        elif is_chosen and dialog.chosen:
            self.show_diff(run.id, dialog.chosen)

    def _ask_folder(self, run: Run) -> None:
        title = say("Restore the code of run {number} to this folder", number=run.number)
        choose_folder(self.shell.window, title, lambda found: self._room.code.restore(run, found[0], self.shell.choose))

    def _ask_archive(self, run: Run) -> None:
        self.shell.tasks.start("choose an archive", partial(self._choose_archive, run))

    async def _choose_archive(self, run: Run) -> None:
        path = await chosen_place(self.shell.window, say("Export the code as zip"), f"{run.name}.zip", _ZIP)
        if path is not None:
            self._room.code.export(run, path)
