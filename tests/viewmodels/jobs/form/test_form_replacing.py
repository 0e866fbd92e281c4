"""Whatever takes the place of a form that was typed, one click brings all of it back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.form_bench import form_parts
from support.waiting import until
from traindeck.domain.jobs.form.job_file import to_toml
from traindeck.domain.jobs.form.job_format import JobFormat
from traindeck.domain.jobs.start_kinds import StartKind
from traindeck.services.jobs.formats.job_formats import write_job
from traindeck.viewmodels.jobs.form.form_parts import FormParts
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.shell.journal import Happening, Journal

OTHER = digits_spec(name="another")


@dataclass
class Typed:
    """A form somebody filled in by hand, and ways to put another one in its place."""

    cloud: FolderCloud
    parts: FormParts
    journal: Journal
    folder: Path

    @property
    def form(self) -> JobForm:
        return self.parts.form

    def undo(self) -> None:
        self.journal.undo_last()

    def offered(self) -> list[Happening]:
        return [one for one in self.journal.entries if one.undo is not None]

    # the ways

    async def new(self) -> None:
        self.form.new()

    async def open(self) -> None:
        path = self.folder / "other.toml"
        path.write_text(to_toml(OTHER), encoding="utf-8")
        self.form.open_file(path)

    async def drop(self) -> None:
        path = self.folder / "dropped.toml"
        path.write_text(to_toml(OTHER), encoding="utf-8")
        self.form.take_dropped(path)

    async def take_in(self) -> None:
        path = self.folder / "other.json"
        path.write_text(write_job(OTHER, JobFormat.JSON).content, encoding="utf-8")
        self.parts.exchange.take_in(path)

    async def template(self) -> None:
        self.parts.templates.begin_with("ours")

    async def run(self) -> None:
        run = await self.cloud.submission.submit(OTHER, self.folder / "code")
        self.form.load_spec(run.spec, self.folder / "code", run)


WAYS: list[Callable[[Typed], Awaitable[None]]] = [
    Typed.new, Typed.open, Typed.drop, Typed.take_in, Typed.template, Typed.run,
]  # fmt: skip


@asynccontextmanager
async def typed(folder: Path) -> AsyncIterator[Typed]:
    async with FolderCloud(folder) as cloud:
        code = code_folder(folder / "code")
        await cloud.add_cloud_profile("work")
        journal = Journal()
        form = JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope, code)
        parts = form_parts(cloud, form, journal=journal)
        form.start()
        form.load_spec(OTHER, code)
        parts.templates.save("ours", frozenset({"stop_after"}))
        await until(lambda: parts.templates.state.names)
        form.new()
        await until(lambda: form.state.offer and not form.state.offer_is_old)
        assert not journal.entries, "nothing was typed yet"
        yield Typed(cloud, parts, journal, folder)


async def fill(on: Typed) -> None:
    form = on.form
    form.choose_code_folder(on.folder / "code")
    await until(lambda: form.state.boot_files)
    form.set_field("name", "typed by hand")
    form.choose_start(StartKind.IMAGE)
    form.set_field("image", "my-org/torch:1.0")
    form.choose_start(StartKind.PRESET)
    form.set_rows("parameters", (("lr", "0.1"), ("", "")))
    form.choose_profile("work")


def whole(form: JobForm) -> tuple[object, ...]:
    state = form.state
    kept = (state.spec, state.rows, state.kind, state.base, state.file, state.origin, state.profile, state.touched)
    return *kept, state.is_dirty, state.boot_files, form.source


async def resting(on: Typed) -> None:
    for name in ("open the job file", "take what was dropped", "import a job", "open a template"):
        await until(lambda name=name: not on.cloud.scope.is_running(name))
    await until(lambda: not on.cloud.scope.is_running("list the boot files"))
    assert not on.cloud.reported


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_what_was_typed_comes_back_whole(tmp_path: Path, way: Callable[[Typed], Awaitable[None]]) -> None:
    async with typed(tmp_path) as on:
        await fill(on)
        before = whole(on.form)
        await way(on)
        await until(lambda: on.form.state.spec != before[0])
        await resting(on)
        (told,) = on.offered()
        assert str(told.title) == "The job form was replaced." and not on.form.state.is_dirty
        on.undo()
        await resting(on)
        assert whole(on.form) == before
        on.form.choose_start(StartKind.IMAGE)
        assert on.form.state.spec.image == "my-org/torch:1.0", "with what was typed for another way to start"
        assert len(on.offered()) == 1, "nothing was typed into the other one"


async def test_what_was_typed_after_it_comes_back_too(tmp_path: Path) -> None:
    async with typed(tmp_path) as on:
        await fill(on)
        first = on.form.state.spec
        on.form.new()
        on.form.set_field("name", "second")
        second = on.form.state.spec
        on.undo()
        assert on.form.state.spec == first
        assert len(on.offered()) == 2
        on.undo()
        assert on.form.state.spec == second
        on.undo()
        assert on.form.state.spec == first


async def test_what_is_kept_elsewhere_is_replaced_without_a_word(tmp_path: Path) -> None:
    async with typed(tmp_path) as on:
        await on.open()
        await until(lambda: on.form.state.spec.name == "another")
        on.form.new()
        await fill(on)
        on.form.was_sent(on.form.state.spec)
        on.form.new()
        on.form.new()
        assert not on.offered()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_a_text_that_cannot_be_read_comes_back_as_it_was_typed(
    tmp_path: Path, way: Callable[[Typed], Awaitable[None]]
) -> None:
    async with typed(tmp_path) as on:
        await on.open()
        await until(lambda: on.form.state.file)
        written = on.parts.written
        written.open()
        await until(lambda: "another" in written.state.source)
        broken = written.state.source.replace("nodes = 1", "nodez = 2") + "# typed by hand\n"
        written.edit(broken)
        await until(lambda: written.state.marks)
        on.form.load_spec(replace(OTHER, name="between"), on.folder)
        await until(lambda: "between" in written.state.source)
        assert written.state.is_read and not written.state.marks, "the text is that of the form"
        on.undo()
        assert written.state.source == broken and not written.state.is_read
        await until(lambda: written.state.marks)
        await way(on)
        await until(lambda: written.state.is_read and written.state.source != broken)
        await resting(on)
        assert not written.state.marks or written.state.marks[0].words
        on.undo()
        assert written.state.source == broken and written.state.is_open
        await until(lambda: written.state.marks)


async def test_an_account_that_is_gone_does_not_come_back(tmp_path: Path) -> None:
    async with typed(tmp_path) as on:
        await fill(on)
        on.form.new()
        await on.cloud.profiles.remove("work")
        on.form.refresh_profiles()
        on.undo()
        assert on.form.state.profile == "" and on.form.state.spec.name == "typed by hand"
