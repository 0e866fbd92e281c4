"""What can be done with a run: declared once, for menus, keys, the palette and the head of its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from traindeck.domain.jobs.comparison import MOST_RUNS
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.texts import Text, say, text
from traindeck.ui.kit.context_menu import keys_words, letter_entries
from traindeck.viewmodels.jobs.runs.run_list import RunList
from traindeck.viewmodels.jobs.runs.run_removals import can_be_deleted
from traindeck.viewmodels.ports import Asks

_NO_RUN = text("Select a run first.")
_ONE_RUN = text("Select one run only.")
_NO_CODE = text("The code of this run was not kept.")
_FOR_ALL = text("The state of this run does not allow it.")


def _always(_: Run) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class RunAction:
    """One thing to do with runs; its key counts where runs have the focus."""

    id: str
    title: str
    act: Callable[[Sequence[Run]], object]
    fits: Callable[[Run], bool] = _always
    keys: str = ""
    group: int = 0
    icon: str = ""
    least: int = 1
    most: int = 1
    """Of so many runs at once; 0: of any number."""
    why: Text = _FOR_ALL
    """Said where it cannot be done with what is selected."""
    is_on: Callable[[Run], bool] | None = None

    @property
    def of_several(self) -> bool:
        return self.most != 1

    def can_be_done(self, runs: Sequence[Run]) -> bool:
        return not self.why_not(runs)

    def why_not(self, runs: Sequence[Run]) -> Text | None:
        if not runs:
            return _NO_RUN
        if self.least > 1 and not self.least <= len(runs) <= self.most:
            return text("Select {least} to {most} runs.", least=self.least, most=self.most)
        if len(runs) > 1 and self.most == 1:
            return _ONE_RUN
        return None if any(map(self.fits, runs)) else self.why


def run_actions(runs: RunList, asks: Asks) -> list[RunAction]:
    def stop(chosen: Sequence[Run]) -> None:
        runs.stop([run.id for run in chosen], asks.confirm)

    def delete(chosen: Sequence[Run]) -> None:
        runs.remove([run.id for run in chosen], asks.choose)

    def one(act: Callable[[Run], object]) -> Callable[[Sequence[Run]], object]:
        return lambda chosen: act(chosen[0])

    def star(chosen: Sequence[Run]) -> None:
        runs.star(chosen, starred=not all(run.starred for run in chosen))

    return [
        RunAction(
            "run.again", say("Run &again"), one(runs.rerun), can_run_again, "R", 1, "again",
            why=text("Its code was not kept, so there is nothing to run again."),
        ),
        RunAction(
            "run.edit", say("&Edit and run again"), one(runs.edit_wanted.emit), keys="Shift+R", group=1, icon="form"
        ),
        RunAction(
            "run.check", say("&Check again whether it exists"), one(runs.check_again), _is_unconfirmed, group=1,
            why=text("It is known whether this run was submitted."),
        ),
        RunAction(
            "run.stop", say("S&top…"), stop, _can_stop, group=2, icon="stop", most=0,
            why=text("There is no active job to stop."),
        ),
        RunAction("run.open", say("&Open run"), one(runs.opened.emit), keys="Return", group=3),
        RunAction("run.log", say("Show &log"), one(runs.log_wanted.emit), group=3, icon="log"),
        RunAction(
            "run.compare", say("Co&mpare"), runs.compare_wanted.emit, group=3, icon="beside", least=2, most=MOST_RUNS
        ),
        RunAction(
            "run.diff", say("Compare code &with…"), one(runs.diff_wanted.emit), _has_code, group=3, icon="diff",
            why=_NO_CODE,
        ),
        RunAction(
            "run.restore", say("&Restore code to folder…"), one(runs.restore_wanted.emit), _has_code, group=3,
            icon="folder", why=_NO_CODE,
        ),
        RunAction(
            "run.code_export", say("Export code as &zip…"), one(runs.code_export_wanted.emit), _has_code, group=3,
            icon="pack", why=_NO_CODE,
        ),
        RunAction("run.star", say("&Star"), star, group=4, icon="star", most=0, is_on=lambda run: run.starred),
        RunAction("run.tags", say("Ta&gs…"), runs.tags_wanted.emit, group=4, icon="tag", most=0),
        RunAction("run.copy_name", say("Copy &name"), _copy_names, group=5, most=0),
        RunAction(
            "run.copy_id", say("Copy job &ID"), _copy_ids, _has_job, group=5, most=0,
            why=text("No job was made for this run."),
        ),
        RunAction("run.export", say("E&xport as CSV or Markdown…"), runs.export_wanted.emit, group=5, most=0),
        RunAction(
            "run.delete", say("&Delete…"), delete, can_be_deleted, "Del", 6, most=0,
            why=text("Stop it first, then delete it."),
        ),
    ]  # fmt: skip


def can_run_again(run: Run) -> bool:
    """Before its code is frozen there is nothing to submit; of a job made elsewhere the code is at the service."""
    return bool(run.bundle or run.job_id)


def _has_code(run: Run) -> bool:
    return bool(run.bundle)


def _is_unconfirmed(run: Run) -> bool:
    return run.state is RunState.UNCONFIRMED


def _can_stop(run: Run) -> bool:
    return run.state.can_stop


def _has_job(run: Run) -> bool:
    return bool(run.job_id)


def stop_action(run: Run) -> str:
    """The id of what its page offers at the place of Stop…; empty: nothing."""
    if run.state.can_stop:
        return "run.stop"
    return "run.check" if run.state is RunState.UNCONFIRMED else ""


def again_action(run: Run) -> str:
    """The same for the place of Run again, which may cost money: never that of Stop…."""
    return "run.again" if run.state.is_over and can_run_again(run) else ""


def fill_menu(menu: QMenu, runs: Sequence[Run], actions: list[RunAction]) -> None:
    """Add every action, always at the same place; disabled ones show why."""
    group = None
    menu.setToolTipsVisible(True)
    for action in actions:
        if len(runs) > 1 and not action.of_several:
            continue
        if group is not None and action.group != group:
            menu.addSeparator()
        group = action.group

        # The key is shown, not registered: what has the focus acts on it.
        entry = menu.addAction(f"{action.title}\t{keys_words(action.keys)}" if action.keys else action.title)
        why_not = action.why_not(runs)
        entry.setEnabled(why_not is None)
        entry.setToolTip(say(why_not) if why_not is not None else "")
        if action.is_on is not None:
            entry.setCheckable(True)
            entry.setChecked(all(map(action.is_on, runs)))
        entry.triggered.connect(partial(_act, action, runs))
    letter_entries(menu)


def _act(action: RunAction, runs: Sequence[Run], *_: bool) -> None:
    action.act(runs)


def _copy_names(runs: Sequence[Run]) -> None:
    QGuiApplication.clipboard().setText("\n".join(run.name for run in runs))


def _copy_ids(runs: Sequence[Run]) -> None:
    QGuiApplication.clipboard().setText("\n".join(run.job_id for run in runs if run.job_id))
