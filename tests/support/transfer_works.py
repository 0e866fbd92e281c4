"""A transfer engine with a journal on the disk, over whatever data plane a test gives it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from support.object_shelf import ObjectShelf
from traindeck.domain.errors import AccessRefused, AppError, Unreachable
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import Kind, Order, Rules
from traindeck.domain.transfers.records import Item, ItemState
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.storage.data_ports import ObjectHead
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.engine import TransferEngine
from traindeck.services.transfers.ledger import Transfer
from traindeck.store.transfer_journal import TransferJournal

BUCKET = "bucket"
MIB = 1024 * 1024
FILES = {"a.txt": b"a", "deep/er/b.bin": bytes(range(256)) * 300, "空/c 文件.txt": b"", "deep/.hidden": b"h"}

ODD_FILES = {
    "a b.txt": b"a",
    "plus+and%25.txt": b"b" * 1000,
    "deep/er/数据.bin": bytes(range(256)) * 300,
    "empty.txt": b"",
    "q?#&=;,'()": b"odd",
}
"""Names that stores spell in different ways."""


@asynccontextmanager
async def working(home: Path, plane: DataPlane) -> AsyncIterator[TransferEngine]:
    """One program's engine on `home`; entered again on the same home it is the next program."""
    writer, disk = BlockingCalls(1, "journal"), BlockingCalls(4, "disk")

    async def open_plane(_: str) -> DataPlane:
        return plane

    try:
        with closing(TransferJournal(home / "transfers.db", writer)) as journal:
            async with TransferEngine(journal, open_plane, disk, home / "locks") as engine:
                yield engine
    finally:
        disk.close()
        writer.close()


def upload(source: Path, target: ObjectPath, **rules: Any) -> Order:
    return Order(Kind.UPLOAD, "lab", str(source), str(target), Rules(**rules))


def download(source: ObjectPath, target: Path, **rules: Any) -> Order:
    return Order(Kind.DOWNLOAD, "lab", str(source), str(target), Rules(**rules))


def copy(source: ObjectPath, target: ObjectPath, **rules: Any) -> Order:
    return Order(Kind.COPY, "lab", str(source), str(target), Rules(**rules))


def check(source: Path | ObjectPath, target: Path | ObjectPath, **rules: Any) -> Order:
    return Order(Kind.CHECK, "lab", str(source), str(target), Rules(**rules))


async def done(engine: TransferEngine, order: Order, **options: Any) -> Transfer:
    return await engine.ended(await engine.add(order, **options))


async def listed(engine: TransferEngine, transfer_id: int) -> dict[str, ItemState]:
    return {item.name: item.state for item in await all_items(engine, transfer_id)}


async def all_items(engine: TransferEngine, transfer_id: int) -> list[Item]:
    return await noted(engine, transfer_id, most=1_000_000)


async def noted(engine: TransferEngine, *which: Any, **more: Any) -> list[Item]:
    """What the journal says, with the results of this moment."""
    await engine.ledger.flush()
    return await engine.journal.items(*which, **more)


def tree(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return root


def content_of(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def there(key: str = "") -> ObjectPath:
    return ObjectPath(BUCKET, key)


def random_bytes(size: int) -> bytes:
    return os.urandom(size)


def failing(shelf: ObjectShelf, name: str, fails: Callable[[str], AppError | None]) -> None:
    """`fails` is asked before each such request what is wrong with it."""
    whole = getattr(shelf, name)

    async def asked(target: ObjectPath, *more: object, **named: Any) -> object:
        if error := fails(target.key):
            raise error
        work: Awaitable[object] = whole(target, *more, **named)
        return await work

    setattr(shelf, name, asked)


def hold_gets(shelf: ObjectShelf, until: asyncio.Event, *offsets: int) -> None:
    """Requests for what begins there are not answered before that."""
    whole = shelf.get

    async def held(*given: Any, **named: Any) -> ObjectHead:
        if named["offset"] in offsets:
            await until.wait()
        return await whole(*given, **named)

    shelf.get = held  # type: ignore[method-assign]


def written_parts(home: Path) -> int:
    """How many parts the journal on the disk knows."""
    with closing(sqlite3.connect(home / "transfers.db")) as db:
        found: int = db.execute("SELECT count(*) FROM parts").fetchone()[0]
    return found


def offline() -> AppError:
    return Unreachable(text("The service cannot be reached."), text("Look at the network."))


def refused() -> AppError:
    return AccessRefused(text("No."), text("Ask."))
