"""The form as files of other programs, and back; what does not go along is said."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.form_bench import form_parts
from support.waiting import until
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.form.job_format import JobFormat
from traindeck.domain.jobs.job_spec import JobSpec, Target, wire_value
from traindeck.viewmodels.jobs.form.form_parts import FormParts
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.shell.journal import Happening, Journal, NewsKind

SPEC = replace(
    digits_spec(),
    target=Target.MODELARTS,
    environment=(("API_TOKEN", "very-secret"), ("MODE", "fast")),
    tags=(("a", "b"),),
)


@asynccontextmanager
async def opened(folder: Path, spec: JobSpec = SPEC) -> AsyncIterator[tuple[FormParts, Journal, FolderCloud]]:
    async with FolderCloud(folder) as cloud:
        journal = Journal()
        form = JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope, code_folder(folder / "code"))
        parts = form_parts(cloud, form, journal=journal)
        form.start()
        await until(lambda: form.state.offer and not form.state.offer_is_old)
        form.load_spec(spec, folder / "code")
        yield parts, journal, cloud


async def told(journal: Journal, count: int) -> Happening:
    await until(lambda: len(journal.entries) == count)
    return journal.entries[-1]


@pytest.mark.parametrize("kind", [JobFormat.YAML, JobFormat.JSON, JobFormat.TOOLKIT])
async def test_a_form_goes_out_without_its_keys_and_comes_back(tmp_path: Path, kind: JobFormat) -> None:
    async with opened(tmp_path) as (parts, journal, _):
        file = tmp_path / f"job{kind.suffix}"
        parts.exchange.write(file, kind)
        news = await told(journal, 1)
        assert str(news.title) == f"Exported the job to “{file.name}”."
        assert "Left empty, because they may be keys: API_TOKEN." in str(news.hint)
        written = file.read_text("utf-8")
        assert "very-secret" not in written
        if kind is JobFormat.TOOLKIT:
            assert "This format does not hold: " in str(news.hint) and "Tags" in str(news.hint)
        parts.form.new()
        parts.exchange.take_in(file)
        back = await told(journal, 2)
        state = parts.form.state
        assert state.spec.name == SPEC.name and state.spec.flavor == SPEC.flavor
        assert [(name, wire_value(value)) for name, value in state.spec.parameters] == [
            (name, wire_value(value)) for name, value in SPEC.parameters
        ]
        if kind is not JobFormat.TOOLKIT:
            assert "Empty in the file, because they may be keys: API_TOKEN." in str(back.hint)
            assert dict(state.spec.environment) == {"API_TOKEN": "", "MODE": "fast"} and state.base == tmp_path
        else:
            assert "The file has no stop time." in str(back.hint) and state.spec.stop_after == ""
        assert state.file is None and back.kind is NewsKind.NOTE


async def test_what_is_no_job_leaves_the_form_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as (parts, journal, cloud):
        before = parts.form.state.spec
        contents = (
            "{",
            "a: [",
            "- 1",
            "\0",
            '{"spec": 3}',
            "name: x\nnonsense: y\n",
            "[" * 5000,
        )
        for number, content in enumerate(contents):
            file = tmp_path / f"{number}.json"
            file.write_text(content, encoding="utf-8")
            parts.exchange.take_in(file)
            await until(lambda: not cloud.scope.is_running("import a job"))
        if hasattr(os, "mkfifo"):
            pipe = tmp_path / "pipe.toml"
            os.mkfifo(pipe)  # nobody writes into it
            parts.exchange.take_in(pipe)
            parts.form.open_file(pipe)
            await until(lambda: not cloud.scope.is_running("open the job file"))
        parts.exchange.take_in(tmp_path / "none.json")
        await until(lambda: not cloud.scope.is_running("import a job"))
        parts.exchange.write(tmp_path, JobFormat.YAML)
        await until(lambda: not cloud.scope.is_running(f"export the job to {tmp_path}"))
        assert all(isinstance(error, AppError) for _, error in cloud.reported), cloud.reported
        assert parts.form.state.spec == before and journal.entries == ()
