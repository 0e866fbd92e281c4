"""What a service says about one object beside its bytes, and what may be changed of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from traindeck.domain.errors import Conflict, InvalidInput
from traindeck.domain.storage.buckets import Tally
from traindeck.domain.storage.objects import (
    MD5_NAME,
    MODE_NAME,
    PART_BYTES_NAME,
    TIME_NAME,
    ObjectPath,
    count_words,
    size_words,
)
from traindeck.domain.texts import Text, count_text, moment_words, say, say_count, text

CONTENT_TYPE = "content-type"
STANDARD_HEADERS = ("cache-control", "content-disposition", "content-encoding", "content-language", "expires")
"""Those a service keeps with an object and sends with it, beside its type."""

OUR_NAMES = frozenset({MD5_NAME, PART_BYTES_NAME})
"""What is written by transfers and must stay true to the content."""
KNOWN_NAMES = OUR_NAMES | {TIME_NAME, MODE_NAME}

CUSTOMER_KEYS = "SSE-C"
"""Encrypted with a key that only the uploader has."""

STANDARD = "STANDARD"
FROZEN_CLASSES = frozenset({"COLD", "DEEP_ARCHIVE"})
CLASSES = (STANDARD, "WARM", "COLD", "DEEP_ARCHIVE", "INTELLIGENT_TIERING")
METADATA_BYTES = 8 * 1024
S3_METADATA_BYTES = 2 * 1024
MOST_TAGS = 10
RESTORE_DAYS = range(1, 31)
SHORTEST_LINK = timedelta(minutes=1)
LONGEST_LINK = timedelta(days=7)
"""A signature of the newer kind is good for no longer."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_OF_PARTS = re.compile(r"[0-9a-f]{32}-([1-9][0-9]*)")
_PLAIN_MD5 = re.compile(r"[0-9a-f]{32}")
_LONGEST_TAG, _LONGEST_TAG_VALUE = 128, 256


class RestoreState(StrEnum):
    """How far an archived object is on its way to be readable."""

    GOING_ON = "going on"
    DONE = "done"


class RestoreSpeed(StrEnum):
    STANDARD = "Standard"
    EXPEDITED = "Expedited"


class Restoring(StrEnum):
    """What became of the request to restore an object."""

    BEGUN = "begun"
    EXTENDED = "extended"
    GOES_ON = "goes on"


@dataclass(frozen=True, slots=True)
class Restore:
    state: RestoreState
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """One object as its head tells it."""

    path: ObjectPath
    size_bytes: int
    etag: str = ""
    modified: datetime | None = None
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of STANDARD_HEADERS those that are set."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The same as it went over the wire, so that what is not changed can be sent back as it was."""
    storage_class: str = STANDARD
    restore: Restore | None = None
    encryption: str = ""
    encryption_key: str = ""
    version: str = ""
    expires: datetime | None = None
    """When a rule will delete it."""
    redirect: str = ""
    tag_count: int = 0
    is_appendable: bool = False

    @property
    def md5(self) -> str:
        """The MD5 of the whole content, where anybody knows it."""
        known = self.metadata.get(MD5_NAME, "")
        if _PLAIN_MD5.fullmatch(known):
            return known
        return self.etag if _PLAIN_MD5.fullmatch(self.etag) and not self.encryption else ""

    @property
    def is_md5_stored(self) -> bool:
        """It was computed by whoever uploaded the object, not by the service."""
        return _PLAIN_MD5.fullmatch(self.metadata.get(MD5_NAME, "")) is not None

    @property
    def part_count(self) -> int:
        """In how many parts it was uploaded; 0: in one piece."""
        found = _OF_PARTS.fullmatch(self.etag)
        return int(found[1]) if found else 0

    @property
    def is_frozen(self) -> bool:
        """It cannot be read before it is restored."""
        restored = self.restore is not None and self.restore.state is RestoreState.DONE
        return self.storage_class in FROZEN_CLASSES and not restored

    def says_the_same(self, other: ObjectFacts) -> bool:
        """Nobody has changed the object or what is said about it between these two looks."""
        return all(
            getattr(self, name) == getattr(other, name)
            for name in ("etag", "size_bytes", "modified", "version", "content_type", "headers", "written")
        ) and (self.storage_class == other.storage_class)


