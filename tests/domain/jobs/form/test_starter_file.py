"""A new job file: what is live reads back, what is a comment is right once it is none any more."""

import re

import pytest

from traindeck.domain import texts
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.form_field import Prominence
from traindeck.domain.jobs.form.form_fields import FIELDS
from traindeck.domain.jobs.form.starter_file import starter_file
from traindeck.domain.jobs.form.validation import validate
from traindeck.domain.jobs.job_spec import JobSpec, Target
from traindeck.runtime import language


@pytest.mark.parametrize("spoken", [texts.ENGLISH, texts.CHINESE])
def test_a_new_file_is_a_good_form(spoken: str) -> None:
    language.speak(spoken)
    spec = job_file.parse(starter_file("digits", Target.LAB, "fit.py"))
    assert (spec.name, spec.target, spec.boot) == ("digits", Target.LAB, "fit.py")
    assert validate(spec) == []


def test_every_comment_that_is_taken_away_leaves_a_good_line() -> None:
    source = starter_file("digits", Target.MODELARTS, "train.py")
    live = "\n".join(re.sub(r"^# (?=[\[a-zA-Z_]+.*[\]=])", "", line) for line in source.splitlines()[2:])
    spec = job_file.parse(live)
    for field in FIELDS:
        if field.prominence is not Prominence.RARE:
            assert getattr(spec, field.name) != getattr(JobSpec(), field.name) or field.example in ('""', '"."', "1")


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_the_example_of_a_field_is_one(field: object) -> None:
    from traindeck.domain.jobs.form.form_field import FieldKind, FormField

    assert isinstance(field, FormField)
    head = f"[[{field.table}]]" if field.kind is FieldKind.VOLUMES else f"[{field.table}]"
    line = field.example if field.is_table else f"{field.key} = {field.example}"
    spec = job_file.parse(f"{head}\n{line}\n")
    mistakes = [error.field for error in validate(spec) if error.field.partition(":")[0] == field.name]
    assert mistakes == [] or field.name in ("command", "volumes", "notify_topic", "notify_events", "install_moxing",
                                            "subscription_id", "boot", "engine")  # fmt: skip
