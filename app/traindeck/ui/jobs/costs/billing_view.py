"""A tab with all jobs that are charged now, what the month came to, and the prices it is reckoned with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QMenu,
    QProgressBar,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QWidget,
)

from traindeck.domain.accounts.profiles import REGIONS
from traindeck.domain.jobs.job import duration_words
from traindeck.domain.jobs.prices import money_words, month_lines
from traindeck.domain.texts import say, say_count
from traindeck.ui.kit.cards import EmptyPage, fill_with_rows, push_button, show_words
from traindeck.ui.kit.edits import REFRESH, Edit, Edits, HasEdits
from traindeck.ui.kit.fields import label_of
from traindeck.ui.kit.flow import FlowLayout
from traindeck.ui.kit.layouts import column_of, line
from traindeck.ui.kit.property_page import boxed_row, sentence
from traindeck.ui.kit.table_models import RowsModel
from traindeck.ui.kit.tables import NUMBERS, RowTable, plain_table
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.costs.billing_page import OWN, BillingPage, BillingPlaces, PriceRow
from traindeck.viewmodels.ports import Asks
from traindeck.viewmodels.shell.status import region_words

if TYPE_CHECKING:
    from traindeck.domain.jobs.live_costs import BilledJob

NAME, STOP, STATE, TIME, PER_HOUR, SO_FAR, FLAVOR, NODES, RUN, USER, ACCOUNT, REGION = range(12)
_WIDTHS = {
    NAME: 24, STOP: 9, STATE: 11, TIME: 10, PER_HOUR: 13, SO_FAR: 13, FLAVOR: 22, NODES: 8, RUN: 16, USER: 12,
    ACCOUNT: 12, REGION: 12,
}  # fmt: skip
_RIGHT = (TIME, PER_HOUR, SO_FAR, NODES)
_AMOUNT = 14 * SPACE
_PART = 24 * SPACE


class _Jobs(RowsModel["BilledJob"]):
    COLUMNS = 12

    def __init__(self, page: BillingPage, theme: Theme) -> None:
        super().__init__()
        self._page = page
        self._theme = theme

    def key(self, row: BilledJob) -> Hashable:
        return (row.account, row.region, row.job.id)

    def headers(self) -> Sequence[str]:
        return (
            say("Name"), say("Stop"), say("State"), say("Duration"), say("Per hour"), say("So far"),
            say("Specification"), say("Nodes"), say("Run"), say("User"), say("Account"), say("Region"),
        )  # fmt: skip

    def cell(self, row: BilledJob, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return NUMBERS if column in _RIGHT else None
        if role == Qt.ItemDataRole.ForegroundRole:
            color = "bad" if column == STOP and not self.is_stopping(row) else "" if row.run_id else "dim"
            return self._theme.color(color) if color else None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self._words(row, column)
        return None

    def is_stopping(self, row: BilledJob) -> bool:
        return row.job.id in self._page.state.stopping or not row.job.state.can_stop

    def times_changed(self) -> None:
        for column in (TIME, SO_FAR):
            self.column_changed(column, 0, self.count_rows() - 1)

    def _words(self, row: BilledJob, column: int) -> str:
        job, seconds = row.job, self._page.seconds(row)
        cost = None if row.per_hour is None or seconds is None else row.per_hour * seconds / 3600
        words: dict[int, Callable[[], str]] = {
            NAME: lambda: job.name,
            STOP: lambda: say("Stopping") if self.is_stopping(row) else say("Stop…"),
            STATE: lambda: say(job.state.words) if job.state.value == job.phase else job.phase,
            TIME: lambda: duration_words(seconds),
            PER_HOUR: lambda: self._money(row.per_hour),
            SO_FAR: lambda: self._money(cost),
            FLAVOR: lambda: job.flavor or "–",
            NODES: lambda: f"{job.nodes}",
            RUN: lambda: row.run_id or say("Made elsewhere"),
            USER: lambda: job.user or "–",
            ACCOUNT: lambda: row.account,
            REGION: lambda: region_words(row.region),
        }
        return words[column]()

    def _money(self, amount: float | None) -> str:
        table = self._page.state.table
        return money_words(amount, table.currency if table is not None else "") or say("unknown")


class _Prices(RowsModel[PriceRow]):
    """The second column is typed into."""

    COLUMNS = 2

    edited = Signal(str, str)

    def __init__(self, page: BillingPage, theme: Theme) -> None:
        super().__init__()
        self._page = page
        self._theme = theme

    def key(self, row: PriceRow) -> Hashable:
        return row.flavor

    def headers(self) -> Sequence[str]:
        table = self._page.state.table
        return (say("Specification"), say("{currency} per hour and node", currency=table.currency if table else ""))

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole and orientation == Qt.Orientation.Horizontal and section:
            return NUMBERS
        return super().headerData(section, orientation, role)

    def cell(self, row: PriceRow, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole and column:
            return NUMBERS
        if role == Qt.ItemDataRole.ForegroundRole and column and row.price is None:
            return self._theme.color("dim")
        if role == Qt.ItemDataRole.EditRole and column:
            return "" if row.price is None else f"{row.price:g}"
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            if not column:
                return row.flavor
            return say("unknown") if row.price is None else f"{row.price:,.2f}"
        return None

    def flags(self, index: QModelIndex | QPersistentModelIndex) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() else flags

    def setData(
        self, index: QModelIndex | QPersistentModelIndex, value: Any, role: int = Qt.ItemDataRole.EditRole
    ) -> bool:
        row = self.row(index.row())
        if str(value).strip() != self.cell(row, 1, Qt.ItemDataRole.EditRole):
            self.edited.emit(row.flavor, str(value))
        return True


class BillingView(QWidget, HasEdits):
    """Shows BillingPage."""

    add_wanted = Signal()
    """A price for a specification that is not listed."""
    places_chosen = Signal(object)

    def __init__(self, page: BillingPage, theme: Theme, asks: Asks) -> None:
        super().__init__()
        self.page = page
        self._asks = asks
        set_role(self, "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.sum, self.month = sentence("", "heading"), sentence("", "")
        self.used = QProgressBar()
        self.used.setAccessibleName(say("Share of the monthly limit"))
        self.used.setTextVisible(False)
        self.used.setRange(0, 100)
        self.trouble = sentence("", "error")
        self.tabs = QTabBar()
        self.tabs.setAccessibleName(say("Parts of the page"))
        self.tabs.setExpanding(False)
        for words in (say("Active jobs"), say("Prices and limit")):
            self.tabs.addTab(words)
        self.parts = QStackedWidget()
        self.parts.addWidget(self._jobs_part(theme))
        self.parts.addWidget(self._prices_part(theme))
        self.tabs.currentChanged.connect(self.parts.setCurrentIndex)
        margins = (2 * SPACE, SPACE, 2 * SPACE, SPACE)
        head = column_of(self.sum, self.month, self.used, self.trouble, margins=margins, spacing=HALF)
        fill_with_rows(self, [head, self.tabs, line()], self.parts, _PART)
        self.setFocusProxy(self.tabs)
        page.changed.connect(self._refresh)
        page.tick.timeout.connect(self._on_tick)
        self._refresh()

    def edits(self, focused: QWidget) -> Edits:
        return {REFRESH: Edit(self.page.load)}

    # parts

    def _jobs_part(self, theme: Theme) -> QWidget:
        self.accounts, self.regions = _menu_button(say("Accounts")), _menu_button(say("Regions"))
        self.accounts.menu().aboutToShow.connect(self._fill_accounts)
        self.regions.menu().aboutToShow.connect(self._fill_regions)
        self.stop = push_button(say("Stop…"), self._stop_selected, "danger")
        self.unknown = sentence("", "warn")
        self.jobs = _Jobs(self.page, theme)
        self.table = RowTable()
        plain_table(self.table, say("Active jobs"))
        self.table.setModel(self.jobs)
        for column, width in _WIDTHS.items():
            self.table.setColumnWidth(column, width * SPACE)
        self.table.horizontalHeader().setStretchLastSection(True)
        self.table.clicked.connect(self._on_click)
        self.table.selectionModel().selectionChanged.connect(self._refresh_stop)
        self.empty = EmptyPage("", "")
        self.listed = QStackedWidget()
        self.listed.addWidget(self.empty)
        self.listed.addWidget(self.table)
        part = QWidget()
        buttons = FlowLayout(self.accounts, self.regions, self.stop, spacing=SPACE)
        head = column_of(buttons, self.unknown, margins=(2 * SPACE, SPACE, SPACE, SPACE), spacing=HALF)
        column_of(head, (self.listed, 1), inside=part, margins=0, spacing=0)
        return part

    def _prices_part(self, theme: Theme) -> QWidget:
        self.currency, self.limit = QLineEdit(), QLineEdit()
        self.currency.setMaxLength(8)
        self.limit.setPlaceholderText(say("no limit"))
        for edit in (self.currency, self.limit):
            edit.setFixedWidth(_AMOUNT)
        self.currency.editingFinished.connect(lambda: self.page.set_currency(self.currency.text()))
        self.limit.editingFinished.connect(lambda: self.page.set_limit(self.limit.text()))
        self.prices = _Prices(self.page, theme)
        self.prices.edited.connect(self.page.set_price)
        self.price_table = RowTable()
        plain_table(self.price_table, say("Prices"))
        self.price_table.setModel(self.prices)
        self.price_table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        self.price_table.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.EditKeyPressed
            | QAbstractItemView.EditTrigger.AnyKeyPressed
            | QAbstractItemView.EditTrigger.SelectedClicked
        )
        self.price_table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.price_table.horizontalHeader().setMinimumSectionSize(8 * SPACE)
        self.price_table.setColumnWidth(1, 26 * SPACE)
        self.add = push_button(say("Add a specification…"), self.add_wanted)
        fields = FlowLayout(
            boxed_row(label_of(say("Currency"), self.currency), self.currency),
            boxed_row(label_of(say("Monthly limit"), self.limit), self.limit),
            self.add,
            spacing=SPACE,
        )
        hint = sentence(
            say("No service tells prices: take them from the price list of your account. Press F2 to change one."),
            "dim",
        )
        part = QWidget()
        head = column_of(hint, fields, margins=(2 * SPACE, SPACE, SPACE, SPACE), spacing=HALF)
        column_of(head, (self.price_table, 1), inside=part, margins=0, spacing=0)
        return part

    # what is shown

    def _refresh(self) -> None:
        state = self.page.state
        self.jobs.show(state.jobs)
        self.jobs.column_changed(STATE, 0, self.jobs.count_rows() - 1)
        self.jobs.column_changed(STOP, 0, self.jobs.count_rows() - 1)
        self.listed.setCurrentWidget(self.table if state.jobs else self.empty)
        self.empty.say(*self._why_empty())
        show_words(self.unknown, self._unknown_words())
        self.sum.setText(self._sum_words())
        show_words(self.month, " · ".join(month_lines(state.month)) if state.month is not None else "")
        share = state.month.share if state.month is not None else None
        self.used.setVisible(share is not None)
        self.used.setValue(min(100, round(100 * (share or 0.0))))
        set_role(self.used, "bad" if share is not None and share >= 0.8 else "")
        set_role(self.month, "error" if share is not None and share >= 0.8 else "")
        show_words(self.trouble, state.trouble.sentence() if state.trouble is not None else "")
        self.prices.show(state.prices)
        self.prices.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, 1)
        if state.table is not None:
            _show(self.currency, state.table.currency)
            _show(self.limit, f"{state.table.monthly_limit:g}" if state.table.monthly_limit else "")
        self.accounts.setText(say_count("{count} account", "{count} accounts", len(state.places.accounts)))
        own = len(state.places.regions) == 1 and state.places.regions[0] == OWN
        regions = say_count("{count} region", "{count} regions", len(state.places.regions))
        self.regions.setText(say("Own region of each account") if own else regions)
        self._refresh_stop()

    def _on_tick(self) -> None:
        self.jobs.times_changed()

    def _why_empty(self) -> tuple[str, str]:
        state = self.page.state
        if not state.is_known:
            return say("Looking for active jobs…"), ""
        if not state.is_certain:
            return say("No active jobs are known."), say("What runs in some of the accounts is unknown.")
        return say("Nothing is charged in the selected accounts and regions."), ""

    def _unknown_words(self) -> str:
        parts = []
        for bill in self.page.state.unreached:
            place = f"{bill.account} · {region_words(bill.region)}" if bill.region else bill.account
            if bill.trouble is not None:
                reason = bill.trouble.sentence()
                parts.append(say("{place}: what runs there is unknown. {reason}", place=place, reason=reason))
            else:
                parts.append(say("{account}: there are more active jobs than were listed.", account=place))
        for account, count in self.page.state.strays:
            parts.append(
                say_count(
                    "{account} is no longer an account here; {count} run there may be charged. Add it again to see.",
                    "{account} is no longer an account here; {count} runs there may be charged. Add it again to see.",
                    count,
                    account=account,
                )
            )
        return "\n".join(parts)

    def _sum_words(self) -> str:
        state = self.page.state
        if not state.is_known:
            return say("Looking for active jobs…")
        jobs = state.jobs
        unknown = sum(job.per_hour is None for job in jobs)
        known = money_words(sum(job.per_hour or 0.0 for job in jobs), state.table.currency if state.table else "")
        if not jobs:
            return say("No active jobs.") if state.is_certain else say("No active jobs are known.")
        if unknown == len(jobs):
            return say_count("{count} active job, price unknown", "{count} active jobs, prices unknown", len(jobs))
        if unknown:
            return say_count(
                "{all} active jobs, {price} per hour, and {count} of unknown price",
                "{all} active jobs, {price} per hour, and {count} of unknown price",
                unknown, all=len(jobs), price=known,
            )  # fmt: skip
        return say_count(
            "{count} active job, {price} per hour", "{count} active jobs, {price} per hour", len(jobs), price=known
        )

    # what is done

    def _selected(self) -> list[BilledJob]:
        rows = {index.row() for index in self.table.selectionModel().selectedIndexes()}
        return [one for row in sorted(rows) if not self.jobs.is_stopping(one := self.jobs.row(row))]

    def _refresh_stop(self, *_: object) -> None:
        has_some = bool(self._selected())
        self.stop.setEnabled(has_some)
        self.stop.setToolTip("" if has_some else say("Select a job that can be stopped."))

    def _stop_selected(self) -> None:
        self.page.stop(self._selected(), self._asks.choose)

    def _on_click(self, index: QModelIndex | QPersistentModelIndex) -> None:
        row = self.jobs.row(index.row())
        if index.column() == STOP and not self.jobs.is_stopping(row):
            self.page.stop([row], self._asks.choose)

    def _fill_accounts(self) -> None:
        places = self.page.state.places
        _fill(self.accounts, [(name, name) for name in self.page.accounts()], places.accounts, self._choose_account)

    def _fill_regions(self) -> None:
        names = [(OWN, say("Own region of each account"))]
        names += [(region, f"{region_words(region)} ({region})") for region, _, _ in REGIONS]
        _fill(self.regions, names, self.page.state.places.regions, self._choose_region)

    def _choose_account(self, name: str, *_: bool) -> None:
        places = self.page.state.places
        self._choose(BillingPlaces(_toggled(places.accounts, name), places.regions))

    def _choose_region(self, name: str, *_: bool) -> None:
        places = self.page.state.places
        self._choose(BillingPlaces(places.accounts, _toggled(places.regions, name)))

    def _choose(self, places: BillingPlaces) -> None:
        self.page.choose(places)
        self.places_chosen.emit(self.page.state.places)


def _menu_button(name: str) -> QToolButton:
    button = QToolButton()
    button.setAccessibleName(name)
    set_role(button, "menu")
    button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    button.setMenu(QMenu(button))
    return button


def _fill(button: QToolButton, names: Sequence[tuple[str, str]], chosen: Sequence[str], act: Any) -> None:
    menu = button.menu()
    menu.clear()
    for name, words in names:
        entry = menu.addAction(words.replace("&", "&&"))
        entry.setCheckable(True)
        entry.setChecked(name in chosen)
        entry.triggered.connect(partial(act, name))


def _toggled(chosen: Sequence[str], name: str) -> tuple[str, ...]:
    """The last one stays: looking nowhere would look like nothing is charged."""
    without = tuple(one for one in chosen if one != name)
    return (without or (name,)) if name in chosen else (*chosen, name)


def _show(edit: QLineEdit, words: str) -> None:
    if not edit.hasFocus() and edit.text() != words:
        edit.setText(words)
