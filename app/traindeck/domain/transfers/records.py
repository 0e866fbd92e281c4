"""What is moved between here and a service, by which rules, and what became of each file."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from enum import Enum
from itertools import groupby
from pathlib import PurePath

from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    ClockOff,
    DiskFull,
    InvalidInput,
    ServiceTrouble,
    Unreachable,
)
from traindeck.domain.storage.objects import MAX_KEY_BYTES, ObjectPath, outermost, shared_beginning, size_words
from traindeck.domain.texts import text
from traindeck.domain.transfers.name_filter import FilterRules, same_filter
from traindeck.domain.transfers.packing import SHARD_BYTES, SHARD_FILES

_MEBIBYTE = 1024 * 1024
_GIBIBYTE = 1024 * _MEBIBYTE

# Above this a lost connection should not cost the whole file; the service would take 5 GB at once.
SINGLE_PUT_BYTES = 64 * _MEBIBYTE
PART_BYTES = 16 * _MEBIBYTE
MOST_PART_BYTES = 5 * _GIBIBYTE
LEAST_PART_BYTES = 100 * 1024  # but for the last
MOST_PARTS = 10_000
MOST_OBJECT_BYTES = MOST_PARTS * MOST_PART_BYTES
# The rest is room for files near the largest size.
_USUAL_PARTS = 9_000
# Below this a request costs more than its bytes.
SMALL_BYTES = 128 * 1024

# How a link is called that is kept as an object: where it leads is the content. rclone does the same.
LINK_ENDING = ".rclonelink"
MOST_LINK_BYTES = 4096

# Before the names of files in the list of a transfer that makes other objects of them.
PROBLEM_SCHEME = "file://"

_PLAIN_MD5 = re.compile(r"[0-9a-f]{32}")
_REMOTE = "obs://"


class Kind(Enum):
    UPLOAD = "up"
    DOWNLOAD = "down"
    COPY = "copy"
    PACK = "pack"
    REMOVE = "remove"
    RESTORE = "restore"  # take away what hides objects that were deleted where versions are kept
    CHECK = "check"  # nothing moves: both sides are compared by their contents


class CompareBy(Enum):
    """What tells that two files are the same."""

    SIZE_AND_TIME = "time"
    SIZE = "size"
    MD5 = "md5"


class Links(Enum):
    """What becomes of a symbolic link; one that is named itself is followed unless links are kept."""

    SKIP = "skip"
    FOLLOW = "follow"
    KEEP = "keep"  # as a small object that says where it leads, and as a link again on the way down


@dataclass(frozen=True, slots=True)
class Rules:
    """How a transfer is done; `compare` None moves everything that is there."""

    compare: CompareBy | None = None
    ignore: tuple[str, ...] = ()
    filters: FilterRules = ()
    has_ignore_files: bool = False
    delete: bool = False
    max_delete: int = 1000
    links: Links = Links.SKIP
    empty_folders: bool = False
    keep_times: bool = False
    keep_modes: bool = False
    store_md5: bool = False  # of large files: the MD5 of the whole goes into the metadata, besides that of each part
    moves: bool = False  # what arrived and was confirmed is removed at the source
    chosen: tuple[tuple[str, str], ...] = ()  # only these below the source, and what each is called at the target
    undoes: int = 0  # the transfer whose removals are taken back
    both_sides: bool = True  # a check tells also what stands only at the target
    compares_if_allowed: bool = False  # keys that may only write do not keep it waiting: then all of it is sent
    keeps_existing: bool = False  # what stands at the target already is left alone there
    tells_replaced: bool = False  # look at the target, only to say what is replaced
    parallel: int = 0  # at most so many requests at a time; 0: as many as the service answers well
    part_bytes: int = 0  # how large the parts of large objects are; 0: as it fits them
    # What is said about the objects that are made
    storage_class: str = ""
    content_type: str = ""
    metadata: tuple[tuple[str, str], ...] = ()
    # Of archives only
    shard_bytes: int = SHARD_BYTES
    shard_files: int = SHARD_FILES
    skip_unreadable: bool = False
    may_replace: bool = False  # archives of other files, too

    def to_json(self) -> str:
        values = asdict(self)
        values["compare"] = self.compare.value if self.compare else None
        values["links"] = self.links.value
        return json.dumps(values)

    @classmethod
    def from_json(cls, content: str) -> Rules:
        known = {one.name for one in fields(cls)}
        values = {name: value for name, value in json.loads(content).items() if name in known}
        values["compare"] = CompareBy(values["compare"]) if values.get("compare") else None
        values["links"] = Links(values.get("links", Links.FOLLOW.value))
        values["ignore"] = tuple(values.get("ignore", ()))
        values["filters"] = same_filter(values.get("filters", ()))
        values["chosen"] = tuple((old, new) for old, new in values.get("chosen", ()))
        values["metadata"] = tuple((name, value) for name, value in values.get("metadata", ()))
        return cls(**values)


# What was dropped, pasted or chosen: equal files are not sent again. A file that was sent is remembered with its time.
SEND = Rules(compare=CompareBy.SIZE_AND_TIME, compares_if_allowed=True)
# By their contents: to compare by times, files would have to be given those of the objects.
FETCH = Rules(compare=CompareBy.MD5)

# There is no limit to what was asked for by name.
MOVE = Rules(moves=True, empty_folders=True, keep_times=True)


@dataclass(frozen=True, slots=True)
class Order:
    """What was asked for; a place on this computer is a path, one in a service is written obs://…"""

    kind: Kind
    profile: str
    source: str
    target: str
    rules: Rules = field(default_factory=Rules)

    @property
    def remote(self) -> ObjectPath:
        """The side in the service; of two, the source, or what is made of it."""
        sides = (self.target, self.source) if self.kind is Kind.PACK else (self.source, self.target)
        return _place(next(filter(is_remote, sides), self.target))

    def is_of_link(self, key: str) -> bool:
        """Whether the object of this key stands for a link of this computer."""
        return self.rules.links is Links.KEEP and not self.is_within_service and key.endswith(LINK_ENDING)

    @property
    def is_within_service(self) -> bool:
        return is_remote(self.source) and is_remote(self.target)

    @property
    def remote_source(self) -> ObjectPath:
        return _place(self.source)

    @property
    def remote_target(self) -> ObjectPath:
        return _place(self.target)


