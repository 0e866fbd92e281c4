"""Rows of a comparison, as they are named."""

from __future__ import annotations

from datetime import UTC, datetime

from traindeck.domain import texts
from traindeck.domain.jobs.comparison import ComparedRun, CompareSection, compared
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.jobs.run_query import MeasuredRun
from traindeck.runtime import language

NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
OF_THE_FORM = (CompareSection.CODE, CompareSection.ENGINE, CompareSection.RESOURCES)


def test_fields_of_the_form_are_called_as_the_form_calls_them() -> None:
    spec = JobSpec(
        name="digits", boot="train.py", command="bash run.sh", engine="PyTorch", engine_version="pytorch_2.1.0",
        image="my-org/torch:1.0", flavor="modelarts.vm.cpu.2u", pool="pool-1", stop_after="4h",
    )  # fmt: skip
    run = Run("r1", 1, "digits", "lab", spec, RunState.COMPLETED, NOON)
    rows = compared([ComparedRun(MeasuredRun(run, {}), {}, {})] * 2, NOON)
    of_fields = [row for row in rows if row.section in OF_THE_FORM and row.label is not None]
    assert [row.name for row in of_fields] == [
        "engine", "version", "image", "flavor", "nodes", "pool", "stop_after", "boot", "command"
    ], "programs that read the document know them by these"  # fmt: skip
    assert [row.title for row in of_fields] == [
        "Engine", "Version", "Custom image", "Specification", "Nodes", "Resource pool", "Stop after", "Boot file",
        "Start command",
    ]  # fmt: skip
    language.speak(texts.CHINESE)
    assert [row.title for row in of_fields][:4] == ["引擎", "版本", "自定义镜像", "规格"]
