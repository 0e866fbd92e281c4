"""What the form says about the places typed into it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from support.folder_cloud import FolderCloud, digits_spec, offline
from support.waiting import until
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.place_facts import PlaceService
from traindeck.viewmodels.jobs.form import place_notes
from traindeck.viewmodels.jobs.form.form_values import USUAL_WAY
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.jobs.form.place_notes import PlaceNote, PlaceNotes
from traindeck.viewmodels.ports import Tone

BUCKET = ObjectPath("bucket")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place_notes, "QUIET_S", 0.0)


@asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[tuple[FolderCloud, JobForm, PlaceNotes]]:
    async with FolderCloud(folder) as cloud:
        for key in ("data/a", "data_private/b", "out/x"):
            await cloud.storage.put(b"12345", BUCKET.join(key))
        form = JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope)
        notes = PlaceNotes(form, PlaceService(cloud.connections, cloud.planes), cloud.scope)
        form.start()
        form.load_spec(replace(digits_spec(), inputs=(), outputs=(), log_to=""), folder)
        yield cloud, form, notes


def said(notes: PlaceNotes, field: str) -> list[tuple[str, str, Tone]]:
    return [(note.row, str(note.words), note.tone) for note in notes.of(field)]


async def only(notes: PlaceNotes, field: str) -> PlaceNote:
    await until(lambda: len(notes.of(field)) == 1)
    return notes.of(field)[0]


async def test_every_place_says_what_it_comes_to(tmp_path: Path) -> None:
    async with watched(tmp_path) as (_, form, notes):
        form.set_rows("inputs", (("data_url", "bucket/data/"), ("", "")))
        form.set_rows("outputs", (("train_url", "obs://bucket/out/{run}/"),))
        form.set_field("log_to", "obs://bucket/new/")
        await until(lambda: len(notes.notes) == 3)
        assert said(notes, "inputs") == [("data_url", "1 object, 5 B", Tone.QUIET)]
        assert said(notes, "outputs") == [("train_url", "The run creates this folder.", Tone.QUIET)]
        assert said(notes, "log_to") == [("", "The run creates this folder.", Tone.QUIET)]
        form.set_rows("inputs", ())
        assert notes.of("inputs") == []


async def test_a_name_without_a_slash_takes_in_others(tmp_path: Path) -> None:
    async with watched(tmp_path) as (_, form, notes):
        form.set_rows("inputs", (("data_url", "bucket/data"),))
        note = await only(notes, "inputs")
        assert (str(note.words), note.tone) == ("“data” also matches data_private/.", Tone.DOUBTFUL)
        notes.take(note, note.remedies[0])
        assert form.state.rows["inputs"] == (("data_url", "obs://bucket/data/"),)
        await until(lambda: said(notes, "inputs") == [("data_url", "1 object, 5 B", Tone.QUIET)])


async def test_what_is_missing_is_made_or_replaced(tmp_path: Path) -> None:
    async with watched(tmp_path) as (cloud, form, notes):
        form.set_rows("inputs", (("data_url", "obs://bucket/dato/"),))
        note = await only(notes, "inputs")
        assert note.tone is Tone.BAD
        assert [str(remedy.words) for remedy in note.remedies] == [
            "Use obs://bucket/data/",
            "Create the folder obs://bucket/dato/",
        ]
        form.set_rows("inputs", (("data_url", "obs://bukcet/data/"),))
        await until(lambda: [str(note.words) for note in notes.of("inputs")] == ["The bucket “bukcet” does not exist."])
        near, made = notes.of("inputs")[0].remedies
        assert str(near.words) == "Use obs://bucket/data/"
        notes.take(notes.of("inputs")[0], made)
        await until(lambda: cloud.storage.place(ObjectPath("bukcet")).is_dir())
        await until(lambda: [str(note.words) for note in notes.of("inputs")] == ["obs://bukcet/data/ does not exist."])


async def test_an_output_that_holds_something_is_not_silently_used_again(tmp_path: Path) -> None:
    async with watched(tmp_path) as (_, form, notes):
        form.set_rows("outputs", (("train_url", "obs://bucket/out"),))
        note = await only(notes, "outputs")
        assert note.tone is Tone.DOUBTFUL and "not empty: 1 object, 5 B" in str(note.words)
        notes.take(note, note.remedies[0])
        assert form.state.rows["outputs"] == (("train_url", "obs://bucket/out/{run}/"),)


async def test_an_empty_place_to_write_to_is_offered_one_for_each_run(tmp_path: Path) -> None:
    async with watched(tmp_path) as (cloud, form, notes):
        assert notes.of("outputs") == [] == notes.of("log_to"), "nobody knows which bucket"
        form.set_rows("inputs", (("data_url", "obs://bucket/data/"),))
        (output,), (log,) = notes.of("outputs"), notes.of("log_to")
        assert output.tone is Tone.QUIET and str(output.remedies[0].words) == "Use obs://bucket/out/{run}/"
        assert "{run}" in str(output.words) and str(log.remedies[0].words) == "Use obs://bucket/log/{run}/"
        form.set_rows("outputs", (("result", "", USUAL_WAY), ("", "", USUAL_WAY)))
        (named,) = notes.of("outputs")
        assert named.row == "result"
        notes.take(named, named.remedies[0])
        assert form.state.spec.outputs == (Channel("result", "obs://bucket/out/{run}/"),)
        form.set_rows("outputs", ())
        notes.take(output, output.remedies[0])
        notes.take(log, log.remedies[0])
        assert form.state.spec.outputs == (Channel("train_url", "obs://bucket/out/{run}/"),)
        assert form.state.spec.log_to == "obs://bucket/log/{run}/"
        await until(lambda: said(notes, "log_to") == [("", "The run creates this folder.", Tone.QUIET)])

        # Who may write in one folder alone is offered that.
        mine = Profile("mine", Provider.MODELARTS, "cn-north-4", work_in="obs://shared/me/")
        await cloud.profiles.add(mine, Credentials("AKAKAKAKAKAK", Secret("not-a-real-one")))
        form.refresh_profiles()
        form.choose_profile("mine")
        form.set_field("log_to", "")
        assert str(notes.of("log_to")[0].remedies[0].place) == "obs://shared/me/log/{run}/"


async def test_without_a_network_the_reason_stands_below_and_is_asked_again(tmp_path: Path) -> None:
    async with watched(tmp_path) as (cloud, form, notes):
        cloud.storage.trouble = offline()
        form.set_rows("inputs", (("data_url", "obs://bucket/data/"),))
        note = await only(notes, "inputs")
        assert note.tone is Tone.BAD and "cannot be reached" in str(note.words)
        cloud.storage.trouble = None
        notes.look_again()
        await until(lambda: said(notes, "inputs") == [("data_url", "1 object, 5 B", Tone.QUIET)])


async def test_places_are_spelled_our_way_in_the_end(tmp_path: Path) -> None:
    async with watched(tmp_path) as (_, form, _notes):
        form.set_rows("inputs", (("a", "s3://bucket/data/"), ("b", "obs:/bucket/x"), ("c", "??"), ("", "")))
        form.set_rows("outputs", (("o", "/bucket/out/{run}/"),))
        form.set_field("log_to", "https://bucket.obs.cn-north-4.myhuaweicloud.com/log/{run}/")
        form.settle_places()
        assert form.state.rows["inputs"] == (
            ("a", "obs://bucket/data/"), ("b", "obs://bucket/x"), ("c", "??"), ("", ""),
        )  # fmt: skip
        assert form.state.rows["outputs"] == (("o", "obs://bucket/out/{run}/"),)
        assert form.state.spec.log_to == "obs://bucket/log/{run}/"


async def test_what_may_be_meant_is_offered(tmp_path: Path) -> None:
    async with watched(tmp_path) as (_, _form, notes):
        offered: list[list[str]] = []
        notes.completed.connect(offered.append)
        notes.complete("bucket/da")
        await until(lambda: offered)
        assert offered == [["obs://bucket/data/", "obs://bucket/data_private/"]]
