"""A job file saved over keeps what the user wrote around its values."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from domain.jobs.form.test_job_file import specs
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.job_file_edit import edited
from traindeck.domain.jobs.form.starter_file import starter_file
from traindeck.domain.jobs.job_spec import Channel, JobSpec, Target

SOURCE = """\
# my job
[job]
name   = "bert"   # short
target = "lab"

[resources]
nodes = 1  # enough
stop_after = "4h"

[parameters]
lr = 0.01      # from the paper
epochs = 3

[outputs]
train_url = "obs://b-1/o/"  # kept
"""


def test_only_what_changed_is_written_anew() -> None:
    spec = job_file.parse(SOURCE)
    assert edited(SOURCE, spec) == SOURCE
    changed = replace(spec, nodes=2, parameters=(("lr", 0.02), ("epochs", 3), ("amp", True)), description="more")
    written = edited(SOURCE, changed)
    assert job_file.parse(written) == changed
    for line in ("# my job", 'name   = "bert"   # short', "# from the paper", "# enough", "epochs = 3", "# kept"):
        assert line in written
    assert "lr =" not in edited(written, replace(changed, parameters=(("epochs", 3),)))


def test_rows_in_another_order_and_inline_tables_are_right_as_well() -> None:
    spec = job_file.parse(SOURCE)
    turned = replace(spec, parameters=tuple(reversed(spec.parameters)), outputs=(Channel("a", "obs://b-1/{run}/"),))
    assert job_file.parse(edited(SOURCE, turned)) == turned
    inline = 'job = { name = "x", target = "lab" }\nparameters = { lr = 1 }\n'
    other = JobSpec(name="y", target=Target.MODELARTS, parameters=(("lr", 2),))
    assert job_file.parse(edited(inline, other)) == other
    assert job_file.parse(edited("not toml", other)) == other


@given(specs, specs)
def test_any_form_can_be_saved_over_any_file(before: JobSpec, after: JobSpec) -> None:
    assert job_file.parse(edited(job_file.to_toml(before), after)) == after


@given(specs)
def test_the_comments_of_a_new_file_stay(spec: JobSpec) -> None:
    source = starter_file("digits", Target.LAB, "train.py")
    written = edited(source, spec)
    assert job_file.parse(written) == spec
