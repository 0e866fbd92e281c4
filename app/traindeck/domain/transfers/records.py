"""Transfers as they are written down, and what became of each file."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    ClockOff,
    DiskFull,
    ServiceTrouble,
    Unreachable,
)
from traindeck.domain.transfers.local_names import may_be_changed
from traindeck.domain.transfers.orders import LINK_ENDING, Kind, Order, Rules

# Before the names of files in the list of a transfer that makes other objects of them.
PROBLEM_SCHEME = "file://"

_PLAIN_MD5 = re.compile(r"[0-9a-f]{32}")


class TransferState(Enum):
    QUEUED = "queued"  # others go first
    PLANNING = "planning"
    READY = "ready"  # planned, and waits for a yes
    RUNNING = "running"
    WAITING = "waiting"  # all that is left waits for the network, a key, the clock or the disk
    PAUSED = "paused"
    DONE = "done"
    PARTLY = "partly"  # finished, with files that failed
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        return self in _OVER

    @property
    def is_on_hold(self) -> bool:
        """It goes on when somebody says so, and not before."""
        return self in (TransferState.READY, TransferState.PAUSED)


_OVER = (TransferState.DONE, TransferState.PARTLY, TransferState.FAILED, TransferState.CANCELLED)


class Action(Enum):
    MOVE = 0
    MAKE_FOLDER = 1
    REMOVE = 2
    LEAVE = 3  # moved: it is at the target, and to be removed at the source
    DESCRIBE = 4  # tell of all the rest, once that is there
    LINK = 5  # a link, kept as an object; made after all files, so that none is written through it


class ItemState(Enum):
    """Below ten there is something left to do."""

    QUEUED = 0
    WAITING = 1
    DONE = 10
    EQUAL = 11
    SKIPPED = 12
    FAILED = 13
    # What only a check finds
    DIFFERENT = 14
    MISSING_HERE = 15  # on this computer; of two places in the service, at the source
    MISSING_THERE = 16
    UNKNOWN = 17  # the service does not say what its content is
    KEPT = 18  # something stands at the target, and was to be left alone

    @property
    def is_open(self) -> bool:
        return self.value < 10


class WaitsFor(Enum):
    """Why a file waits; it goes on by itself when that is over."""

    NETWORK = "network"
    SERVICE = "service"
    KEYS = "keys"
    CLOCK = "clock"
    DISK = "disk"


@dataclass(slots=True, unsafe_hash=True)  # not frozen: four times as fast to make, and there may be a million
class Item:
    """One file of a transfer. `key` is the whole name in the service: the target's going up, else the source's.

    `name` is the place below the local folder, or below the target of a copy; empty: the target itself.
    """

    key: str
    name: str
    size_bytes: int = 0
    modified_ns: int = 0
    inode: int = 0
    mode: int = 0
    etag: str = ""
    action: Action = Action.MOVE
    state: ItemState = ItemState.QUEUED
    upload_id: str = ""
    part_bytes: int = 0
    is_verified: bool = False
    error: AppError | None = None
    replaces: bool = False  # something else stood at the target when that was looked at


def name_there(item: Item) -> str:
    """What its object is called, from where the names differ, if no file of this computer can be called so."""
    if not may_be_changed(item.name):
        return ""
    parts = item.key.removesuffix(LINK_ENDING if item.action is Action.LINK else "").split("/")
    found = "/".join(parts[-len(item.name.split("/")) :])
    return "" if found == item.name else found


@dataclass(frozen=True, slots=True)
class SentPart:
    """A part that the service has, or that is on the disk."""

    number: int
    size_bytes: int
    etag: str = ""
    crc64: int | None = None


class Known(NamedTuple):  # a million may be read and compared, which a tuple does at once
    """What a file of this computer was like when its content was that of an ETag; MD5 told so."""

    size_bytes: int
    modified_ns: int
    inode: int
    etag: str


DIFFERENCES = (ItemState.DIFFERENT, ItemState.MISSING_THERE, ItemState.MISSING_HERE)
"""Why two sides are not the same."""
READ = frozenset({ItemState.DONE, ItemState.DIFFERENT, ItemState.UNKNOWN})
"""All of it was moved, or looked at."""
MOVING = READ | {ItemState.QUEUED, ItemState.WAITING, ItemState.FAILED}


@dataclass(slots=True)
class Totals:
    """How many files, and bytes, stand where."""

    files: Counter[ItemState] = field(default_factory=Counter)
    moving_files: int = 0  # all that had or have to be moved
    moving_bytes: int = 0
    done_bytes: int = 0
    removals: int = 0
    removal_bytes: int = 0
    copied_files: int = 0  # at both places
    small_files: int = 0
    verified: int = 0
    replaced: int = 0
    replacing_bytes: int = 0


@dataclass(frozen=True, slots=True)
class TransferRecord:
    """A transfer as it is written down."""

    id: int
    order: Order
    state: TransferState
    created: datetime
    root: str = ""  # the local folder or file, or the target of a copy
    is_planned: bool = False
    has_gaps: bool = False  # a folder could not be read: nothing may be deleted for being absent
    fed_to: str = ""  # what comes before this key may have been under way when the program ended
    place: float = 0.0  # smaller goes first
    started: datetime | None = None
    ended: datetime | None = None
    error: AppError | None = None
    is_dropped: bool = False  # out of the list, but something of it could not be taken back yet


def check_of(record: TransferRecord) -> Order:
    """What looks again whether what a transfer brought is where it should be."""
    order, root = record.order, record.root or record.order.target
    target = order.target if order.kind is Kind.UPLOAD else root
    if order.kind is Kind.CHECK:
        return order
    # What else stands at the target of a copy was not part of it.
    rules = Rules(
        ignore=order.rules.ignore,
        filters=order.rules.filters,
        has_ignore_files=order.rules.has_ignore_files,
        links=order.rules.links,
        chosen=order.rules.chosen,
        both_sides=order.rules.delete,
    )
    return Order(Kind.CHECK, order.profile, order.source, target, rules)


def is_plain_md5(etag: str) -> bool:
    """Whether an ETag can be the MD5 of the content; with parts or encryption it is not."""
    return _PLAIN_MD5.fullmatch(etag) is not None


def names_content(etag: str) -> bool:
    """Whether it is made of the content, as a whole or of its parts."""
    return is_plain_md5(etag.partition("-")[0])


_WAITS = (
    (ClockOff, WaitsFor.CLOCK),
    (AccessRefused, WaitsFor.KEYS),
    (Unreachable, WaitsFor.NETWORK),
    (ServiceTrouble, WaitsFor.SERVICE),
    (DiskFull, WaitsFor.DISK),
)


def waits_for(error: AppError) -> WaitsFor | None:
    """None: trying again would not help."""
    if isinstance(error, ServiceTrouble) and not error.passes:
        return None
    return next((reason for kind, reason in _WAITS if isinstance(error, kind)), None)
