"""The job form: what is typed, what is wrong with it, and sending it once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from traindeck.domain.accounts.profiles import LAB, NO_PROFILE, Profile
from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.jobs import job_file
from traindeck.domain.jobs.choices import Choices, Engine, Flavor
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.job_spec import JobSpec, Target, name_stem, usual_boots
from traindeck.domain.jobs.nearest_choices import nearest_engine, nearest_flavor
from traindeck.domain.jobs.parameter_text import rows_in
from traindeck.domain.jobs.validation import FieldError, validate
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors, text_in, write_whole
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.jobs.form_checks import FormChecks, checks_of
from traindeck.viewmodels.jobs.form_draft import FormDraft, Origin, draft_of
from traindeck.viewmodels.jobs.form_values import (
    ROW_FIELDS,
    Difference,
    differences,
    folder_words,
    merged,
    rows_of,
    with_rows,
)
from traindeck.viewmodels.ports import REST_S, Rows

if TYPE_CHECKING:
    from traindeck.services.accounts.profiles import ProfileService
    from traindeck.services.jobs.choices import JobChoices
    from traindeck.services.jobs.submission import Submission

_EMPTY = JobSpec(code_folder="")
"""A new form names no folder: the default of a job file, “.”, would be whatever folder the program runs in."""
_FOLDER = "folder"
_OFFER = "load engines and specifications"


@dataclass(frozen=True, slots=True)
class FormState:
    spec: JobSpec = _EMPTY
    rows: Mapping[str, Rows] = field(default_factory=lambda: dict.fromkeys(ROW_FIELDS, ()))
    """Inputs, outputs, parameters and environment as typed, empty rows included."""
    base: Path = field(default_factory=Path)
    file: Path | None = None
    origin: Origin | None = None
    profile: str = ""
    profiles: tuple[Profile, ...] = ()
    offer: Choices | None = None
    """The engines and specifications of the profile, as far as they are known."""
    offer_trouble: AppError | None = None
    boot_files: tuple[str, ...] = ()
    all_errors: tuple[FieldError, ...] = ()
    touched: frozenset[str] = frozenset()
    """Fields whose mistakes are shown; after the first try to submit all are."""
    nearest_engine: Engine | None = None
    nearest_flavor: Flavor | None = None
    stage: Text | None = None
    """What sending is doing now; None while nothing is being sent."""
    is_dirty: bool = False
    changes: tuple[Difference, ...] = ()

    @property
    def errors(self) -> Mapping[str, Text]:
        """The mistakes to show, the first of each field; those of a row have its name after a colon."""
        shown: dict[str, Text] = {}
        for error in self.all_errors:
            if "*" in self.touched or error.field.partition(":")[0] in self.touched:
                shown.setdefault(error.field, error.message)
        return shown

    @property
    def code_place(self) -> Path:
        return self.base / self.spec.code_folder

    @property
    def file_place(self) -> Path:
        return self.file or self.code_place / "job.toml"

    @property
    def cost(self) -> Text:
        """Unknown is said to be unknown; the Lab is this computer."""
        if self.spec.target is Target.LAB:
            return text("Free: runs on this computer")
        return text("Runs on {account} and is charged there.", account=self.profile or "–")

    @property
    def checks(self) -> FormChecks:
        return checks_of(self.all_errors, offer_is_known=self.offer is not None)

    @property
    def submit_words(self) -> Text:
        """What the button does, and what it costs at most as far as that is known."""
        if self.spec.target is Target.LAB:
            return text("Submit to the Lab")
        return text("Submit · {cost}", cost=text("cost unknown"))


class JobForm(QObject):
    """One form; intents change it, `changed` tells the view to read `state` again."""

    changed = Signal()
    draft_changed = Signal()
    """What `draft` gives is another one now."""
    submitted = Signal(object)
    refused = Signal(str)
    """Submit was asked for with mistakes left; names the first field to mend."""

    def __init__(
        self,
        sender: Submission,
        offers: JobChoices,
        profiles: ProfileService,
        disk: BlockingCalls,
        scope: TaskScope,
        base: Path | None = None,
    ) -> None:
        super().__init__()
        self._sender = sender
        self._offers = offers
        self._profiles = profiles
        self._disk = disk
        self._scope = scope
        self._typed = _EMPTY
        self._clean = _EMPTY
        self._useless: Path | None = None
        self.state = FormState(base=base or Path.home())

    def start(self) -> None:
        """Read the profiles and what the current one offers."""
        self.refresh_profiles()
        if not self.state.profile and self.state.spec == _EMPTY:
            self.choose_profile(self._profiles.current)

    def refresh_profiles(self) -> None:
        known = tuple(self._profiles.all())
        self._become(replace(self.state, profiles=known))
        if self.state.profile and all(profile.name != self.state.profile for profile in known):
            # It is gone. Where the job goes instead is for the user to say: elsewhere it may cost something.
            self.choose_profile(NO_PROFILE)

    def choose_profile(self, name: str) -> None:
        """Where the job goes; also decides which engines and specifications there are."""
        is_lab = self._is_lab(name)
        spec = self.state.spec
        if (spec.target is Target.LAB) != is_lab:
            spec = replace(spec, target=Target.LAB if is_lab else Target.MODELARTS)
        self._become(replace(self.state, spec=spec, profile=name))
        self.load_offer()

    def load_offer(self) -> None:
        name = self.state.profile
        self._become(replace(self.state, offer=None, offer_trouble=None))
        if not name:
            self._scope.cancel(_OFFER)
            return
        self._scope.start(_OFFER, lambda: self._load_offer(name), Repeat.REPLACE)

    def draft(self) -> dict[str, Any]:
        """What stands in the form, to be kept until the next start."""
        return self._draft().plain()

    def restore_draft(self, plain: object) -> None:
        """What was kept of another form, before this one is used; anything else is left alone."""
        draft = draft_of(plain)
        if draft is None:
            return
        self._fill(draft.spec, draft.base, draft.file, draft.origin)
        if draft.is_dirty:
            self._clean = _EMPTY
        self._become(replace(self.state, rows=draft.rows, profile=draft.profile))
        if draft.profile:
            self.load_offer()

    def new(self) -> None:
        """An empty form for where the last one went."""
        self._fill(replace(_EMPTY, target=self.state.spec.target), self.state.base, None, None)

    def load_spec(self, spec: JobSpec, base: Path, origin: Run | None = None) -> None:
        """Fill the form; `origin` is the run whose values these are."""
        self._fill(spec, base, None, Origin(origin.number, origin.spec) if origin is not None else None)
        self._follow_target(origin.profile if origin else None)

    @property
    def is_untouched(self) -> bool:
        """Nothing was typed into it, and nothing was loaded."""
        return replace(self.state.spec, target=_EMPTY.target) == _EMPTY and self.state.file is None

    def set_field(self, name: str, value: str | int | tuple[str, ...]) -> None:
        if getattr(self.state.spec, name) == value:
            return
        changes: dict[str, Any] = {name: value}
        if name == "engine":
            engines = self.state.offer.engines if self.state.offer else ()
            versions = [engine.version for engine in engines if engine.name == value]
            if versions and self.state.spec.engine_version not in versions:
                changes["engine_version"] = versions[0]
        spec = replace(self.state.spec, **changes)
        shown = "engine" if name == "engine_version" else name
        self._become(replace(self.state, spec=spec, touched=self.state.touched | {shown}))
        if name == "code_folder":
            self._look_for_boot_files()

    def choose_code_folder(self, folder: Path) -> None:
        """A folder that was picked or dropped; a job without a name gets that of the folder."""
        if not self.state.spec.name and folder.name:
            self._become(replace(self.state, spec=replace(self.state.spec, name=name_stem(folder.name))))
        self.set_field("code_folder", folder_words(folder, self.state.base))

    def look_at_dragged(self, path: Path) -> None:
        """Find out whether it is of use here."""
        self._useless = None

        async def look() -> None:
            if await self._disk.run(lambda _: _kind_of(path)) is None:
                self._useless = path

        self._scope.start("look at what is dragged", look, Repeat.REPLACE)

    def may_take(self, path: Path) -> bool:
        """So until the disk has told otherwise; the window does not wait for it."""
        return path != self._useless

    def take_dropped(self, path: Path) -> None:
        """A job file, a script or a code folder."""
        self._scope.start("take what was dropped", lambda: self._take_dropped(path), Repeat.REPLACE)

    async def _take_dropped(self, path: Path) -> None:
        kind = await self._disk.run(lambda _: _kind_of(path))
        if kind is None:
            raise InvalidInput(
                text("“{file}” is not a folder, a script or a job file.", file=path.name),
                text("Drop the code directory, its boot file (.py) or a job file (.toml)."),
            )
        if kind == _FOLDER:
            self.choose_code_folder(path)
        elif kind == ".toml":
            await self._open(path)
        else:
            self.choose_code_folder(path.parent)
            self.set_field("boot", path.name)

    def set_rows(self, name: str, rows: Rows) -> None:
        if self.state.rows[name] == rows:
            return
        spec = with_rows(self.state.spec, name, rows, self._typed)
        shown = {**self.state.rows, name: rows}
        self._become(replace(self.state, spec=spec, rows=shown, touched=self.state.touched | {name}))

    def set_place(self, name: str, row: str, place: str) -> None:
        """A place in OBS: that of a row, or of a field that has none."""
        if name in ROW_FIELDS:
            rows = self.state.rows[name]
            self.set_rows(name, tuple((known, place if known == row else value) for known, value in rows))
        else:
            self.set_field(name, place)

    def settle_places(self) -> None:
        """Spell the places the one way they are shown everywhere; what is no place stays as it was typed."""
        for name in ("inputs", "outputs"):
            self.set_rows(name, tuple((row, _settled(value)) for row, value in self.state.rows[name]))
        self.set_field("log_to", _settled(self.state.spec.log_to))

    def paste_rows(self, name: str, pasted: str) -> None:
        self.set_rows(name, merged(self.state.rows[name], rows_in(pasted)))

    def take_nearest_engine(self) -> None:
        if nearest := self.state.nearest_engine:
            spec = replace(self.state.spec, engine=nearest.name, engine_version=nearest.version)
            self._become(replace(self.state, spec=spec))

    def take_nearest_flavor(self) -> None:
        if nearest := self.state.nearest_flavor:
            self.set_field("flavor", nearest.id)

    def open_file(self, path: Path) -> None:
        self._scope.start("open the job file", lambda: self._open(path), Repeat.REPLACE)

    def save_file(self, path: Path) -> None:
        self._scope.start("save the job file", lambda: self._save(path), Repeat.REPLACE)

    def submit(self) -> None:
        """Send what stands in the form now; while that is under way, asking again changes nothing."""
        if self.state.stage is not None:
            return
        self._become(replace(self.state, touched=frozenset({"*"})))
        if self.state.all_errors:
            self.refused.emit(self.state.all_errors[0].field)
            return
        spec, base, profile = self.state.spec, self.state.base, self.state.profile
        self._become(replace(self.state, stage=text("Checking the form…")))
        if not self._scope.start("submit the job", lambda: self._submit(spec, base, profile)):
            self._become(replace(self.state, stage=None))

    async def _submit(self, spec: JobSpec, base: Path, profile: str) -> None:
        try:
            run = await self._sender.submit(spec, base, profile, stage=self._show_stage)
        except BaseException:
            self._become(replace(self.state, stage=None))
            raise
        self._clean = spec
        self._become(replace(self.state, touched=frozenset(), stage=text("Submitted {name}", name=run.name)))
        self._scope.start("rest after sending", self._rest)
        self.submitted.emit(run)

    async def _rest(self) -> None:
        """The button says what was sent before it can be pressed again."""
        try:
            await asyncio.sleep(REST_S)
        finally:
            self._become(replace(self.state, stage=None))

    def _show_stage(self, words: Text) -> None:
        self._become(replace(self.state, stage=words))

    async def _load_offer(self, name: str) -> None:
        try:
            offer = await self._offers.load(name)
        except AppError as error:
            self._become(replace(self.state, offer_trouble=error))
        else:
            self._become(replace(self.state, offer=offer))

    async def _open(self, path: Path) -> None:
        source = await self._disk.run(lambda _: text_in(path))
        self._fill(job_file.parse(source), path.parent, path, None)
        self._follow_target(None)

    async def _save(self, path: Path) -> None:
        spec, base = self.state.spec, path.parent
        if base != self.state.base:
            place = self.state.code_place.absolute()
            spec = replace(spec, code_folder=folder_words(place, base))
        content = job_file.to_toml(spec).encode()

        def write(_: object) -> None:
            with local_errors(path):
                write_whole(path, content, 0o644)

        await self._disk.run(write)
        if self.state.spec.code_folder != spec.code_folder:
            self.state = replace(self.state, spec=replace(self.state.spec, code_folder=spec.code_folder))
        self._clean = spec
        self._become(replace(self.state, base=base, file=path))

    def _fill(self, spec: JobSpec, base: Path, file: Path | None, origin: Origin | None) -> None:
        self._typed = self._clean = spec
        rows = {name: rows_of(spec, name) for name in ROW_FIELDS}
        filled = replace(self.state, spec=spec, rows=rows, base=base, file=file, origin=origin)
        self._become(replace(filled, touched=frozenset(), boot_files=()))
        self._look_for_boot_files()

    def _follow_target(self, profile: str | None) -> None:
        """Where the job names no account that is there, the current one if it is of that kind; else the user says."""
        known = [entry.name for entry in self.state.profiles]
        if profile not in known:
            is_lab, current = self.state.spec.target is Target.LAB, self._profiles.current
            profile = LAB if is_lab else "" if self._is_lab(current) else current
        if not profile:
            self._become(replace(self.state, profile=""))
            self.load_offer()
        elif profile != self.state.profile:
            self.choose_profile(profile)
            self._clean = replace(self._clean, target=self.state.spec.target)
            self._become(self.state)

    def _is_lab(self, name: str) -> bool:
        return next((profile.is_lab for profile in self.state.profiles if profile.name == name), name == LAB)

    def _draft(self) -> FormDraft:
        state = self.state
        return FormDraft(state.spec, state.rows, state.base, state.file, state.origin, state.profile, state.is_dirty)

    def _look_for_boot_files(self) -> None:
        if not self.state.spec.code_folder.strip():
            return
        place = self.state.code_place
        self._scope.start("list the boot files", lambda: self._list_boot_files(place), Repeat.REPLACE)

    async def _list_boot_files(self, place: Path) -> None:
        names = await self._disk.run(lambda _: _python_files(place))
        self._become(replace(self.state, boot_files=names))
        boots = usual_boots(names) or (names if len(names) == 1 else ())
        if boots and not self.state.spec.boot and not self.state.spec.command:
            self.set_field("boot", boots[0])

    def _become(self, state: FormState) -> None:
        before = self._draft()
        self.state = replace(
            state,
            all_errors=(*_account_errors(state), *validate(state.spec, state.offer)),
            nearest_engine=nearest_engine(state.spec, state.offer) if state.offer else None,
            nearest_flavor=nearest_flavor(state.spec, state.offer) if state.offer else None,
            is_dirty=state.spec != self._clean,
            changes=differences(state.origin.spec, state.spec) if state.origin else (),
        )
        self.changed.emit()
        if self._draft() != before:
            self.draft_changed.emit()


def _account_errors(state: FormState) -> Iterator[FieldError]:
    if not state.profiles:
        return  # not read yet
    if not state.profile:
        yield FieldError("target", text("Select where the job runs."))


def _settled(place: str) -> str:
    try:
        return str(ObjectPath.parse(place)) if place.strip() else place
    except InvalidInput:
        return place


def _kind_of(path: Path) -> str | None:
    """How it may be used; None: not at all."""
    if path.is_dir():
        return _FOLDER
    return path.suffix if path.suffix in (".toml", ".py") else None


def _python_files(place: Path) -> tuple[str, ...]:
    """The scripts at the top of a folder; a folder that cannot be read has none, which validation and submit tell."""
    try:
        return tuple(sorted(entry.name for entry in place.iterdir() if entry.suffix == ".py" and entry.is_file()))
    except OSError:
        return ()
