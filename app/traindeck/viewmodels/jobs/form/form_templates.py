"""Templates of the form: what there are, making one of what stands in it, and beginning with one."""

from __future__ import annotations

import logging
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.form.form_field import FormField
from traindeck.domain.jobs.form.form_fields import BY_NAME
from traindeck.domain.jobs.form.job_file_edit import edited
from traindeck.domain.jobs.form.job_template import template_of
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.jobs.form.form_state import EMPTY
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.ports import Stateful

if TYPE_CHECKING:
    from traindeck.store.templates import TemplateStore


log = logging.getLogger(__name__)

_LOCKS = "look what the template locks"


@dataclass(frozen=True, slots=True)
class TemplatesState:
    names: tuple[str, ...] = ()
    is_known: bool = False


class FormTemplates(Stateful):
    """Kept on this computer; a template is changed by saving another under its name."""

    state: TemplatesState

    def __init__(self, form: JobForm, templates: TemplateStore, scope: TaskScope) -> None:
        super().__init__()
        self.state = TemplatesState()
        self._form = form
        self._templates = templates
        self._scope = scope
        self._locks_of = ""
        form.changed.connect(self._on_form)

    def refresh(self) -> None:
        self._scope.start("read the templates", self._read, Repeat.REPLACE)

    def begin_with(self, name: str) -> None:
        """A new job like this template."""
        self._scope.start("open a template", lambda: self._open(name), Repeat.REPLACE)

    def save(self, name: str, locked: frozenset[str]) -> None:
        """What stands in the form, as a template; in place of one of the same name."""
        source, spec = self._form.source, replace(self._form.state.spec, template="")
        self._scope.start(f"save the template {name}", lambda: self._save(name, edited(source, spec), locked))

    def remove(self, name: str) -> None:
        self._scope.start(f"delete the template {name}", lambda: self._remove(name))

    @property
    def locked(self) -> frozenset[str]:
        """Those that the template of the form locks: whoever saves it anew has them kept."""
        return self._form.state.locked

    def lockable(self) -> list[FormField]:
        """The fields that say something, in the order of the form."""
        spec = self._form.state.spec
        names = [one.name for one in fields(JobSpec) if getattr(spec, one.name) != getattr(EMPTY, one.name)]
        return [BY_NAME[name] for name in names if name not in ("name", "template")]

    def _on_form(self) -> None:
        """Whatever way a job came that names a template, what that one locks is locked."""
        name = self._form.state.template
        if name != self._locks_of:
            self._locks_of = name
            self._look_for_locks()

    def _look_for_locks(self) -> None:
        name = self._locks_of
        if name:
            self._scope.start(_LOCKS, lambda: self._lock(name), Repeat.REPLACE)
        else:
            self._scope.cancel(_LOCKS)

    async def _lock(self, name: str) -> None:
        try:
            locked = frozenset((await self._templates.existing(name)).locked)
        except AppError as error:  # the check of the template says it where it is seen
            log.info("the template of the form: %s", error)
            locked = frozenset()
        self._form.lock(name, locked)

    async def _read(self) -> None:
        self._become(names=tuple(one.name for one in await self._templates.all()), is_known=True)
        self._look_for_locks()

    async def _open(self, name: str) -> None:
        self._form.load_template(await self._templates.existing(name))

    async def _save(self, name: str, source: str, locked: frozenset[str]) -> None:
        places = [BY_NAME[field].table if BY_NAME[field].is_table else BY_NAME[field].place for field in sorted(locked)]
        await self._templates.save(template_of(name, source, places), replaces=True)
        await self._read()

    async def _remove(self, name: str) -> None:
        await self._templates.remove(name)
        await self._read()
