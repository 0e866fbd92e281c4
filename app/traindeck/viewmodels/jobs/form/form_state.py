"""What stands in the job form, and all that is said about it without asking anyone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.choices import Choices, Engine, Flavor
from traindeck.domain.jobs.form.form_field import FormField
from traindeck.domain.jobs.form.form_fields import BY_NAME
from traindeck.domain.jobs.form.validation import FieldError, validate
from traindeck.domain.jobs.job_spec import JobSpec, Target
from traindeck.domain.jobs.nearest_choices import nearest_engine, nearest_flavor
from traindeck.domain.jobs.prices import PriceTable, estimate, money_words
from traindeck.domain.jobs.start_kinds import StartKind, counts_in
from traindeck.domain.texts import Text, text
from traindeck.viewmodels.jobs.form.form_draft import Origin
from traindeck.viewmodels.jobs.form.form_values import ROW_FIELDS, Difference, differences
from traindeck.viewmodels.ports import Rows

EMPTY = JobSpec(code_folder="")
"""A new form names no folder: the default of a job file, “.”, would be whatever folder the program runs in."""


@dataclass(frozen=True, slots=True)
class FormState:
    spec: JobSpec = EMPTY
    rows: Mapping[str, Rows] = field(default_factory=lambda: dict.fromkeys(ROW_FIELDS, ()))
    """The tables as typed, empty rows included."""
    kind: StartKind = StartKind.PRESET
    base: Path = field(default_factory=Path)
    file: Path | None = None
    origin: Origin | None = None
    locked: frozenset[str] = frozenset()
    """Fields that the template of the job wants to stay as they are."""
    profile: str = ""
    profiles: tuple[Profile, ...] = ()
    offer: Choices | None = None
    """The engines and specifications of the profile, as far as they are known."""
    offer_is_old: bool = False
    """It is what was offered the last time; whether it still is, nobody knows."""
    offer_trouble: AppError | None = None
    boot_files: tuple[str, ...] = ()
    all_errors: tuple[FieldError, ...] = ()
    touched: frozenset[str] = frozenset()
    """Fields whose mistakes are shown; after the first try to submit all are."""
    nearest_engine: Engine | None = None
    nearest_flavor: Flavor | None = None
    is_dirty: bool = False
    changes: tuple[Difference, ...] = ()
    prices: PriceTable | None = None
    """As the user wrote them down; None: not read yet, or not to be read."""
    upper_cost: Text | None = None
    """What it costs at most; None: nobody knows."""

    @property
    def errors(self) -> Mapping[str, Text]:
        """The mistakes to show, the first of each field; those of a row have its name after a colon."""
        shown: dict[str, Text] = {}
        for error in self.all_errors:
            if self.is_told(error.field):
                shown.setdefault(error.field, error.message)
        return shown

    def is_told(self, name: str) -> bool:
        """Somebody made this mistake; others are only not filled in yet."""
        return "*" in self.touched or name.partition(":")[0] in self.touched

    @property
    def template(self) -> str:
        """The one it was made from; empty: from none."""
        return self.spec.template

    @property
    def code_place(self) -> Path:
        return self.base / self.spec.code_folder

    @property
    def file_place(self) -> Path:
        return self.file or self.code_place / "job.toml"

    @property
    def has_local_code(self) -> bool:
        """A folder of this computer goes along with the job."""
        is_elsewhere = self.spec.has_algorithm or bool(self.spec.code_url)
        return bool(self.spec.code_folder.strip()) and not is_elsewhere

    @property
    def cost(self) -> Text:
        """Unknown is said to be unknown; the Lab is this computer."""
        if not self.profile:
            return text("The cost is known once an account is selected.")
        if self.spec.target is Target.LAB:
            return text("Free: runs on this computer")
        return text("Runs on {account} and is charged there.", account=self.profile or "–")

    @property
    def cost_words(self) -> Text:
        """What stands on the button behind what it does."""
        return self.upper_cost or text("cost unknown")

    def shows(self, name: str) -> bool:
        """Whether this field counts where the job is started so."""
        return counts_in(self.kind, name)


def judged(state: FormState, before: FormState, clean: JobSpec) -> FormState:
    """The same, with what follows from it; hundreds of specifications are not looked through for each letter."""
    offer = None if state.offer_is_old else state.offer  # what may have changed since refuses nothing
    if _asks_for(state) != _asks_for(before):
        state = replace(
            state,
            nearest_engine=nearest_engine(state.spec, offer) if offer else None,
            nearest_flavor=nearest_flavor(state.spec, offer) if offer else None,
        )
    return replace(
        state,
        all_errors=(*_account_errors(state), *validate(state.spec, offer, state.kind)),
        is_dirty=state.spec != clean,
        changes=differences(state.origin.spec, state.spec) if state.origin else (),
        upper_cost=_upper_cost(state),
    )


def _upper_cost(state: FormState) -> Text | None:
    if state.prices is None or not state.profile:
        return None
    offered = state.offer.flavor_of(state.spec) if state.offer else None
    at_most = estimate(state.spec, state.profile, state.prices, offered).at_most
    if at_most == 0:
        return text("free")
    price = money_words(at_most, state.prices.currency)
    return None if price is None else text("at most {price}", price=price)


def _asks_for(state: FormState) -> tuple[object, ...]:
    spec = state.spec
    chosen = (spec.engine, spec.engine_version, spec.flavor, spec.pool)
    return id(state.offer), state.offer_is_old, chosen


def _account_errors(state: FormState) -> Iterator[FieldError]:
    if not state.profiles:
        return  # not read yet
    if not state.profile:
        yield FieldError("target", text("Select where the job runs."))


def field_of(name: str) -> FormField:
    """The field that something is about; `name` may have a row behind a colon."""
    return BY_NAME[name.partition(":")[0]]
