"""Templates of the form: what there are, making one of what stands in it, and beginning with one."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from traindeck.domain.jobs.form_field import FormField
from traindeck.domain.jobs.form_fields import BY_NAME
from traindeck.domain.jobs.job_file_edit import edited
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.jobs.job_template import template_of
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.jobs.form_state import EMPTY
from traindeck.viewmodels.jobs.job_form import JobForm
from traindeck.viewmodels.ports import Stateful

if TYPE_CHECKING:
    from traindeck.store.templates import TemplateStore


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

    def lockable(self) -> list[FormField]:
        """The fields that say something, in the order of the form."""
        spec = self._form.state.spec
        names = [one.name for one in fields(JobSpec) if getattr(spec, one.name) != getattr(EMPTY, one.name)]
        return [BY_NAME[name] for name in names if name not in ("name", "template")]

    async def _read(self) -> None:
        self._become(names=tuple(one.name for one in await self._templates.all()), is_known=True)

    async def _open(self, name: str) -> None:
        self._form.load_template(await self._templates.existing(name))

    async def _save(self, name: str, source: str, locked: frozenset[str]) -> None:
        places = [BY_NAME[field].table if BY_NAME[field].is_table else BY_NAME[field].place for field in sorted(locked)]
        await self._templates.save(template_of(name, source, places), replaces=True)
        await self._read()

    async def _remove(self, name: str) -> None:
        await self._templates.remove(name)
        await self._read()
