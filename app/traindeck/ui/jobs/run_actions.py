"""What can be done with a run: declared once, for menus, keys, the palette and the head of its page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtGui import QAction, QGuiApplication
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
    """One thing to do with one run; its key counts where runs have the focus."""

    id: str
    title: str
    act: Callable[[Run], object]
    fits: Callable[[Run], bool] = _always
    keys: str = ""
    group: int = 0
    icon: str = ""


def run_actions(runs: RunList, confirm: Confirm) -> list[RunAction]:
    def stop(run: Run) -> None:
        runs.stop([run.id], confirm)

    def delete(run: Run) -> None:
        runs.remove([run.id], confirm)

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
        RunAction("run.again", say("Run &again"), runs.rerun, can_run_again, "R", 1, "again"),
        RunAction("run.edit", say("&Edit and run again"), runs.edit_wanted.emit, keys="Shift+R", group=1, icon="form"),
        RunAction("run.check", say("&Check again whether it exists"), runs.check_again, is_unconfirmed, group=1),
        RunAction("run.stop", say("S&top…"), stop, can_stop, group=2, icon="stop"),
        RunAction("run.open", say("&Open run"), runs.opened.emit, keys="Return", group=3),
        RunAction("run.log", say("Show &log"), runs.log_wanted.emit, group=3, icon="log"),
        RunAction("run.copy_name", say("Copy &name"), _copy_name, group=4),
        RunAction("run.copy_id", say("Copy job &ID"), _copy_id, has_job, group=4),
        RunAction("run.delete", say("&Delete…"), delete, is_over, "Del", 5),
    ]


def head_action(run: Run) -> str:
    """The id of the one that fits how the run is now; empty: there is nothing to do but wait."""
    if run.state.can_stop:
        return "run.stop"
    if run.state is RunState.UNCONFIRMED:
        return "run.check"
    return "run.again" if run.state.is_over and run.bundle else ""


def add_to_menu(menu: QMenu, words: str, keys: str, act: Callable[[], object], *, enabled: bool) -> QAction:
    """The key is shown, not registered: what has the focus acts on it."""
    action = menu.addAction(f"{words}\t{keys_words(keys)}" if keys else words)
    action.setEnabled(enabled)
    action.triggered.connect(lambda: act())
    return action


def fill_menu(menu: QMenu, run: Run, actions: list[RunAction], left_out: str = "") -> None:
    """All that can be done with it."""
    group = None
    for action in actions:
        if action.id == left_out:
            continue
        if group is not None and action.group != group:
            menu.addSeparator()
        group = action.group

        def act(chosen: RunAction = action) -> None:
            chosen.act(run)

        add_to_menu(menu, action.title, action.keys, act, enabled=action.fits(run))


def _copy_name(run: Run) -> None:
    QGuiApplication.clipboard().setText(run.name)


def _copy_id(run: Run) -> None:
    QGuiApplication.clipboard().setText(run.job_id)