@dataclass(frozen=True, slots=True)
class HeadChange:
    """What is to be said differently about an object; the rest stays."""

    content_type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    """New values of STANDARD_HEADERS; an empty one takes the header away."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    """Names of metadata to take away."""
    storage_class: str = ""

    @property
    def is_empty(self) -> bool:
        return self == HeadChange()

    def is_done(self, facts: ObjectFacts) -> bool:
        """The object is as this change wants it."""
        return (
            (self.content_type is None or facts.content_type == self.content_type)
            and all(facts.headers.get(name, "") == value for name, value in self.headers.items())
            and all(facts.metadata.get(name) == value for name, value in self.metadata.items())
            and not self.without & facts.metadata.keys()
            and self.storage_class in ("", facts.storage_class)
        )

    def check(self) -> None:
        """Raise InvalidInput for what no service would take, or would take for something else."""
        named = {} if self.content_type is None else {CONTENT_TYPE: self.content_type.strip()}
        for name, value in {**named, **self.headers}.items():
            if (problem := header_problem(name, value)) is not None:
                raise InvalidInput(
                    problem,
                    text("Enter other names percent-encoded, as filename*=UTF-8''%E4%B8%AD.txt."),
                )
        for name, value in self.metadata.items():
            if (problem := metadata_problem(name, value)) is not None:
                raise InvalidInput(problem, text("A name has a–z, 0–9, dot, hyphen, underscore; a value is one line."))
        if touched := OUR_NAMES & (self.metadata.keys() | self.without):
            raise InvalidInput(
                text("“{name}” is written by TrainDeck and belongs to the content.", name=min(touched)),
                text("Enter another name for your own metadata."),
            )


@dataclass(frozen=True, slots=True)
class SignedLink:
    """An address that opens one object for whoever has it; its text is for the one who asked for it."""

    address: str = field(repr=False)
    method: str
    until: datetime
    ends_with_token: bool
    """The keys are temporary: the link ends with them, if that is sooner."""


def header_problem(name: str, value: str) -> Text | None:
    """Why this cannot be the value of one of the standard headers, or of the content type."""
    if name == CONTENT_TYPE and not value:
        return text("The content type is empty. Enter for example binary/octet-stream.")
    if not value.isascii() or not value.isprintable():
        return text("The header “{name}” can contain only English letters, digits and symbols.", name=name)
    return None


def metadata_problem(name: str, value: str) -> Text | None:
    """Why this cannot be metadata."""
    if _NAME.fullmatch(name) is None:
        return text("“{name}” cannot be used as a metadata name.", name=name)
    if not value.isprintable():
        return text("The value of “{name}” has more than one line, or invisible characters.", name=name)
    if value != value.strip():
        return text("The value of “{name}” begins or ends with a space, which would be lost.", name=name)
    return None


def metadata_bytes(written: Mapping[str, str]) -> int:
    return sum(len(name) + len(value) for name, value in written.items())


def check_tags(tags: Mapping[str, str]) -> None:
    if len(tags) > MOST_TAGS:
        raise InvalidInput(
            count_text(
                "{count} tag is more than an object can have.",
                "{count} tags are more than an object can have.",
                len(tags),
            ),
            text("Keep at most {most}.", most=MOST_TAGS),
        )
    for name, value in tags.items():
        if (problem := tag_problem(name, value)) is not None:
            raise InvalidInput(problem, text("A name has 1 to 128 characters, a value up to 256."))


def tag_problem(name: str, value: str) -> Text | None:
    if not 0 < len(name) <= _LONGEST_TAG or len(value) > _LONGEST_TAG_VALUE:
        return text("The tag “{name}” is too long, or has no name.", name=name)
    return None


def frozen(path: ObjectPath) -> Conflict:
    return Conflict(
        text("“{place}” is archived.", place=str(path)),
        text("Restore it first (Properties, Storage); that takes minutes to hours."),
    )


FactRow = tuple[str, str]


_CLASSES = {
    "STANDARD": text("Standard (STANDARD)"),
    "WARM": text("Infrequent Access (WARM)"),
    "COLD": text("Archive (COLD)"),
    "DEEP_ARCHIVE": text("Deep Archive (DEEP_ARCHIVE)"),
    "INTELLIGENT_TIERING": text("Intelligent tiering (INTELLIGENT_TIERING)"),
    "": text("not reported"),
}


def class_words(name: str) -> str:
    """A storage class as it is sold, with the name that requests have for it."""
    return say(_CLASSES[name]) if name in _CLASSES else name


_CLASS_NAMES = {
    "STANDARD": text("Standard", "storage class"),
    "WARM": text("Infrequent Access", "storage class"),
    "COLD": text("Archive", "storage class"),
    "DEEP_ARCHIVE": text("Deep Archive", "storage class"),
    "INTELLIGENT_TIERING": text("Intelligent tiering", "storage class"),
}
_CLASS_NAMES |= {"STANDARD_IA": _CLASS_NAMES["WARM"], "GLACIER": _CLASS_NAMES["COLD"]}  # as listings like S3's have it


def class_name(name: str) -> str:
    """A storage class as it is sold, where there is little room; one that is not known is as the service has it."""
    return say(_CLASS_NAMES[name]) if name in _CLASS_NAMES else name


def restore_words(facts: ObjectFacts) -> str:
    """Whether it can be read, for what is or was archived; empty for all others."""
    restore = facts.restore
    if restore is not None and restore.state is RestoreState.GOING_ON:
        return say("It is being restored and cannot be read yet.")
    if restore is not None:
        return say("Restored: it can be read until {moment}.", moment=_moment(restore.until))
    if facts.storage_class in FROZEN_CLASSES:
        return say("Archived: it cannot be read before it is restored.")
    return ""


def size_in_full(size_bytes: int) -> str:
    """`1.23 MB (1,234,567 bytes)`."""
    exact = say_count("{count} byte", "{count} bytes", size_bytes)
    return exact if size_bytes < 1000 else say("{size} ({exact})", size=size_words(size_bytes), exact=exact)


def md5_words(facts: ObjectFacts) -> str:
    """The MD5 of the whole content, and who says so."""
    if not facts.md5:
        return say("not reported for this kind of object")
    if facts.is_md5_stored:
        return say("{md5}, computed when it was uploaded", md5=facts.md5)
    return say("{md5}, computed by the service", md5=facts.md5)


def public_words(is_public: bool | None) -> str:
    if is_public is None:
        return say("not known")
    return say("Anyone can read it without keys.") if is_public else say("Only those with permission can read it.")


def encryption_words(facts: ObjectFacts) -> str:
    if not facts.encryption:
        return say("not reported")
    if facts.encryption == CUSTOMER_KEYS:
        return say("with a key that only its uploader has")
    return f"{facts.encryption} {facts.encryption_key}".strip()


def fact_rows(facts: ObjectFacts, is_public: bool | None) -> list[FactRow]:
    """Name and value of everything there is to say, but metadata, tags and versions."""
    rows = [
        (say("Size"), size_in_full(facts.size_bytes)),
        (say("Modified"), _moment(facts.modified)),
        (say("Content type"), facts.content_type or "–"),
        *((header_title(name), value) for name, value in facts.headers.items()),
        ("ETag", facts.etag or "–"),
        ("MD5", md5_words(facts)),
        (say("Storage class"), class_words(facts.storage_class)),
    ]
    parts = say_count("{count} part", "{count} parts", facts.part_count)
    sometimes = [
        (say("Archive"), restore_words(facts)),
        (say("Encryption"), encryption_words(facts)),
        (say("Public"), public_words(is_public)),
        (say("Version"), facts.version),
        (say("Uploaded in"), parts if facts.part_count else ""),
        (say("Expires"), moment_words(facts.expires) if facts.expires else ""),
        (say("Redirects to"), facts.redirect),
        (say("Kind"), say("Content can be added to its end.") if facts.is_appendable else ""),
    ]
    return rows + [(title, value) for title, value in sometimes if value]


def header_title(name: str) -> str:
    """`Cache-Control`."""
    return say("Content type") if name == CONTENT_TYPE else "-".join(part.capitalize() for part in name.split("-"))


def tally_rows(tally: Tally) -> list[FactRow]:
    rows = [(say("Objects"), count_words(tally.objects)), (say("Size"), size_in_full(tally.size_bytes))]
    return rows + [(class_words(name), share) for name, share in class_shares(tally.classes)]


def class_shares(classes: Mapping[str, tuple[int, int]]) -> list[FactRow]:
    """Standard first, then what holds most."""
    ordered = sorted(classes.items(), key=lambda item: (item[0] != STANDARD, -item[1][1], item[0]))
    return [
        (name, say_count("{count} object, {size}", "{count} objects, {size}", objects, size=size_words(size_bytes)))
        for name, (objects, size_bytes) in ordered
    ]


def _moment(moment: datetime | None) -> str:
    return moment_words(moment) if moment else "–"