def is_remote(spelling: str) -> bool:
    """Whether the place of an order is in a service."""
    return spelling.startswith(_REMOTE)


def removal_of(profile: str, paths: Sequence[ObjectPath], kind: Kind = Kind.REMOVE) -> Order:
    """Of some objects and whole folders of one bucket; or what brings them back."""
    if len(paths) == 1:
        return Order(kind, profile, str(paths[0]), "")
    source = _common_folder(paths)
    names = [path.key[len(source.key) :] for path in paths]
    return Order(kind, profile, str(source), "", Rules(chosen=tuple((name, name) for name in names)))


def relocation_of(
    profile: str, moves: Sequence[tuple[ObjectPath, str]], target: ObjectPath, *, keeps_source: bool
) -> Order:
    """Objects and folders of one bucket with the names they get in the target folder."""
    rules = Rules() if keeps_source else MOVE
    source = _common_folder([path for path, _ in moves])
    chosen = tuple((path.key[len(source.key) :], name) for path, name in moves)
    return Order(Kind.COPY, profile, str(source), str(target.as_folder()), replace(rules, chosen=chosen))


def uploads_of(profile: str, sources: Sequence[tuple[PurePath, bool]], target: ObjectPath) -> list[Order]:
    """Of absolute places, each with whether it is a folder, into a folder: one order, on Windows one for each drive."""
    places = dict(sorted(sources))
    folder = target.as_folder()
    counted = Counter(_name_of(place) for place in places)
    name = next((name for name, times in counted.items() if times > 1), None)
    if name is not None:
        raise InvalidInput(
            text("More than one of them is called “{name}”.", name=name),
            text("Upload them one after the other into different folders, or rename one."),
        )
    orders: list[Order] = []
    for _, same in groupby(places, key=lambda place: place.drive.casefold()):
        here = list(same)
        if len(here) == 1:
            into = folder.join(_chosen_name(here[0], is_folder=places[here[0]]))
            orders.append(Order(Kind.UPLOAD, profile, str(here[0]), str(into), SEND))
            continue
        source = PurePath(os.path.commonpath([place.parent for place in here]))
        names = [place.relative_to(source).as_posix() + ("/" if places[place] else "") for place in here]
        chosen = tuple(zip(names, (_chosen_name(place, is_folder=places[place]) for place in here), strict=True))
        orders.append(Order(Kind.UPLOAD, profile, str(source), str(folder), replace(SEND, chosen=chosen)))
    return orders


