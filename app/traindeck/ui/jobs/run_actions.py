"""What can be done with a run: declared once, for menus, keys, the palette and the head of its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.texts import say
from traindeck.ui.kit.context_menu import keys_words
from traindeck.viewmodels.jobs.run_list import RunList
from traindeck.viewmodels.ports import Confirm


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
    of_several: bool = False
    """Else of one alone."""

    def can_be_done(self, runs: Sequence[Run]) -> bool:
        is_few = len(runs) == 1 or (self.of_several and bool(runs))
        return is_few and any(map(self.fits, runs))


def run_actions(runs: RunList, confirm: Confirm) -> list[RunAction]:
    def stop(chosen: Sequence[Run]) -> None:
        runs.stop([run.id for run in chosen], confirm)

    def delete(chosen: Sequence[Run]) -> None:
        runs.remove([run.id for run in chosen], confirm)

    def one(act: Callable[[Run], object]) -> Callable[[Sequence[Run]], object]:
        return lambda chosen: act(chosen[0])

    def can_run_again(run: Run) -> bool:
        return bool(run.bundle)  # before its code is frozen there is nothing to send again

    def is_over(run: Run) -> bool:
        return run.state.is_over

    def is_unconfirmed(run: Run) -> bool:
        return run.state is RunState.UNCONFIRMED

    def can_stop(run: Run) -> bool:
        return run.state.can_stop

    def has_job(run: Run) -> bool:
        return bool(run.job_id)

    return [
        RunAction("run.again", say("Run &again"), one(runs.rerun), can_run_again, "R", 1, "again"),
        RunAction(
            "run.edit", say("&Edit and run again"), one(runs.edit_wanted.emit), keys="Shift+R", group=1, icon="form"
        ),
        RunAction("run.check", say("&Check again whether it exists"), one(runs.check_again), is_unconfirmed, group=1),
        RunAction("run.stop", say("S&top…"), stop, can_stop, group=2, icon="stop", of_several=True),
        RunAction("run.open", say("&Open run"), one(runs.opened.emit), keys="Return", group=3),
        RunAction("run.log", say("Show &log"), one(runs.log_wanted.emit), group=3, icon="log"),
        RunAction("run.copy_name", say("Copy &name"), _copy_names, group=4, of_several=True),
        RunAction("run.copy_id", say("Copy job &ID"), _copy_ids, has_job, group=4, of_several=True),
        RunAction("run.delete", say("&Delete…"), delete, is_over, "Del", 5, of_several=True),
    ]


def head_action(run: Run) -> str:
    """The id of the one that fits how the run is now; empty: there is nothing to do but wait."""
    if run.state.can_stop:
        return "run.stop"
    if run.state is RunState.UNCONFIRMED:
        return "run.check"
    return "run.again" if run.state.is_over and run.bundle else ""


def fill_menu(menu: QMenu, runs: Sequence[Run], actions: list[RunAction], left_out: str = "") -> None:
    """All that can be done with it, or with all of them."""
    group = None
    for action in actions:
        if action.id == left_out or not (action.of_several or len(runs) == 1):
            continue
        if group is not None and action.group != group:
            menu.addSeparator()
        group = action.group

        # The key is shown, not registered: what has the focus acts on it.
        entry = menu.addAction(f"{action.title}\t{keys_words(action.keys)}" if action.keys else action.title)
        entry.setEnabled(action.can_be_done(runs))
        entry.triggered.connect(partial(_act, action, runs))


def _act(action: RunAction, runs: Sequence[Run], *_: bool) -> None:
    action.act(runs)


def _copy_names(runs: Sequence[Run]) -> None:
    QGuiApplication.clipboard().setText("\n".join(run.name for run in runs))


def _copy_ids(runs: Sequence[Run]) -> None:
    QGuiApplication.clipboard().setText("\n".join(run.job_id for run in runs if run.job_id))
