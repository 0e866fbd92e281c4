"""What may be the name of a bucket or of an object."""

from __future__ import annotations

import ipaddress
import re

from traindeck.lab.obs.errors import InvalidArgument, InvalidBucketName, KeyTooLong

MAX_KEY_BYTES = 1024
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def is_bucket_name(name: str) -> bool:
    if not _BUCKET.fullmatch(name) or ".." in name or ".-" in name or "-." in name:
        return False
    try:
        ipaddress.IPv4Address(name)
    except ValueError:
        return True
    return False


def checked_bucket_name(name: str) -> str:
    if not is_bucket_name(name):
        raise InvalidBucketName(name)
    return name


def key_bytes(key: str) -> bytes:
    """The bytes of a key that may be stored: they, not the characters, give the order and the length."""
    try:
        encoded = key.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidArgument("key", ascii(key), "The key is not valid UTF-8.") from error
    if not encoded:
        raise InvalidArgument("key", "", "The key is empty.")
    if len(encoded) > MAX_KEY_BYTES:
        raise KeyTooLong
    return encoded


def text_bytes(text: str) -> bytes:
    """A prefix, marker or delimiter as bytes; unlike a key it may be empty or long."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidArgument("text", ascii(text), "The parameter is not valid UTF-8.") from error