def downloads_of(profile: str, paths: Sequence[ObjectPath], target: PurePath) -> list[Order]:
    """Of objects and whole folders into a folder of this computer: one order for each bucket."""
    orders: list[Order] = []
    for _, same in groupby(outermost(paths), key=lambda path: path.bucket):
        here = list(same)
        source = _common_folder(here)
        chosen = tuple((path.key[len(source.key) :], path.name + ("/" if path.is_folder else "")) for path in here)
        orders.append(Order(Kind.DOWNLOAD, profile, str(source), str(target), replace(FETCH, chosen=chosen)))
    return orders


def _chosen_name(place: PurePath, *, is_folder: bool) -> str:
    name = _name_of(place)
    return f"{name}/" if is_folder and name else name


def _name_of(place: PurePath) -> str:
    """That of a whole drive is its letter."""
    return place.name or place.drive.rstrip(":\\/")


def _common_folder(paths: Sequence[ObjectPath]) -> ObjectPath:
    first, last = min(paths), max(paths)
    shared = shared_beginning(first.parent.key, last.parent.key)
    return ObjectPath(first.bucket, shared[: shared.rfind("/") + 1])


def _place(spelling: str) -> ObjectPath:
    """The reverse of str(ObjectPath): a key may begin or end with anything, blanks too."""
    bucket, _, key = spelling.removeprefix(_REMOTE).partition("/")
    return ObjectPath(bucket, key)


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


@dataclass(frozen=True, slots=True)
class SentPart:
    """A part that the service has, or that is on the disk."""

    number: int
    size_bytes: int
    etag: str = ""


@dataclass(frozen=True, slots=True)
class Known:
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


def known_place(order: Order, root: str) -> str:
    """Under which name it is remembered what the files below a folder of this computer are in the service."""
    return f"{order.profile}\t{order.remote.bucket}\t{root}"


def part_bytes(size_bytes: int) -> int:
    """At least 16 MiB, whole MiB, and never more parts than the service takes."""
    needed = -(-size_bytes // _USUAL_PARTS)
    return min(MOST_PART_BYTES, max(PART_BYTES, -(-needed // _MEBIBYTE) * _MEBIBYTE))


def part_count(size_bytes: int, part_size: int) -> int:
    return -(-size_bytes // part_size)


def too_many_parts(key: str, size_bytes: int, part_size: int) -> AppError | None:
    """Why a file of this size cannot go in parts of a size that was asked for; None: it can."""
    if not part_size or part_count(size_bytes, part_size) <= MOST_PARTS:
        return None
    least = -(-size_bytes // MOST_PARTS // _MEBIBYTE) * _MEBIBYTE + _MEBIBYTE
    return InvalidInput(
        text(
            "“{file}” would have {count} parts, and an object has {most} at most.",
            file=key, count=f"{part_count(size_bytes, part_size):,}", most=f"{MOST_PARTS:,}",
        ),
        text("Give a larger part size, for example {size} MiB, or none at all.", size=least // _MEBIBYTE),
    )  # fmt: skip


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


def refusal(key: str, size_bytes: int) -> AppError | None:
    """Why the service, or other tools on it, could not take this; None: they can."""
    # Nearly all names are short and plain, and there may be a million of them.
    if len(key) * 4 <= MAX_KEY_BYTES and key.isprintable() and "\\" not in key and size_bytes <= MOST_OBJECT_BYTES:
        return None
    shown = key.encode(errors="backslashreplace").decode()
    try:
        length = len(key.encode())
    except UnicodeEncodeError as error:
        return InvalidInput(
            text("The name of “{file}” is not UTF-8, so no service could keep it.", file=shown),
            text("Rename the file."),
            str(error),
        )
    if length > MAX_KEY_BYTES:
        return InvalidInput(
            text("The name “{file}” would be longer than 1,024 bytes in the bucket.", file=shown),
            text("Use shorter folder and file names."),
        )
    if "\\" in key or any(unicodedata.category(letter) == "Cc" for letter in key):
        return InvalidInput(
            text("The name “{file}” holds a backslash or a control character.", file=ascii(shown)[1:-1]),
            text("Rename the file; other programs could not read such a name."),
        )
    if size_bytes > MOST_OBJECT_BYTES:
        return InvalidInput(
            text("“{file}” is larger than the service takes: {size}.", file=shown, size=size_words(size_bytes)),
            text("Split it into parts of less than 48 TB."),
        )
    return None
