"""The head of an object as it comes over the wire, in our words, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import unquote

from traindeck.domain.storage.object_facts import (
    CONTENT_TYPE,
    CUSTOMER_KEYS,
    OUR_NAMES,
    STANDARD,
    STANDARD_HEADERS,
    HeadChange,
    ObjectFacts,
    Restore,
    RestoreState,
)
from traindeck.domain.storage.objects import ObjectPath, as_written
from traindeck.runtime.clock import http_moment
from traindeck.services.http import bounds
from traindeck.services.storage.documents import our_class, s3_class

_OBS = "x-obs-"
_PREFIXES = (_OBS, "x-amz-")
_RESTORING = re.compile(r'ongoing-request="(true|false)"(?:.*?expiry-date="([^"]*)")?')
_EXPIRY = re.compile(r'expiry-date="([^"]*)"')


def facts_of(path: ObjectPath, headers: Mapping[str, str]) -> ObjectFacts:
    """ValueError: this is not the head of an object."""
    size = bounds.whole_number(headers.get("content-length", ""))
    if size is None:
        raise ValueError("no length")
    written = {
        name[len(prefix) + 5 :]: _readable(value)
        for prefix in _PREFIXES
        for name, value in headers.items()
        if name.startswith(f"{prefix}meta-")
    }
    return ObjectFacts(
        path=path,
        size_bytes=size,
        etag=headers.get("etag", "").strip('"'),
        modified=http_moment(headers.get("last-modified", "")),
        content_type=headers.get(CONTENT_TYPE, ""),
        headers={name: _readable(headers[name]) for name in STANDARD_HEADERS if headers.get(name)},
        metadata={name: unquote(value) for name, value in written.items()},
        written=written,
        storage_class=our_class(_ours(headers, "storage-class")) or STANDARD,
        restore=_restore(_ours(headers, "restore")),
        encryption=_ours(headers, "server-side-encryption")
        or (CUSTOMER_KEYS if _ours(headers, "server-side-encryption-customer-algorithm") else ""),
        encryption_key=_ours(headers, "server-side-encryption-kms-key-id")
        or _ours(headers, "server-side-encryption-aws-kms-key-id"),
        version=_ours(headers, "version-id"),
        expires=_expiry(_ours(headers, "expiration")),
        redirect=_ours(headers, "website-redirect-location"),
        tag_count=bounds.whole_number(_ours(headers, "tagging-count")) or 0,
        is_appendable=_ours(headers, "object-type") == "Appendable",
    )


def whole_head(facts: ObjectFacts, change: HeadChange) -> dict[str, str]:
    """Everything that is to be said about the object, as headers of a request that replaces all of it."""
    headers = {**facts.headers, **change.headers}
    found = {name: value for name, value in headers.items() if value}
    found[CONTENT_TYPE] = change.content_type or facts.content_type
    found |= _metadata_headers(facts, change)
    if facts.redirect:
        found["x-obs-website-redirect-location"] = facts.redirect
    return {name: value for name, value in found.items() if value}


def changed_head(facts: ObjectFacts, change: HeadChange) -> dict[str, str]:
    """What is named replaces what there is of that name; metadata is always replaced as a whole."""
    named = {name: value for name, value in change.headers.items() if value}
    if change.content_type is not None:
        named[CONTENT_TYPE] = change.content_type
    return named | _metadata_headers(facts, change)


def takes_away(facts: ObjectFacts, change: HeadChange) -> bool:
    """The change removes something, which only replacing all of it does everywhere."""
    headers = any(not value and name in facts.headers for name, value in change.headers.items())
    return headers or bool(change.without & facts.metadata.keys())


def metadata_after(facts: ObjectFacts, change: HeadChange) -> dict[str, str]:
    """The metadata there will be, as it is written on the wire."""
    kept = {name: value for name, value in facts.written.items() if name not in change.without - OUR_NAMES}
    # What is not changed goes back as it came: another program may have its own way to write it.
    kept |= {name: as_written(value) for name, value in change.metadata.items() if facts.metadata.get(name) != value}
    return {name: value if value.isascii() else as_written(value) for name, value in kept.items()}


def _metadata_headers(facts: ObjectFacts, change: HeadChange) -> dict[str, str]:
    return {f"x-obs-meta-{name}": value for name, value in metadata_after(facts, change).items()}


def on_wire(headers: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Headers spelled as OBS spells them, in the dialect of this prefix."""
    # What others wrote in more than ASCII goes back byte by byte, as it was read.
    found = {name: value if value.isascii() else value.encode().decode("latin-1") for name, value in headers.items()}
    if prefix == _OBS:
        return found
    found = {f"{prefix}{name.removeprefix(_OBS)}" if name.startswith(_OBS) else name: v for name, v in found.items()}
    if wanted := found.get(f"{prefix}storage-class"):
        found[f"{prefix}storage-class"] = s3_class(wanted)
    if key := found.pop(f"{prefix}server-side-encryption-kms-key-id", ""):
        found[f"{prefix}server-side-encryption-aws-kms-key-id"] = key
    return found


def _ours(headers: Mapping[str, str], name: str) -> str:
    return next((headers[prefix + name] for prefix in _PREFIXES if headers.get(prefix + name)), "")


def _readable(value: str) -> str:
    """Headers are read byte by byte; most who write more than ASCII write UTF-8."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _restore(written: str) -> Restore | None:
    found = _RESTORING.search(written)
    if found is None:
        return None
    if found[1] == "true":
        return Restore(RestoreState.GOING_ON)
    return Restore(RestoreState.DONE, http_moment(found[2] or ""))


def _expiry(written: str) -> datetime | None:
    found = _EXPIRY.search(written)
    return http_moment(found[1]) if found else None
