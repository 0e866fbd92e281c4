"""What is known of an object, in words: the same in the window and on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from traindeck.domain.bulk_changes import Tally
from traindeck.domain.object_facts import (
    CONTENT_TYPE,
    CUSTOMER_KEYS,
    FROZEN_CLASSES,
    STANDARD,
    ObjectFacts,
    RestoreState,
)
from traindeck.domain.objects import count_words, size_words
from traindeck.domain.texts import moment_words, say

Row = tuple[str, str]


def class_words(name: str) -> str:
    """A storage class as it is sold, with the name that requests have for it."""
    match name:
        case "STANDARD":
            return say("Standard (STANDARD)")
        case "WARM":
            return say("Infrequent access (WARM)")
        case "COLD":
            return say("Archive (COLD)")
        case "DEEP_ARCHIVE":
            return say("Deep archive (DEEP_ARCHIVE)")
        case "INTELLIGENT_TIERING":
            return say("Intelligent tiering (INTELLIGENT_TIERING)")
        case "":
            return say("not named by the service")
        case _:
            return name


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
    exact = say("{count} bytes", count=f"{size_bytes:,}")
    return exact if size_bytes < 1000 else f"{size_words(size_bytes)} ({exact})"


def md5_words(facts: ObjectFacts) -> str:
    """The MD5 of the whole content, and who says so."""
    if not facts.md5:
        return say("not known: the service says none for this kind of object")
    if facts.is_md5_stored:
        return say("{md5}, computed when it was uploaded", md5=facts.md5)
    return say("{md5}, computed by the service", md5=facts.md5)


def public_words(is_public: bool | None) -> str:
    if is_public is None:
        return say("not known")
    return say("Anybody can read it, without keys.") if is_public else say("Only who has the right can read it.")


def encryption_words(facts: ObjectFacts) -> str:
    if not facts.encryption:
        return say("none told")
    if facts.encryption == CUSTOMER_KEYS:
        return say("with a key that only its uploader has")
    return f"{facts.encryption} {facts.encryption_key}".strip()


def fact_rows(facts: ObjectFacts, is_public: bool | None) -> list[Row]:
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
    if restored := restore_words(facts):
        rows.append((say("Archive"), restored))
    rows += [(say("Encryption"), encryption_words(facts)), (say("Public"), public_words(is_public))]
    if facts.version:
        rows.append((say("Version"), facts.version))
    if facts.part_count:
        rows.append((say("Uploaded in"), say("{count} parts", count=count_words(facts.part_count))))
    if facts.expires:
        rows.append((say("Deleted by a rule"), _moment(facts.expires)))
    if facts.redirect:
        rows.append((say("Redirects to"), facts.redirect))
    if facts.is_appendable:
        rows.append((say("Kind"), say("Content can be added to its end.")))
    return rows


def header_title(name: str) -> str:
    """`Cache-Control`."""
    return say("Content type") if name == CONTENT_TYPE else "-".join(part.capitalize() for part in name.split("-"))


def tally_rows(tally: Tally) -> list[Row]:
    rows = [(say("Objects"), count_words(tally.objects)), (say("Size"), size_in_full(tally.size_bytes))]
    return rows + [(class_words(name), share) for name, share in class_shares(tally.classes)]


def class_shares(classes: Mapping[str, tuple[int, int]]) -> list[Row]:
    """Standard first, then what holds most."""
    ordered = sorted(classes.items(), key=lambda item: (item[0] != STANDARD, -item[1][1], item[0]))
    return [
        (name, say("{count} objects, {size}", count=count_words(objects), size=size_words(size_bytes)))
        for name, (objects, size_bytes) in ordered
    ]


def _moment(moment: datetime | None) -> str:
    return moment_words(moment) if moment else "–"
