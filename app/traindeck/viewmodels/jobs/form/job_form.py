"""The job form: what is typed, what is read from files, and what the account offers for it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from traindeck.domain.accounts.profiles import LAB, NO_PROFILE
from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.jobs.checks import CheckFix, fixed
from traindeck.domain.jobs.choices import Choices
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.form_fields import BY_NAME
from traindeck.domain.jobs.form.job_file_edit import edited
from traindeck.domain.jobs.form.job_template import JobTemplate
from traindeck.domain.jobs.form.parameter_text import rows_in
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.job_spec import JobSpec, Target, name_stem, usual_boots
from traindeck.domain.jobs.prices import PriceTable
from traindeck.domain.jobs.start_kinds import StartKind, as_started, counts_in, not_counting, start_kind_of
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors, text_in, text_in_file, write_whole
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.jobs.form.folder_looks import FOLDER, kind_of, python_files
from traindeck.viewmodels.jobs.form.form_draft import FormDraft, Origin, ReplacedForm, draft_of
from traindeck.viewmodels.jobs.form.form_state import EMPTY, FormState, judged
from traindeck.viewmodels.jobs.form.form_values import (
    ROW_FIELDS,
    USUAL_WAY,
    differences,
    folder_words,
    merged,
    rows_of,
    with_rows,
)
from traindeck.viewmodels.ports import Rows

if TYPE_CHECKING:
    from traindeck.services.accounts.profiles import ProfileService
    from traindeck.services.jobs.choices import JobChoices

log = logging.getLogger(__name__)

ReadPrices = Callable[[], Awaitable[PriceTable]]

_BOOTS = "list the boot files"
_OFFER = "load engines and specifications"


async def _no_prices() -> PriceTable:
    return PriceTable()


class JobForm(QObject):
    """One form; intents change it, `changed` tells the view to read `state` again."""

    changed = Signal()
    draft_changed = Signal()
    """What `draft` gives is another one now."""
    replacing = Signal()
    """Another job takes the place of all that stands here, as soon as this was heard."""

    def __init__(
        self,
        offers: JobChoices,
        profiles: ProfileService,
        disk: BlockingCalls,
        scope: TaskScope,
        base: Path | None = None,
        read_prices: ReadPrices = _no_prices,
    ) -> None:
        super().__init__()
        self._offers = offers
        self._profiles = profiles
        self._disk = disk
        self._scope = scope
        self._read_prices = read_prices
        self._typed = EMPTY
        self._clean = EMPTY
        self._aside: dict[str, Any] = {}
        """What was typed for another way to start, should somebody come back to it."""
        self._source = ""
        self._useless: Path | None = None
        self._waits = False
        """What the account offered last is enough until somebody begins to fill the form."""
        self.state = FormState(base=base or Path.home())

    def start(self) -> None:
        """Read the profiles, what the current one offers or offered last, and what that costs."""
        self.load_prices()
        self.refresh_profiles()
        if not self.state.profile and self.state.spec == EMPTY:
            self._use_profile(self._profiles.current)
            self.load_offer(is_wanted=False)

    def want_offer(self) -> None:
        """Somebody is about to choose: the service is asked, if it was not since the start."""
        name = self.state.profile
        if self._waits and name:
            self._waits = False
            self._scope.start(_OFFER, lambda: self._load_offer(name), Repeat.REPLACE)

    def refresh_profiles(self) -> None:
        known = tuple(self._profiles.all())
        self._become(replace(self.state, profiles=known))
        if self.state.profile and all(profile.name != self.state.profile for profile in known):
            # It is gone. Where the job goes instead is for the user to say: elsewhere it may cost something.
            self.choose_profile(NO_PROFILE)

    def choose_profile(self, name: str) -> None:
        """Where the job goes; also decides which engines and specifications there are."""
        self._use_profile(name)
        self.load_offer()

    def _use_profile(self, name: str) -> None:
        is_lab = self._is_lab(name)
        spec = self.state.spec
        if (spec.target is Target.LAB) != is_lab:
            spec = replace(spec, target=Target.LAB if is_lab else Target.MODELARTS)
        self._become(replace(self.state, spec=spec, profile=name))

    def load_offer(self, *, is_wanted: bool = True) -> None:
        """What this account offers; until the service has told it again, what it offered the last time.

        Where nobody wants it yet, that is enough: asking loads much that a window at rest does not need.
        """
        self._waits = False
        name = self.state.profile
        self._become(replace(self.state, offer=None, offer_is_old=False, offer_trouble=None))
        if not name:
            self._scope.cancel(_OFFER)
            return
        self._scope.start(_OFFER, lambda: self._load_offer(name, is_wanted=is_wanted), Repeat.REPLACE)

    def refresh_offer(self) -> None:
        """Ask once more; what is known stays in sight meanwhile."""
        self.load_prices()
        if name := self.state.profile:
            self._become(replace(self.state, offer_trouble=None))
            self._scope.start(_OFFER, lambda: self._load_offer(name, anew=True), Repeat.REPLACE)

    def load_prices(self) -> None:
        """As they are written down now: the table is a file to be edited."""
        self._scope.start("read the prices", self._load_prices, Repeat.REPLACE)

    def draft(self) -> dict[str, Any]:
        """What stands in the form, to be kept until the next start."""
        return self._draft().plain()

    def restore_draft(self, plain: object) -> None:
        """What was kept of another form, before this one is used; anything else is left alone."""
        draft = draft_of(plain)
        if draft is None:
            return
        self._take(draft, EMPTY if draft.is_dirty else draft.spec)

    def as_it_is(self) -> ReplacedForm:
        """To be brought back, should another job take its place."""
        return ReplacedForm(self._draft(), self._clean, dict(self._aside), self.state.touched)

    def bring_back(self, kept: ReplacedForm) -> None:
        """As it was, whatever stands here now."""
        self._take(kept.draft, kept.clean)
        self._aside = dict(kept.aside)
        self._become(replace(self.state, touched=kept.touched))
        self.refresh_profiles()

    def _take(self, draft: FormDraft, clean: JobSpec) -> None:
        self._fill(draft.spec, draft.base, draft.file, draft.origin)
        self._source, self._clean = draft.source, clean
        is_elsewhere = draft.profile != self.state.profile
        self._become(replace(self.state, rows=draft.rows, profile=draft.profile, touched=frozenset()))
        if is_elsewhere:
            self.load_offer()

    def new(self) -> None:
        """An empty form for where the last one went."""
        self._fill(replace(EMPTY, target=self.state.spec.target), self.state.base, None, None)

    def load_spec(self, spec: JobSpec, base: Path, origin: Run | None = None) -> None:
        """Fill the form; `origin` is the run whose values these are."""
        kept = Origin(origin.number, origin.spec, origin.id, origin.bundle) if origin is not None else None
        self._fill(spec, base, None, kept)
        self._follow_target(origin.profile if origin else None)

    def forget_run(self, run_id: str) -> None:
        """That run is gone: what stands here stays, and is like no run any more."""
        if self.state.origin is not None and self.state.origin.run_id == run_id:
            self._become(replace(self.state, origin=None))

    def load_template(self, template: JobTemplate) -> None:
        """A new job like the template."""
        self._fill(replace(template.spec, template=template.name), self.state.base, None, None)
        self._source = template.begin()
        self.lock(template.name, frozenset(template.locked))
        self._follow_target(None)

    def lock(self, template: str, fields: frozenset[str]) -> None:
        """What the template of this job wants to stay is left alone."""
        if template == self.state.template:
            self._become(replace(self.state, locked=fields))

    def unlock(self) -> None:
        """What the template wants to stay may be changed from now on."""
        self._become(replace(self.state, spec=replace(self.state.spec, template="")))

    def choose_start(self, kind: StartKind) -> None:
        """How the job is started; what does not count there is put aside, and comes back with the way it is for."""
        if kind is self.state.kind:
            return
        spec = self.state.spec
        self._aside |= not_counting(kind, spec)
        back = {
            name: value
            for name, value in self._aside.items()
            if counts_in(kind, name) and getattr(spec, name) == getattr(EMPTY, name)
        }
        spec = replace(as_started(spec, kind), **back)
        self._become(replace(self.state, kind=kind, spec=spec))
        self._look_for_boot_files()

    # as text

    @property
    def source(self) -> str:
        """The text it was read from or edited as, whose comments stay; empty: there is none."""
        return self._source

    def take_text(self, source: str, spec: JobSpec) -> None:
        """Become what this text was found to say."""
        self._source = source
        self._typed = spec
        rows = {name: rows_of(spec, name) for name in ROW_FIELDS}
        before = self.state.code_place
        touched = frozenset({*self.state.touched, *(one.field for one in differences(self.state.spec, spec))})
        changed = replace(self.state, spec=spec, rows=rows, kind=start_kind_of(spec), touched=touched)
        self._become(changed)
        if self.state.code_place != before:
            self._look_for_boot_files()

    @property
    def holds_typing(self) -> bool:
        """Something stands here that is in no file and was not sent."""
        return self.state.is_dirty and not self.is_untouched

    @property
    def is_untouched(self) -> bool:
        """Nothing was typed into it, and nothing was loaded."""
        return replace(self.state.spec, target=EMPTY.target) == EMPTY and self.state.file is None

    @property
    def wants_checks(self) -> bool:
        """Something stands in it, or somebody wanted to submit it as it is."""
        return not self.is_untouched or "*" in self.state.touched

    def set_field(self, name: str, value: str | int | tuple[str, ...]) -> None:
        if getattr(self.state.spec, name) == value or name in self.state.locked:
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
            if await self._disk.run(lambda _: kind_of(path)) is None:
                self._useless = path

        self._scope.start("look at what is dragged", look, Repeat.REPLACE)

    def may_take(self, path: Path) -> bool:
        """So until the disk has told otherwise; the window does not wait for it."""
        return path != self._useless

    def take_dropped(self, path: Path) -> None:
        """A job file, a script or a code folder."""
        self._scope.start("take what was dropped", lambda: self._take_dropped(path), Repeat.REPLACE)

    async def _take_dropped(self, path: Path) -> None:
        kind = await self._disk.run(lambda _: kind_of(path))
        if kind is None:
            raise InvalidInput(
                text("“{file}” is not a folder, a script or a job file.", file=path.name),
                text("Drop the code directory, its boot file (.py) or a job file (.toml)."),
            )
        if kind == FOLDER:
            self.choose_code_folder(path)
        elif kind == ".toml":
            await self._open(path)
        else:
            self.choose_code_folder(path.parent)
            self.set_field("boot", path.name)

    def set_rows(self, name: str, rows: Rows) -> None:
        if self.state.rows[name] == rows or name in self.state.locked:
            return
        spec = with_rows(self.state.spec, name, rows, self._typed)
        shown = {**self.state.rows, name: rows}
        self._become(replace(self.state, spec=spec, rows=shown, touched=self.state.touched | {name}))

    def set_place(self, name: str, row: str, place: str) -> None:
        """A place in OBS: that of a row, or of a field that has none."""
        if name in ROW_FIELDS:
            rows = self.state.rows[name]
            if all(one[0] != row for one in rows):
                rows = (*(one for one in rows if any(one[:2])), (row, "", USUAL_WAY))
            self.set_rows(name, tuple((one[0], place, *one[2:]) if one[0] == row else one for one in rows))
        else:
            self.set_field(name, place)

    def settle_places(self) -> None:
        """Spell the places the one way they are shown everywhere; what is no place stays as it was typed."""
        for name in ("inputs", "outputs"):
            self.set_rows(name, tuple((row[0], _settled(row[1]), *row[2:]) for row in self.state.rows[name]))
        self.set_field("log_to", _settled(self.state.spec.log_to))

    def paste_rows(self, name: str, pasted: str) -> None:
        self.set_rows(name, merged(self.state.rows[name], rows_in(pasted)))

    def mend(self, fix: CheckFix) -> None:
        """Change what this way out changes in the form."""
        spec = fixed(self.state.spec, fix)
        names = {field.partition(":")[0] for field, _ in fix.changes}
        rows = {name: rows_of(spec, name) for name in names & set(ROW_FIELDS)}
        shown = {**self.state.rows, **rows}
        self._become(replace(self.state, spec=spec, rows=shown, touched=self.state.touched | names))
        if "code_folder" in names:
            self._look_for_boot_files()

    def take_nearest_engine(self) -> None:
        if nearest := self.state.nearest_engine:
            self.choose_engine(nearest.name, nearest.version)

    def choose_engine(self, name: str, version: str) -> None:
        if not {"engine", "engine_version"} & self.state.locked:
            spec = replace(self.state.spec, engine=name, engine_version=version)
            self._become(replace(self.state, spec=spec, touched=self.state.touched | {"engine"}))

    def take_nearest_flavor(self) -> None:
        if nearest := self.state.nearest_flavor:
            self.set_field("flavor", nearest.id)

    def open_file(self, path: Path) -> None:
        self._scope.start("open the job file", lambda: self._open(path), Repeat.REPLACE)

    def save_file(self, path: Path) -> None:
        self._scope.start("save the job file", lambda: self._save(path), Repeat.REPLACE)

    def show_all_mistakes(self) -> None:
        """Somebody wants to submit: what is not filled in yet counts now."""
        self._become(replace(self.state, touched=frozenset({"*"})))

    def was_sent(self, spec: JobSpec) -> None:
        """As it stands it is with the service."""
        self._clean = spec
        self._become(replace(self.state, touched=frozenset()))

    async def offered(self) -> Choices:
        """What the account of the form offers, waited for where it is not known yet."""
        return self.state.offer or await self._offers.load(self.state.profile)

    async def _load_offer(self, name: str, *, anew: bool = False, is_wanted: bool = True) -> None:
        if self.state.offer is None and (known := await self._offers.known(name)) is not None:
            self._become(replace(self.state, offer=known, offer_is_old=True))
            if not is_wanted:
                self._waits = True
                return
        try:
            offer = await self._offers.load_now(name, anew=anew)
        except AppError as error:
            self._become(replace(self.state, offer_is_old=True, offer_trouble=error))
        else:
            self._become(replace(self.state, offer=offer, offer_is_old=False))

    async def _load_prices(self) -> None:
        prices: PriceTable | None = None
        try:
            prices = await self._read_prices()
        except AppError as error:  # the check of the cost says what is wrong with the table
            log.info("the prices: %s %s", error, error.detail)
        if prices != self.state.prices:
            self._become(replace(self.state, prices=prices))

    async def _open(self, path: Path) -> None:
        source = await self._disk.run(lambda _: text_in_file(path))
        self._fill(job_file.parse(source), path.parent, path, None)
        self._source = source
        self._follow_target(None)

    async def _save(self, path: Path) -> None:
        spec, base = self.state.spec, path.parent
        if base != self.state.base:
            place = self.state.code_place.absolute()
            spec = replace(spec, code_folder=folder_words(place, base))
        source = self._source

        def write(_: object) -> str:
            with local_errors(path):
                written = edited(source or (text_in(path) if path.exists() else ""), spec)
                write_whole(path, written.encode(), 0o644)
            return written

        self._source = await self._disk.run(write)
        if self.state.spec.code_folder != spec.code_folder:
            self.state = replace(self.state, spec=replace(self.state.spec, code_folder=spec.code_folder))
        self._clean = spec
        self._become(replace(self.state, base=base, file=path))

    def _fill(self, spec: JobSpec, base: Path, file: Path | None, origin: Origin | None) -> None:
        self.replacing.emit()
        self._typed = self._clean = spec
        self._source, self._aside = "", {}
        rows = {name: rows_of(spec, name) for name in ROW_FIELDS}
        filled = replace(self.state, spec=spec, rows=rows, kind=start_kind_of(spec), base=base, file=file)
        # What is filled in and wrong is a mistake; what is not filled in yet is none before somebody was there.
        told = frozenset(name for name in BY_NAME if getattr(spec, name) not in ("", (), getattr(EMPTY, name)))
        self._become(replace(filled, origin=origin, touched=told, boot_files=()))
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
        return FormDraft(
            state.spec,
            state.rows,
            state.base,
            state.file,
            state.origin,
            state.profile,
            state.is_dirty,
            self._source,
        )

    def _look_for_boot_files(self) -> None:
        if not self.state.spec.code_folder.strip():
            self._scope.cancel(_BOOTS)
            return
        place = self.state.code_place
        self._scope.start(_BOOTS, lambda: self._list_boot_files(place), Repeat.REPLACE)

    async def _list_boot_files(self, place: Path) -> None:
        names = await self._disk.run(lambda _: python_files(place))
        if place != self.state.code_place:
            return  # those of a folder that is not meant any more
        self._become(replace(self.state, boot_files=names))
        boots = usual_boots(names) or (names if len(names) == 1 else ())
        if boots and not self.state.spec.boot and self.state.shows("boot") and not self.state.spec.command:
            self.set_field("boot", boots[0])

    def _become(self, state: FormState) -> None:
        before = self._draft()
        if state.template != self.state.template:
            state = replace(state, locked=frozenset())  # those of the other are not known yet
        self.state = judged(state, self.state, self._clean)
        self.changed.emit()
        if self._draft() != before:
            self.want_offer()
            self.draft_changed.emit()


def _settled(place: str) -> str:
    try:
        return str(ObjectPath.parse(place)) if place.strip() else place
    except InvalidInput:
        return place
