"""What a lifecycle configuration must keep to.

The elements and their values are those of "Configuring Bucket Lifecycle Rules" in the OBS API reference; how they go
together, and the codes, those of "Lifecycle configuration elements" in the S3 user guide, which OBS follows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

from traindeck.lab.obs.documents import Node, Shape, check_shape, child, children, first, leaves, needed
from traindeck.lab.obs.errors import InvalidArgument, InvalidRequest, MalformedXML, ObsError
from traindeck.lab.obs.records import whole_number

MAX_RULES = 1000
MAX_ID = 255
_MOST_DAYS = 2**31 - 1
_TAG = leaves("Key", "Value")
_SIZES = leaves("ObjectSizeGreaterThan", "ObjectSizeLessThan")
_KEPT = leaves("NoncurrentDays", "NewerNoncurrentVersions")
_SHAPE: Shape = {
    "Rule*": {
        **leaves("ID", "Prefix", "Status"),
        "Filter": {**leaves("Prefix"), **_SIZES, "Tag": _TAG, "And": {**leaves("Prefix"), **_SIZES, "Tag*": _TAG}},
        "Expiration": leaves("Days", "Date", "ExpiredObjectDeleteMarker"),
        "Transition*": leaves("Days", "Date", "StorageClass"),
        "NoncurrentVersionExpiration": _KEPT,
        "NoncurrentVersionTransition*": {**_KEPT, **leaves("StorageClass")},
        "AbortIncompleteMultipartUpload": leaves("DaysAfterInitiation"),
    }
}
_ACTIONS = tuple(name.rstrip("*") for name, below in _SHAPE["Rule*"].items() if below and name != "Filter")
# An object only ever moves down; the S3 names beside those of OBS.
_ORDER = {"WARM": 1, "STANDARD_IA": 1, "INTELLIGENT_TIERING": 2, "COLD": 3, "GLACIER": 3, "DEEP_ARCHIVE": 4}
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d))?")


def check_lifecycle(root: Node) -> None:
    check_shape(root, _SHAPE)
    rules = list(children(root, "Rule"))
    if not 0 < len(rules) <= MAX_RULES:
        raise MalformedXML
    seen: set[str] = set()
    for rule in rules:
        name = child(rule, "ID") or ""
        if len(name) > MAX_ID or (name and name in seen):
            raise InvalidArgument("ID", name, "The ID of a rule must be unique and at most 255 characters long.")
        seen.add(name)
        if needed(rule, "Status") not in ("Enabled", "Disabled"):
            raise MalformedXML
        _check_scope(rule)
        _check_actions(rule)


def _check_scope(rule: Node) -> None:
    # Prefixes of rules may overlap: the reference names no such limit, S3 explains what then happens first.
    scope = first(rule, "Filter")
    if (scope is None) == (first(rule, "Prefix") is None):
        raise MalformedXML
    if scope is None:
        return
    if len(scope) > 1:
        raise MalformedXML
    both = first(scope, "And")
    tags = list(children(scope if both is None else both, "Tag"))
    keys = [child(tag, "Key") or "" for tag in tags]
    if any(
        not key or len(key) > 128 or len(child(tag, "Value") or "") > 256 for key, tag in zip(keys, tags, strict=True)
    ):
        raise ObsError(400, "InvalidTagError", "The key or value of a tag is empty or too long.")
    if len(set(keys)) < len(keys):
        raise InvalidRequest("Duplicate Tag Keys are not allowed.")
    expiration = first(rule, "Expiration")
    about_markers = expiration is not None and first(expiration, "ExpiredObjectDeleteMarker") is not None
    if tags and (first(rule, "AbortIncompleteMultipartUpload") is not None or about_markers):
        raise InvalidRequest("Uploads under way and delete markers have no tags a rule could look for.")


def _check_actions(rule: Node) -> None:
    if all(first(rule, name) is None for name in _ACTIONS):
        raise MalformedXML("A rule needs at least one action.")
    moves = [(_class(one), *_moment(one)) for one in children(rule, "Transition")]
    ends = [_moment(one) for one in children(rule, "Expiration") if not _is_about_markers(one)]
    if len({kind for _, kind, _ in moves} | {kind for kind, _ in ends}) > 1:
        raise InvalidRequest("Found mixed 'Date' and 'Days' based Expiration and Transition actions in lifecycle rule.")
    _check_order([(name, at) for name, _, at in moves], [at for _, at in ends])
    old_moves = [(_class(one), _days(one, "NoncurrentDays")) for one in children(rule, "NoncurrentVersionTransition")]
    _check_order(old_moves, [_days(one, "NoncurrentDays") for one in children(rule, "NoncurrentVersionExpiration")])
    for one in children(rule, "AbortIncompleteMultipartUpload"):
        _days(one, "DaysAfterInitiation")


def _check_order(moves: Sequence[tuple[str, float]], ends: Sequence[float]) -> None:
    """Each move later than the one before it, and the end later than all of them."""
    ordered = sorted(moves, key=lambda move: _ORDER[move[0]])
    for (one, earlier), (other, later) in pairwise(ordered):
        if _ORDER[one] == _ORDER[other]:
            raise InvalidRequest("'StorageClass' must be different for 'Transition' actions in same 'Rule'.")
        if later <= earlier:
            raise InvalidArgument("Days", other, f"The transition to {other} must come later than that to {one}.")
    if ends and ordered and ends[0] <= ordered[-1][1]:
        raise InvalidArgument("Days", "", "'Days' in the Expiration action must be greater than in Transition actions.")


def _is_about_markers(expiration: Node) -> bool:
    value = child(expiration, "ExpiredObjectDeleteMarker")
    if value is None:
        return False
    if len(expiration) > 1 or value.strip() not in ("true", "false"):
        raise MalformedXML
    return True


def _moment(action: Node) -> tuple[str, float]:
    """Either days or a date, and when that is."""
    dated, counted = first(action, "Date"), first(action, "Days")
    if (dated is None) == (counted is None):
        raise MalformedXML
    return ("Days", _days(action, "Days")) if dated is None else ("Date", _date(needed(action, "Date")))


def _days(action: Node, name: str) -> int:
    text = needed(action, name)
    days = whole_number(text, _MOST_DAYS)
    if not days:
        raise InvalidArgument(name, text, f"'{name}' must be a positive integer.")
    return days


def _date(text: str) -> float:
    if not _DATE.fullmatch(text):
        raise MalformedXML
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise MalformedXML from error
    if moment.timestamp() % 86_400:
        raise InvalidArgument("Date", text, "'Date' must be at midnight GMT.")
    return moment.timestamp()


def _class(action: Node) -> str:
    name = needed(action, "StorageClass")
    if name not in _ORDER:
        raise MalformedXML
    return name
