"""What is charged now in the accounts and regions somebody chose, what the month came to, and what things cost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.jobs.prices import MonthCost, PriceTable
from traindeck.domain.texts import count_text, text
from traindeck.runtime.tasks import Repeat, TaskScope, gather_or_raise
from traindeck.viewmodels.ports import Choose, Stateful, Way

if TYPE_CHECKING:
    from traindeck.domain.jobs.live_costs import BilledJob, RegionBill
    from traindeck.services.accounts.profiles import ProfileService
    from traindeck.services.jobs.billing import Billing
    from traindeck.services.jobs.choices import JobChoices
    from traindeck.services.jobs.run_watch import JobsSeen, RunWatch

OWN = ""
"""The region of an account itself."""
_ELSEWHERE_MS = 30_000
_TICK_MS = 1000
_STOP = "stop"


@dataclass(frozen=True, slots=True)
class BillingPlaces:
    """Whose jobs are looked at, and where."""

    accounts: tuple[str, ...] = ()
    regions: tuple[str, ...] = (OWN,)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(account, region) for account in self.accounts for region in self.regions]


@dataclass(frozen=True, slots=True)
class PriceRow:
    """What a node of a specification costs per hour; None: unknown."""

    flavor: str
    price: float | None


@dataclass(frozen=True, slots=True)
class BillingState:
    places: BillingPlaces = BillingPlaces()
    bills: tuple[RegionBill, ...] = ()
    strays: tuple[tuple[str, int], ...] = ()
    """Accounts that are no longer here, and how many runs of theirs may still be charged."""
    is_known: bool = False
    month: MonthCost | None = None
    table: PriceTable | None = None
    prices: tuple[PriceRow, ...] = ()
    trouble: AppError | None = None
    """Why prices are not known, or were not kept."""
    stopping: frozenset[str] = frozenset()
    """Jobs that were asked to stop."""

    @property
    def jobs(self) -> tuple[BilledJob, ...]:
        """The longest running first."""
        found = [job for bill in self.bills for job in bill.jobs]
        return tuple(sorted(found, key=lambda one: (-(one.seconds or 0.0), one.job.name)))

    @property
    def unreached(self) -> tuple[RegionBill, ...]:
        """Where nobody knows what runs, or not all of it."""
        return tuple(bill for bill in self.bills if bill.trouble is not None or not bill.is_whole)

    @property
    def is_certain(self) -> bool:
        """There is no more than what is listed."""
        return not self.unreached and not self.strays


class BillingPage(Stateful):
    """The poller tells of the accounts' own regions; the others are asked while the page is open."""

    def __init__(
        self,
        billing: Billing,
        choices: JobChoices,
        profiles: ProfileService,
        watch: RunWatch,
        scope: TaskScope,
        places: BillingPlaces | None = None,
    ) -> None:
        super().__init__()
        self._billing = billing
        self._choices = choices
        self._profiles = profiles
        self._watch = watch
        self._scope = scope
        self.state = BillingState(places or self._usual())
        self._looking = ExitStack()
        self._looked_at: dict[tuple[str, str], float] = {}
        self._elsewhere = QTimer(self, interval=_ELSEWHERE_MS)
        self._elsewhere.timeout.connect(self._ask_elsewhere)
        self.tick = QTimer(self, interval=_TICK_MS)
        """While something runs its time goes on."""
        self._deaf = (watch.jobs_seen.add(self._on_jobs), watch.connection_state.add(self._on_connection))

    def close(self) -> None:
        for stop_listening in self._deaf:
            stop_listening()
        self._elsewhere.stop()
        self.tick.stop()
        self._looking.close()
        for what in ("jobs", "elsewhere", "prices"):
            self._scope.cancel(self._task(what))

    def seconds(self, one: BilledJob) -> float | None:
        """How long it runs by now; what it was at the last look, and what passed since."""
        if one.seconds is None:
            return None
        return one.seconds + max(0.0, time.monotonic() - self._looked_at.get((one.account, one.region), 0.0))

    def accounts(self) -> list[str]:
        """All that can have jobs."""
        return [profile.name for profile in self._profiles.all() if profile.has_training]

    def open(self) -> None:
        """Look, and go on looking."""
        self._looking.close()
        self._looking = ExitStack()
        for account in self.state.places.accounts:
            self._looking.enter_context(self._watch.looking_at(account))
        self._elsewhere.start()
        self.load()

    def choose(self, places: BillingPlaces) -> None:
        if places != self.state.places and places.accounts and places.regions:
            kept = tuple(bill for bill in self.state.bills if bill.account in places.accounts)
            self._become(places=places, bills=kept, is_known=False)
            self.open()

    def load(self) -> None:
        self._scope.start(self._task("jobs"), self._load_jobs, Repeat.REPLACE)
        self._scope.start(self._task("prices"), self._load_prices, Repeat.REPLACE)

    def stop(self, jobs: Sequence[BilledJob], choose: Choose) -> None:
        """Of ours or of others, when the user agrees; it is over when the service says so."""
        if jobs:
            self._scope.start("ask about stopping jobs", partial(self._ask_to_stop, tuple(jobs), choose))

    def set_price(self, flavor: str, written: str) -> None:
        """Per hour and node; empty takes it away."""
        words = written.strip()
        try:
            price = None if not words else _amount(words)
        except InvalidInput as error:
            self._become(trouble=error)
            return
        self._change(flavors={flavor.strip(): price})

    def add_row(self, flavor: str) -> None:
        """For a price that is typed next."""
        if all(row.flavor != flavor for row in self.state.prices):
            rows = (*self.state.prices, PriceRow(flavor, None))
            self._become(prices=tuple(sorted(rows, key=lambda row: row.flavor)))

    def set_currency(self, written: str) -> None:
        if written.strip() and (self.state.table is None or written.strip() != self.state.table.currency):
            self._change(currency=written.strip())

    def set_limit(self, written: str) -> None:
        """Of a month; empty or 0: none."""
        try:
            limit = _amount(written.strip() or "0")
        except InvalidInput as error:
            self._become(trouble=error)
            return
        if self.state.table is None or limit != self.state.table.monthly_limit:
            self._change(limit=limit)

    def _task(self, what: str) -> str:
        return f"{what} of what is charged {id(self)}"

    def _usual(self) -> BillingPlaces:
        """All accounts that pay; the Lab, which costs nothing, where there is no other."""
        accounts = [name for name in self.accounts() if name != LAB]
        return BillingPlaces(tuple(accounts) or (LAB,))

    async def _load_jobs(self) -> None:
        bill = await self._billing.now(self.state.places.pairs)
        live = await self._billing.records.live()
        known = set(self.accounts())
        strays = Counter(
            run.profile for run in live if (run.state.is_remote or run.state.is_open) and run.profile not in known
        )
        self._note_time(bill.regions)
        self._become(bills=bill.regions, strays=tuple(sorted(strays.items())), is_known=True)
        self._show_time()

    async def _load_prices(self) -> None:
        try:
            table, month = await self._billing.table(), await self._billing.month()
        except AppError as error:
            self._become(trouble=error, table=None, month=None)
            return
        self._become(table=table, month=month, prices=_rows(table, ()), trouble=None)
        offered = await gather_or_raise(self._offered(account) for account in self.state.places.accounts)
        self._become(prices=_rows(table, [one for some in offered for one in some]))

    async def _offered(self, account: str) -> list[tuple[str, str, int]]:
        """What the account can choose from, with what it is billed by; what cannot be asked for is left out."""
        try:
            choices = await self._choices.load(account)
        except AppError:
            return []
        return [(one.id, one.billing_code, one.billing_units) for one in choices.flavors]

    def _ask_elsewhere(self) -> None:
        pairs = [(account, region) for account, region in self.state.places.pairs if region != OWN]
        if not pairs:
            return

        async def ask() -> None:
            found = await self._billing.now(pairs)
            self._take(found.regions)

        self._scope.start(self._task("elsewhere"), ask)

    def _on_jobs(self, seen: JobsSeen) -> None:
        if OWN not in self.state.places.regions or seen.profile not in self.state.places.accounts:
            return
        region = self._profiles.get(seen.profile).region

        async def take() -> None:
            from traindeck.domain.jobs.live_costs import RegionBill

            jobs = await self._billing.billed(seen.profile, region, seen.jobs.jobs)
            self._take([RegionBill(seen.profile, region, jobs, seen.jobs.is_whole)])

        self._scope.start(f"{self._task('jobs')} in {seen.profile}", take, Repeat.REPLACE)

    def _on_connection(self, account: str) -> None:
        """What was known is no longer, as long as it cannot be asked for."""
        trouble = self._watch.trouble(account)
        if trouble is None or OWN not in self.state.places.regions or account not in self.state.places.accounts:
            return
        region = self._profiles.get(account).region
        self._take([replace(bill, trouble=trouble) for bill in self.state.bills if self._is(bill, account, region)])

    def _is(self, bill: RegionBill, account: str, region: str) -> bool:
        return bill.account == account and bill.region in (region, OWN)

    def _take(self, bills: Sequence[RegionBill]) -> None:
        """These instead of what was known of the same places."""
        self._note_time(bills)
        others = [
            bill for bill in self.state.bills if not any(self._is(bill, one.account, one.region) for one in bills)
        ]
        live = {job.job.id for bill in (*others, *bills) for job in bill.jobs}
        self._become(bills=(*others, *bills), stopping=self.state.stopping & live)
        self._show_time()

    def _note_time(self, bills: Sequence[RegionBill]) -> None:
        now = time.monotonic()
        self._looked_at |= {(bill.account, bill.region): now for bill in bills if bill.trouble is None}

    def _show_time(self) -> None:
        if self.state.jobs and not self.tick.isActive():
            self.tick.start()
        elif not self.state.jobs:
            self.tick.stop()

    async def _ask_to_stop(self, jobs: Sequence[BilledJob], choose: Choose) -> None:
        question = count_text(
            "Stop {count} job? What it has written is kept.",
            "Stop {count} jobs? What they have written is kept.",
            len(jobs),
        )
        if len(jobs) == 1:
            question = text("Stop “{name}”? What it has written is kept.", name=jobs[0].job.name)
        facts = []
        if foreign := [one for one in jobs if not one.run_id]:
            names = ", ".join(f"{one.job.name} ({one.job.user})" if one.job.user else one.job.name for one in foreign)
            facts.append(text("Made elsewhere, maybe by someone else: {names}.", names=names))
        if not await choose(question, facts, [Way(_STOP, text("Stop"), is_loss=True)]):
            return
        for one in jobs:
            # Each by itself: one that cannot be stopped keeps no other running.
            self._scope.start(f"stop job {one.job.id}", partial(self._stop, one), words=text("Stopping jobs…"))

    async def _stop(self, one: BilledJob) -> None:
        self._become(stopping=self.state.stopping | {one.job.id})
        try:
            await self._billing.stop(one.account, one.region, one.job.id)
        except AppError:
            self._become(stopping=self.state.stopping - {one.job.id})
            raise
        self._watch.wake()
        self._ask_elsewhere()

    def _change(
        self, *, flavors: dict[str, float | None] | None = None, currency: str | None = None, limit: float | None = None
    ) -> None:
        async def change() -> None:
            prices = self._billing.prices
            try:
                await self._billing.disk.run(
                    lambda _: prices.change(flavors=flavors or {}, currency=currency, limit=limit)
                )
            except AppError as error:
                self._become(trouble=error)
                return
            await self._load_prices()
            await self._load_jobs()

        self._scope.start(f"change prices {id(flavors)} {currency} {limit}", change)


def _rows(table: PriceTable, offered: Sequence[tuple[str, str, int]]) -> tuple[PriceRow, ...]:
    found = {name: PriceRow(name, table.per_hour(name, 1, "", code, units)) for name, code, units in offered}
    found |= {name: PriceRow(name, price) for name, price in table.flavors.items()}
    return tuple(found[name] for name in sorted(found))


def _amount(written: str) -> float:
    """InvalidInput: it is no sum of money."""
    words = written.replace(",", "").replace("，", "")
    try:
        found = float(words)
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e12:
        raise InvalidInput(text("“{amount}” is not an amount.", amount=written), _NUMBERS)
    return found


_NUMBERS = text("Enter a number, 0 or more, such as 23.5.")
