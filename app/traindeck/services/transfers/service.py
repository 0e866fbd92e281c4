"""The transfers of this program, for the window and the command line; the work is done on a loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from traindeck.domain.errors import AppError, InvalidInput, NotFound, Occupied, Unexpected
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.local_names import HERE, local_part
from traindeck.domain.transfers.orders import Kind, Order, Rules, UsualRules
from traindeck.domain.transfers.records import Item, ItemState, TransferState, name_there
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Listeners, TaskScope
from traindeck.services.accounts.connections import Connections
from traindeck.services.storage.data_ports import BytesBody
from traindeck.services.storage.planes import Planes
from traindeck.services.transfers.among import names_taken
from traindeck.services.transfers.engine import TransferEngine, report
from traindeck.services.transfers.ledger import OnBytes, Transfer

if TYPE_CHECKING:
    from traindeck.store.transfer_journal import TransferJournal

Result = TypeVar("Result")

_PAGE = 10_000


@dataclass(eq=False)
class Transfers:
    """Enter it on the loop of those who ask; the engine starts when it is first needed, where the planes are."""

    connections: Connections
    planes: Planes
    journal: TransferJournal
    disk: BlockingCalls
    locks: Path
    # Nobody sits there, so what cannot go on for so long fails, and who is cancelled only pauses.
    patience_s: float | None = None
    # What holds where an order does not say otherwise.
    usual: UsualRules = field(default_factory=UsualRules)
    changed: Listeners[Transfer] = field(default_factory=Listeners)
    _bytes_per_s: float = 0.0
    _rows: dict[int, Transfer] = field(default_factory=dict)
    _forgotten: set[int] = field(default_factory=set)
    _news: Iterator[int] = field(default_factory=count)
    _agreed: set[int] = field(default_factory=set)  # of which the journal may not know yet
    _scope: TaskScope = field(default_factory=partial(TaskScope, report))
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _started: asyncio.Future[TransferEngine] | None = None

    async def __aenter__(self) -> Self:
        self._main = asyncio.get_running_loop()
        await self._scope.__aenter__()
        self._stop_listening = self.connections.keys_refused.add(self._on_keys)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_listening()
        if self._forgotten:  # forgetting may take longer than this program lives
            await self.journal.drop(sorted(self._forgotten))
        # What went wrong with those who asked is theirs.
        await self._scope.__aexit__(None, None, None)
        for number in sorted(self._agreed):
            await self._note_yes(number)

    # What there is

    def rows(self) -> list[Transfer]:
        """Newest first."""
        return [self._rows[number] for number in sorted(self._rows, reverse=True)]

    async def items(
        self,
        transfer_id: int,
        states: Sequence[ItemState] = tuple(ItemState),
        *,
        is_verified: bool | None = None,
        after: str = "",
        most: int = 1000,
    ) -> list[Item]:
        """A page of the list of files; `after` is the key of the last one of the page before."""
        await self._flush()
        return await self.journal.items(transfer_id, states, is_verified=is_verified, after=after, most=most)

    async def renamed(self, transfer_id: int, *, most: int) -> list[Item]:
        """What moved, or is to, and has another name at the service than here."""
        await self._flush()
        first = await self.journal.items(transfer_id, (ItemState.QUEUED, ItemState.DONE), most=1)
        found = [one for one in first if not one.name]
        if found:  # a single file: its name is that of the whole
            name, before = Path(self._rows[transfer_id].root).name, found[0].key.rpartition("/")[2]
            return [replace(found[0], name=name)] if name == local_part(before, HERE) != before else []
        after = ""
        while len(found) < most and (page := await self.journal.renamed(transfer_id, after=after)):
            after = page[-1].key
            found += filter(name_there, page)
        return found[:most]

    async def amount_below(self, transfer_id: int, prefix: str) -> tuple[int, int]:
        """How many files are still to be moved whose keys begin so, and their bytes."""
        await self._flush()
        return await self.journal.amount_below(transfer_id, prefix)

    async def _flush(self) -> None:
        """The journal has the results of this moment when it returns."""
        await self._call(lambda engine: engine.ledger.flush())

    # What is wanted, at once

    def ask(self, act: Callable[[TransferEngine, int], Coroutine[Any, Any, None]], transfer_id: int) -> None:
        """Have the engine do one of the things that it does with a transfer."""
        self._ask(f"{act.__name__} {transfer_id}", lambda engine: act(engine, transfer_id))

    def confirm(self, transfer_id: int) -> None:
        """Do what was planned and shown."""

        async def begin() -> None:
            await self._call(lambda engine: engine.confirm(transfer_id))
            self._agreed.discard(transfer_id)

        self._agreed.add(transfer_id)
        self._scope.start(f"begin {transfer_id}", begin)

    async def _note_yes(self, transfer_id: int) -> None:
        """This program ends before the engine has heard of it: the next one goes on."""
        with suppress(NotFound):
            record = await self.journal.get(transfer_id)
            if record.state is TransferState.READY:
                state = TransferState.RUNNING if record.is_planned else TransferState.PLANNING
                await self.journal.change(transfer_id, state=state)

    def forget(self, transfer_ids: Iterable[int]) -> None:
        """Take these out of the list, where they are over."""
        for number in transfer_ids:
            if number not in self._rows or not self._rows[number].state.is_over:
                continue
            del self._rows[number]
            self._forgotten.add(number)
            self.ask(TransferEngine.forget, number)

    def set_rate(self, bytes_per_s: float) -> None:
        """For all transfers together; 0 is no limit."""
        self._bytes_per_s = bytes_per_s
        self._tell("rate", lambda engine: engine.limit.set(bytes_per_s))

    def resume_with(self, profile: str) -> None:
        """Its keys or addresses are others now: what waits for them need not wait any longer."""
        self._tell(f"{next(self._news)}: resume with {profile}", lambda engine: engine.resume_with(profile))

    def _on_keys(self, profile: str) -> None:
        """In the order in which they come: each under a name of its own, none stands for another."""
        refusal = self.connections.refusal(profile)
        if refusal is None:
            self.resume_with(profile)
            return
        self._tell(f"{next(self._news)}: hold with {profile}", lambda engine: engine.hold_for_keys(profile, refusal))

    async def take_up(self) -> None:
        """Go on with what earlier programs left undone, and show what they did."""
        if not await self.journal.all():
            return  # nothing needs the engine yet
        await self._call(lambda engine: engine.resume_unfinished())

    # Moving

    async def upload(self, profile: str, source: Path, target: ObjectPath, *, progress: OnBytes | None = None) -> int:
        """Send a file, or a folder as a whole into the target folder; the answer counts the files."""
        order = Order(Kind.UPLOAD, profile, _here(source), str(target))
        row = await self.move(order, progress=progress)
        return row.done_files + row.equal_files

    async def pack(
        self, profile: str, source: Path | ObjectPath, target: ObjectPath, *, may_replace: bool = False
    ) -> None:
        """Bring a folder as a few tar archives into the target folder.

        Occupied: another packing is there, and nothing was done.
        """
        order = Order(Kind.PACK, profile, _folder(source), str(target.as_folder()), Rules(may_replace=may_replace))
        number = await self.begin(order)
        try:
            await self.finished(number)
        except Occupied:
            await self.drop(number)
            raise

    async def fetch(self, profile: str, source: ObjectPath, target: Path) -> list[Path]:
        """Fetch an object, or a folder as a whole into the target folder; the files, spelled as the target was."""
        order = Order(Kind.DOWNLOAD, profile, str(source), _here(target))
        row = await self.move(order)
        root = target / Path(row.root).relative_to(_here(target))
        places: list[Path] = []
        after = ""
        while page := await self.items(row.id, (ItemState.DONE, ItemState.EQUAL), after=after, most=_PAGE):
            places += [root / item.name if item.name else root for item in page]
            after = page[-1].key
        return places

    async def begin(self, order: Order, *, needs_confirmation: bool = False, is_preview: bool = False) -> int:
        """Start a transfer that goes on by itself."""
        _check_words(order)
        order = self.usual.applied_to(order)
        takes_up = self.patience_s is not None and not is_preview
        return await self._call(
            lambda engine: engine.add(
                order, needs_confirmation=needs_confirmation, patience_s=self.patience_s, takes_up=takes_up
            )
        )

    async def planned(self, order: Order, *, is_preview: bool = False) -> Transfer:
        """What a transfer would do: its files are in the list, and nothing moves before `confirm`.

        `is_preview`: nobody means to do it, so one that was left undone stays as it is.
        """
        added: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def add() -> None:
            try:
                added.set_result(await self.begin(order, needs_confirmation=True, is_preview=is_preview))
            except asyncio.CancelledError:
                added.cancel()
                raise
            except Exception as error:  # noqa: BLE001 - goes to who waits
                added.set_exception(error)

        async def drop() -> None:
            await self.drop(await added)

        # By itself: ended half way it would leave a plan whose number nobody knows.
        self._scope.start(f"plan {id(added)}", add)
        try:
            number = await asyncio.shield(added)
            row = await self._call(lambda engine: engine.planned(number))
        except asyncio.CancelledError:
            if is_preview:
                self._scope.start(f"drop plan {id(added)}", drop)
            raise
        if row.state is TransferState.FAILED:
            if is_preview:
                await self.drop(number)
            raise _reason(row)
        return row

    async def drop(self, transfer_id: int) -> None:
        """End it and forget it."""

        async def forget(engine: TransferEngine) -> None:
            await engine.cancel(transfer_id)
            await engine.ended(transfer_id)
            await engine.forget(transfer_id)

        await self._call(forget)
        self._rows.pop(transfer_id, None)
        self._forgotten.add(transfer_id)

    async def move(self, order: Order, *, progress: OnBytes | None = None) -> Transfer:
        """All of it; raises when anything could not be moved."""
        return await self.finished(await self.begin(order), progress=progress)

    async def finished(self, transfer_id: int, *, progress: OnBytes | None = None) -> Transfer:
        """How it ended; who is cancelled while waiting leaves it to go on."""

        def show(row: Transfer) -> None:
            if progress is not None and row.id == transfer_id:
                progress(row.done_bytes, row.total_bytes)

        stop_listening = self.changed.add(show)
        try:
            row = await self._call(lambda engine: engine.ended(transfer_id))
        except asyncio.CancelledError:
            if self.patience_s is not None:
                await self._call(lambda engine: engine.pause(transfer_id))
            raise
        finally:
            stop_listening()
        self._take([row])
        show(row)
        match row.state:
            case TransferState.CANCELLED:
                raise asyncio.CancelledError
            case TransferState.FAILED | TransferState.PARTLY:
                raise _reason(row)
        return row

    # What has to be known before

    async def taken(self, profile: str, folder: ObjectPath, names: Sequence[str]) -> set[str]:
        """Those of the names that stand in the folder already; the name of a folder ends with a slash."""
        return await self.planes.run(profile, lambda plane: names_taken(plane, folder, names))

    async def make_folder(self, profile: str, folder: ObjectPath) -> None:
        """The empty object that stands for a folder with nothing in it."""
        await self.planes.run(profile, lambda plane: plane.put(folder.as_folder(), BytesBody(b"")))

    # How the other loop is reached

    def _tell(self, what: str, tell: Callable[[TransferEngine], None]) -> None:
        """One that has not started yet learns it then."""

        async def told(engine: TransferEngine) -> None:
            tell(engine)

        if self._started is not None:
            self._ask(what, told)

    def _ask(self, what: str, make: Callable[[TransferEngine], Coroutine[Any, Any, None]]) -> None:
        self._scope.start(what, lambda: self._call(make))

    async def _call(self, make: Callable[[TransferEngine], Coroutine[Any, Any, Result]]) -> Result:
        engine = await self._engine()
        return await self.planes.on_loop(lambda: make(engine))

    async def _engine(self) -> TransferEngine:
        async with self._starting:
            if self._started is None:
                self._started = self._main.create_future()
                self._scope.start("engine", lambda: self.planes.on_loop(self._serve))
        return await asyncio.shield(self._started)

    async def _serve(self) -> None:
        started = self._started
        assert started is not None
        async with TransferEngine(self.journal, self.planes.open, self.disk, self.locks) as engine:
            engine.limit.set(self._bytes_per_s)
            engine.changed.add(lambda rows: self.planes.on_main(self._take, rows))
            self.planes.on_main(started.set_result, engine)
            await asyncio.Event().wait()

    def _take(self, rows: Sequence[Transfer]) -> None:
        for row in rows:
            before = self._rows.get(row.id)
            # News from the other loop may be older than an answer from there.
            if row.id in self._forgotten or (before is not None and before.state.is_over and before == row):
                continue
            self._rows[row.id] = row
            self.changed.tell(row)


def _check_words(order: Order) -> None:
    """On Linux a path may hold bytes that are no text, and the journal is text."""
    for words in (order.source, order.target):
        try:
            words.encode()
        except UnicodeEncodeError as error:
            shown = words.encode(errors="backslashreplace").decode()
            raise InvalidInput(
                text("“{path}” is not UTF-8, so the progress of the transfer cannot be recorded.", path=shown),
                text("Rename the file or folder."),
                str(error),
            ) from error


def _here(place: Path) -> str:
    """The journal outlives the folder this program was started in."""
    return str(place.absolute())


def _folder(place: Path | ObjectPath) -> str:
    return str(place.as_folder()) if isinstance(place, ObjectPath) else _here(place)


def _reason(row: Transfer) -> AppError:
    return row.error or Unexpected("a transfer failed without a reason")
