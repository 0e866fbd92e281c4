"""What is asked for: what goes where, and by which rules."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from itertools import groupby
from pathlib import PurePath

from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import ObjectPath, outermost, shared_beginning
from traindeck.domain.texts import text
from traindeck.domain.transfers.name_filter import FilterRules, same_filter
from traindeck.domain.transfers.packing import SHARD_BYTES, SHARD_FILES

# How a link is called that is kept as an object: where it leads is the content. rclone does the same.
LINK_ENDING = ".rclonelink"
MOST_LINK_BYTES = 4096
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
    keeps_edited: bool = False  # so is a file of this computer that is not as a download left it
    most_bytes: int = 0  # of a download: larger objects stay where they are; 0: all come
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


def _by_any_way(rules: Rules) -> Rules:
    return replace(rules, parallel=0, part_bytes=0)


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

    def asks_the_same(self, other: Order) -> bool:
        """Whether nothing but the way there is another: how much at a time, and in which parts."""
        return replace(self, rules=_by_any_way(self.rules)) == replace(other, rules=_by_any_way(other.rules))

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


@dataclass(frozen=True, slots=True)
class UsualRules:
    """The user's own ways: they hold where an order does not say otherwise."""

    parallel: int = 0
    part_bytes: int = 0
    store_md5: bool = False
    links: Links = Links.SKIP  # of what was dropped, pasted or chosen: who synchronizes says it each time

    def applied_to(self, order: Order) -> Order:
        rules = order.rules
        is_sent = order.kind is Kind.UPLOAD and rules.compares_if_allowed
        usual = replace(
            rules,
            parallel=rules.parallel or self.parallel,
            part_bytes=rules.part_bytes or self.part_bytes,
            store_md5=rules.store_md5 or self.store_md5,
            links=self.links if is_sent and rules.links is Links.SKIP else rules.links,
        )
        return replace(order, rules=usual)


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
            text("More than one of them has the name “{name}”.", name=name),
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


def known_place(order: Order, root: str) -> str:
    """Under which name it is remembered what the files below a folder of this computer are in the service."""
    return f"{order.profile}\t{order.remote.bucket}\t{root}"
