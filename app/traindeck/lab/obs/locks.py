"""Write once, read many: versions that nobody may remove before a date.

As "Configuring a Default WORM Policy for a Bucket" and "Configuring WORM Retention for an Object" of the OBS reference
have it, in both dialects: it is switched on with the bucket alone, knows one mode, and a date can only move on. What S3
has beyond that, another mode and legal holds, OBS does not know, and so it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

from traindeck.lab.obs.documents import Node, Shape, check_shape, first, leaves, needed
from traindeck.lab.obs.errors import AccessDenied, InvalidArgument, InvalidRequest, MalformedXML, ObsError
from traindeck.lab.obs.records import BucketInfo, Traits, whole_number

SETTING = "object-lock"
ENABLED_DOCUMENT = "<ObjectLockEnabled>Enabled</ObjectLockEnabled>"
MODE = "COMPLIANCE"
_CONFIGURATION: Shape = {
    **leaves("ObjectLockEnabled"),
    "Rule": {"DefaultRetention": leaves("Mode", "Days", "Years")},
}
_MOST = {"Days": 36_500, "Years": 100}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)")


def is_locking(bucket: BucketInfo) -> bool:
    return SETTING in bucket.settings


def read_configuration(root: Node) -> str:
    """What is kept of it: without a rule there is no default any more, locking itself stays."""
    try:
        check_shape(root, _CONFIGURATION)
        if first(root, "ObjectLockEnabled") is not None and needed(root, "ObjectLockEnabled") != "Enabled":
            raise MalformedXML
        rule = first(root, "Rule")
        return ENABLED_DOCUMENT + (_rule(rule) if rule is not None else "")
    except MalformedXML as error:
        raise _malformed() from error


def _rule(rule: Node) -> str:
    usual = first(rule, "DefaultRetention")
    units = [name for name in _MOST if usual is not None and first(usual, name) is not None]
    if usual is None or len(units) != 1 or needed(usual, "Mode") != MODE:
        raise MalformedXML
    text = needed(usual, units[0])
    count = whole_number(text, _MOST[units[0]])
    if not count:
        raise InvalidArgument(units[0], text, "Default retention period must be a positive integer value.")
    return f"<Rule><DefaultRetention><Mode>{MODE}</Mode><{units[0]}>{count}</{units[0]}></DefaultRetention></Rule>"


def usual_end_ms(bucket: BucketInfo, now_ms: int) -> int:
    """Until when what comes now is kept, where nothing else is said; 0 for not at all."""
    document = bucket.settings.get(SETTING, "")
    if document in ("", ENABLED_DOCUMENT):
        return 0
    usual = ElementTree.fromstring(f"<a>{document}</a>").find("Rule/DefaultRetention")
    if usual is None:
        return 0
    # A year has 365 days here, as the reference says.
    days = int(usual.findtext("Days") or 0) + 365 * int(usual.findtext("Years") or 0)
    return now_ms + int(timedelta(days=days) / timedelta(milliseconds=1))


def read_retention(root: Node, now_ms: int) -> int:
    try:
        check_shape(root, leaves("Mode", "RetainUntilDate"))
        mode, text = needed(root, "Mode"), needed(root, "RetainUntilDate")
    except MalformedXML as error:
        raise _malformed() from error
    end_ms = _moment_ms(text)
    if mode != MODE or end_ms is None:
        raise _malformed()
    _check_future(end_ms, now_ms)
    return end_ms


def prolonged(traits: Traits, end_ms: int) -> int:
    _check_future(end_ms, traits.locked_until_ms - 1)
    return end_ms


def wanted_end_ms(bucket: BucketInfo, mode: str | None, until: str | None, now_ms: int) -> int:
    """What the headers of an upload ask for; 0 where they do not."""
    if mode is None and until is None:
        return 0
    if not is_locking(bucket):
        raise InvalidRequest("Object lock is not enabled for the bucket.")
    if mode is None or until is None:
        raise InvalidArgument("object-lock", "", "The mode and the date of a lock must both be supplied.")
    if mode != MODE:
        raise InvalidArgument("object-lock-mode", mode, "Unknown wormMode directive.")
    end_ms = _moment_ms(until)
    if end_ms is None:
        raise InvalidArgument("object-lock-retain-until-date", until, "The date is not ISO 8601.")
    _check_future(end_ms, now_ms)
    return end_ms


def check_unlocked(traits: Traits, now_ms: int) -> None:
    if traits.locked_until_ms > now_ms:
        raise AccessDenied("The version is locked until its date has come.")


def lock_headers(traits: Traits) -> Mapping[str, str]:
    if not traits.locked_until_ms:
        return {}
    end = datetime.fromtimestamp(traits.locked_until_ms / 1000, UTC)
    shown = f"{end:%Y-%m-%dT%H:%M:%S}.{traits.locked_until_ms % 1000:03d}Z"
    return {"object-lock-mode": MODE, "object-lock-retain-until-date": shown}


def _moment_ms(text: str) -> int | None:
    """OBS has milliseconds since 1970 in documents, S3 clients write the date."""
    if (number := whole_number(text, 10**14)) is not None:
        return number
    if not _MOMENT.fullmatch(text):
        return None
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _check_future(end_ms: int, after_ms: int) -> None:
    if end_ms <= after_ms:
        raise InvalidRequest("The retention period date must be later than the current or the configured date.")


def _malformed() -> ObsError:
    return ObsError(400, "MalformedObjectLockError", "Invalid format of the Object Lock configuration.")
