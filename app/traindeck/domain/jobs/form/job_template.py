"""A form kept under a name to begin others with, and which of its fields those leave alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.form_field import unknown_words
from traindeck.domain.jobs.form.form_fields import FIELDS
from traindeck.domain.jobs.form.job_file_edit import edited
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import text

_NAME = re.compile(r"\S(.{0,62}\S)?")


@dataclass(frozen=True, slots=True)
class JobTemplate:
    """`source` is a job file as it was written, with its comments; `locked` are names of fields."""

    name: str
    source: str
    locked: tuple[str, ...] = ()

    @property
    def spec(self) -> JobSpec:
        return job_file.parse(self.source)

    def begin(self) -> str:
        """A job file made from it, with its comments."""
        return edited(self.source, replace(self.spec, template=self.name))

    def changed_in(self, spec: JobSpec) -> list[str]:
        """The locked fields in which a form made from it holds something else; 1 and true are not the same."""
        own = self.spec
        return [name for name in self.locked if repr(getattr(spec, name)) != repr(getattr(own, name))]


def check_template_name(name: str) -> None:
    if not _NAME.fullmatch(name) or not name.isprintable():
        raise InvalidInput(
            text("“{name}” cannot be the name of a template.", name=name),
            text("Enter up to 64 characters on one line."),
        )


def template_of(name: str, source: str, locked: list[str]) -> JobTemplate:
    """A template whose file is good; keys are written as in settings: `resources.flavor`, or `parameters` for all."""
    check_template_name(name)
    job_file.parse(source)
    places = {
        field.table if field.is_table else field.place: field.name for field in FIELDS if field.name != "template"
    }
    for key in locked:
        if key not in places:
            raise InvalidInput(unknown_words(key, list(places)), text("“traindeck job fields” explains all keys."))
    return JobTemplate(name, source, tuple(places[key] for key in locked))
