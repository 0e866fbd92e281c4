"""XML and dates as object stores send and take them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from datetime import datetime
from functools import lru_cache

from traindeck.runtime.clock import of_http_date

# Services differ in whether they name a namespace, and in which.
_NAMESPACE = re.compile(r"""\sxmlns=(?:"[^"]*"|'[^']*')""")
_MARKUP = re.compile("[&<>\t\r\n]")
_FROM_S3 = {"STANDARD_IA": "WARM", "GLACIER": "COLD"}
# What no XML can hold, however it is written. Made ready by who writes: that takes longer than all else here.
_UNWRITABLE = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def document(xml: str | bytes, *names: str) -> ET.Element:
    """The document of one of these names; ValueError: it is another, as of a sign-in page on the way."""
    words = xml.decode("utf-8") if isinstance(xml, bytes) else xml
    try:
        root = ET.fromstring(_NAMESPACE.sub("", words.strip(), count=1))
    except ET.ParseError as error:
        raise ValueError(f"expected {names[0]}: {error}") from error
    if root.tag not in names:
        raise ValueError(f"expected {names[0]}, got {root.tag}")
    return root


def our_class(name: str) -> str:
    """A storage class by the name OBS gives it, whichever dialect it came in."""
    return _FROM_S3.get(name, name)


def s3_class(name: str) -> str:
    return next((s3 for s3, ours in _FROM_S3.items() if ours == name), name)


def moment(iso: str | None) -> datetime | None:
    return datetime.fromisoformat(iso) if iso else None


def element(name: str, content: str) -> str:
    """As text of a document; line ends and tabs survive as they are."""
    return f"<{name}>{_MARKUP.sub(lambda found: f'&#{ord(found[0])};', content)}</{name}>"


def is_writable(content: str) -> bool:
    return re.search(_UNWRITABLE, content) is None


@lru_cache(maxsize=4096)
def http_moment(told: str) -> datetime | None:
    """Many objects are of the same second, and reading a date is slow."""
    try:
        return of_http_date(told)
    except ValueError:
        return None
