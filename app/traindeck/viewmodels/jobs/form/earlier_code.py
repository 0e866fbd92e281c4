"""The code of the run that the form is like: as it was then, or as the working folder is now, and how they differ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Signal

from traindeck.domain.errors import AppError, NotFound
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.jobs.code.code_changes import CodeChanges
from traindeck.services.jobs.code.code_tree import FrozenCode
from traindeck.services.jobs.run_code import RunCode
from traindeck.viewmodels.jobs.form.form_draft import Origin
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.jobs.form.live_checks import LiveChecks
from traindeck.viewmodels.jobs.runs.code_diff import FOLDER
from traindeck.viewmodels.ports import Stateful

_COMPARE = "compare the code with that of the run"
_OF_CODE = ("code_folder", "code_url", "ignore")


@dataclass(frozen=True, slots=True)
class EarlierCodeState:
    run_id: str = ""
    """The run whose code it is; empty: the form is like no run, or like one without code."""
    frozen: FrozenCode | None = None
    """Its code as it was then; None: not found yet, or no longer there."""
    changes: CodeChanges | None = None
    """None: not compared yet, or that could not be done."""
    trouble: AppError | None = None
    """Why the working folder cannot be compared, or why the code of then is gone."""
    is_then: bool = False
    """It is the code as it was then that is submitted."""

    @property
    def words(self) -> Text | None:
        """How the working folder differs; None: that is not known yet."""
        if self.trouble is not None:
            return self.trouble.title
        if self.changes is None:
            return None
        if not self.changes.files:
            return text("no file differs")
        return count_text("{count} file differs", "{count} files differ", len(self.changes.files))


class EarlierCode(Stateful):
    """Compares in the background; which code goes is chosen here."""

    state: EarlierCodeState

    difference_wanted = Signal(str, str)
    """The ID of the run, and what its code is compared with; CodeDiff has the words for both."""

    def __init__(self, form: JobForm, checks: LiveChecks, code: RunCode, scope: TaskScope) -> None:
        super().__init__()
        self.state = EarlierCodeState()
        self._form = form
        self._checks = checks
        self._code = code
        self._scope = scope
        self._about: tuple[str, Path, tuple[str, ...]] | None = None
        form.changed.connect(self._on_form)

    def choose(self, is_then: bool) -> None:
        if self.state.frozen is not None:
            self._become(is_then=is_then)
            self._tell_checks()

    def look(self) -> None:
        """Compare once more: files change while nobody tells."""
        self._about = None
        self._on_form()

    def show_difference(self) -> None:
        """Somebody wants to see which files differ, and how."""
        origin = self._form.state.origin
        if origin is not None:
            folder = self._form.state.code_place
            is_own = folder == Path(origin.spec.code_folder)
            self.difference_wanted.emit(origin.run_id, FOLDER if is_own else f"{FOLDER}{folder}")

    def _on_form(self) -> None:
        state = self._form.state
        origin = state.origin
        if origin is None or not origin.bundle or any(_differs(origin, state.spec, name) for name in _OF_CODE):
            if self._about is not None:
                self._about = None
                self._scope.cancel(_COMPARE)
                self.state = EarlierCodeState()
                self.changed.emit()
                self._tell_checks()
            return
        wanted = (origin.run_id, state.code_place, state.spec.ignore)
        if wanted == self._about:
            return
        if self._about is None or self._about[0] != origin.run_id:
            self.state = EarlierCodeState(origin.run_id)
            self.changed.emit()
            self._tell_checks()
        self._about = wanted
        self._scope.start(_COMPARE, lambda: self._compare(origin, wanted[1]), Repeat.REPLACE)

    async def _compare(self, origin: Origin, folder: Path) -> None:
        try:
            run = await self._code.records.existing(origin.run_id)
        except NotFound:  # deleted while the form was not open
            self._form.forget_run(origin.run_id)
            return
        try:
            bundle = await self._code.of(run)
        except AppError as error:
            self._become(trouble=error)
            return
        self._become(frozen=self._code.bundles.as_code(bundle))
        try:
            changes = await self._code.to_folder(run, folder)
        except AppError as error:
            # Without a folder to take the code from, there is that of then.
            self._become(trouble=error, changes=None, is_then=True)
            self._tell_checks()
        else:
            self._become(changes=changes, trouble=None)

    def _tell_checks(self) -> None:
        self._checks.use_frozen(self.state.frozen if self.state.is_then else None)


def _differs(origin: Origin, spec: JobSpec, name: str) -> bool:
    return bool(getattr(origin.spec, name) != getattr(spec, name))
