"""What the places in the job form come to: how much is there, and what to do about one that is not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, text
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.storage.place_facts import Missing, PlaceFacts
from traindeck.viewmodels.jobs.form.form_state import FormState
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.ports import Tone

if TYPE_CHECKING:
    from traindeck.services.storage.place_facts import PlaceService

QUIET_S = 0.4
"""Somebody who types is not asked about after each letter."""

_MOST_NAMED = 3
_PLACES = ("inputs", "outputs")
USUAL_OUTPUT = "train_url"
"""What scripts call the one place they write to."""
_Facts = dict[ObjectPath, PlaceFacts | AppError]
"""What was found out for one account."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """One way out: another place to write, or, where `is_new`, this place to be made."""

    words: Text
    place: ObjectPath
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class PlaceNote:
    """What is said below a field; `row` is the name of the row in a table."""

    field: str
    row: str
    words: Text
    tone: Tone = Tone.QUIET
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True)
class _Typed:
    """A place as it stands in the form."""

    field: str
    row: str
    spelling: str

    @property
    def path(self) -> ObjectPath | None:
        """What is looked at: up to the first part that every run has of its own."""
        try:
            whole = ObjectPath.parse(self.spelling)
        except InvalidInput:
            return None
        head, brace, _ = whole.key.partition("{")
        return ObjectPath(whole.bucket, head.rpartition("/")[0] + "/" if "/" in head else "") if brace else whole


class PlaceNotes(QObject):
    """Watches the places of a form; `notes` are by field and row."""

    changed = Signal()
    completed = Signal(list)
    """What the place that is being typed may become."""

    def __init__(self, form: JobForm, places: PlaceService, scope: TaskScope) -> None:
        super().__init__()
        self.notes: Mapping[tuple[str, str], PlaceNote] = {}
        self._form = form
        self._places = places
        self._scope = scope
        self._profile = ""
        self._facts: _Facts = {}
        self._typed: tuple[_Typed, ...] = ()
        self._offered: tuple[PlaceNote, ...] = ()
        form.changed.connect(self._on_form)

    def of(self, field: str) -> list[PlaceNote]:
        return [note for (name, _), note in self.notes.items() if name == field]

    def complete(self, typed: str) -> None:
        """Find out what may be meant; `completed` tells."""
        profile = self._form.state.profile

        async def ask() -> None:
            await asyncio.sleep(QUIET_S / 2)
            try:
                found = await self._places.complete(profile, typed)
            except AppError:
                return  # the note below the field says what is wrong
            self.completed.emit([str(path) for path in found])

        if profile:
            self._scope.start("complete a place", ask, Repeat.REPLACE)

    def take(self, note: PlaceNote, remedy: Remedy) -> None:
        """Go this way out."""
        if not remedy.is_new:
            self._form.set_place(note.field, note.row, str(remedy.place))
            return
        profile = self._form.state.profile

        async def create() -> None:
            await self._places.create(profile, remedy.place)
            self.look_again()

        self._scope.start(f"create {remedy.place}", create, words=text("Creating {place}…", place=str(remedy.place)))

    def look_again(self) -> None:
        """Forget what is known and find it out anew."""
        self._profile = ""
        self._on_form()

    def _on_form(self) -> None:
        state = self._form.state
        rows = [_Typed(name, row[0], row[1]) for name in _PLACES for row in state.rows[name] if row[1].strip()]
        if state.spec.log_to.strip():
            rows.append(_Typed("log_to", "", state.spec.log_to))
        typed, offered = tuple(rows), () if self._form.is_untouched else tuple(_offers(state))
        if self._profile != state.profile:
            self._profile, self._facts = state.profile, {}
        elif (typed, offered) == (self._typed, self._offered):
            return
        self._typed, self._offered = typed, offered
        self._show()
        if state.profile and any(one.path is not None and one.path not in self._facts for one in typed):
            self._scope.start("look at the places of the form", self._look, Repeat.REPLACE)

    async def _look(self) -> None:
        await asyncio.sleep(QUIET_S)
        profile, facts = self._profile, self._facts
        for path in {one.path for one in self._typed}:
            if path is None or path in facts:
                continue
            try:
                facts[path] = await self._places.look(profile, path)
            except AppError as error:
                facts[path] = error
            self._show()

    def _show(self) -> None:
        notes = {(note.field, note.row): note for note in self._offered}
        for one in self._typed:
            found = self._facts.get(one.path) if one.path is not None else None
            if found is not None and (note := self._note(one, found)) is not None:
                notes[one.field, one.row] = note
        if notes != self.notes:
            self.notes = notes
            self.changed.emit()

    def _note(self, one: _Typed, found: PlaceFacts | AppError) -> PlaceNote | None:
        if isinstance(found, AppError):
            return PlaceNote(one.field, one.row, found.title, Tone.BAD)
        profile = next((entry for entry in self._form.state.profiles if entry.name == self._profile), None)
        if found.missing is Missing.BUCKET:
            return _without_bucket(one, found)
        note = _input_note(one, found) if one.field == "inputs" else _output_note(one, found)
        return _with_region(note, found, profile)


def _offers(state: FormState) -> Iterator[PlaceNote]:
    """For places to write to that are empty: a folder of its own for each run, where there is data already."""
    start = _where_to_write(state)
    if start is None:
        return
    rows = [row[0] for row in state.rows["outputs"] if row[0].strip() and not row[1].strip()]
    if not state.spec.outputs and not rows:
        rows = [USUAL_OUTPUT]
    empty = [("outputs", row, "out/{run}/") for row in rows]
    if not state.spec.log_to.strip():
        empty.append(("log_to", "", "log/{run}/"))
    for field, row, folder in empty:
        if state.shows(field) and field not in state.locked:
            own = start.join(folder)
            words = text("Not entered yet. Each run has a folder of its own with {run}.", run="{run}")
            yield PlaceNote(field, row, words, remedies=(Remedy(text("Use {place}", place=str(own)), own),))


def _where_to_write(state: FormState) -> ObjectPath | None:
    """Where the account may write alone, else the bucket of the data."""
    profile = next((one for one in state.profiles if one.name == state.profile), None)
    if profile is not None and profile.work_in:
        return ObjectPath.parse(profile.work_in).as_folder()
    for spelling in (*(row[1] for name in _PLACES for row in state.rows[name]), state.spec.log_to):
        place = _Typed("", "", spelling).path if spelling.strip() else None
        if place is not None:
            return ObjectPath(place.bucket)
    return None


def _without_bucket(one: _Typed, found: PlaceFacts) -> PlaceNote:
    bucket = found.path.bucket
    words = text("The bucket “{bucket}” does not exist.", bucket=bucket)
    ways = [Remedy(text("Use {place}", place=str(near)), near) for near in found.nearest]
    made = Remedy(text("Create the bucket {bucket}", bucket=bucket), ObjectPath(bucket), is_new=True)
    return PlaceNote(one.field, one.row, words, Tone.BAD, (*ways, made))


def _input_note(one: _Typed, found: PlaceFacts) -> PlaceNote:
    folder = found.path.as_folder()
    if found.missing is Missing.CONTENT:
        words = text("{place} does not exist.", place=str(found.path))
        ways = [Remedy(text("Use {place}", place=str(near)), near) for near in found.nearest]
        made = Remedy(text("Create the folder {place}", place=str(folder)), folder, is_new=True)
        return PlaceNote(one.field, one.row, words, Tone.BAD, (*ways, made))
    if found.takes_in and not found.is_object:
        names = ", ".join(found.takes_in[:_MOST_NAMED]) + (" …" if len(found.takes_in) > _MOST_NAMED else "")
        words = text("“{name}” also matches {names}.", name=found.path.name, names=names)
        slash = Remedy(text("Use {place}", place=str(folder)), folder)
        return PlaceNote(one.field, one.row, words, Tone.DOUBTFUL, (slash,))
    return PlaceNote(one.field, one.row, found.amount)


def _output_note(one: _Typed, found: PlaceFacts) -> PlaceNote:
    if found.missing is Missing.CONTENT or "{" in one.spelling or not found.count:
        return PlaceNote(one.field, one.row, text("The run creates this folder."))
    words = text("This folder is not empty: {amount}. Add {run} to give each run its own folder.",
                 amount=found.amount, run="{run}")  # fmt: skip
    own = ObjectPath(found.path.bucket, found.path.as_folder().key + "{run}/")
    return PlaceNote(one.field, one.row, words, Tone.DOUBTFUL, (Remedy(text("Use {place}", place=str(own)), own),))


def _with_region(note: PlaceNote, found: PlaceFacts, profile: Profile | None) -> PlaceNote:
    if not found.region or profile is None:
        return note
    if profile.region and found.region != profile.region and not profile.is_lab:
        words = text(
            "The bucket is in {there}, the job runs in {here}. {rest}",
            there=found.region, here=profile.region, rest=note.words,
        )  # fmt: skip
        return replace(note, words=words, tone=Tone.DOUBTFUL if note.tone is Tone.QUIET else note.tone)
    if note.tone is Tone.QUIET:
        return replace(note, words=text("{words} · {region}", words=note.words, region=found.region))
    return note
