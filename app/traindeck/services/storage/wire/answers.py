"""What answers say about an object, checked against what was sent."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping

from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.http.errors import not_understood
from traindeck.services.storage.data_ports import Body, ObjectHead
from traindeck.services.storage.documents import document, http_moment
from traindeck.services.storage.errors import damaged
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.connection import Answered
from traindeck.services.storage.wire.requests import metadata_in

_WEB_HEADERS = ("Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Expires")
MD5 = re.compile("[0-9a-f]{32}")


def bare(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')


def is_encrypted(prefix: str, headers: Mapping[str, str]) -> bool:
    """Then its ETag is no MD5 of the content."""
    start = f"{prefix}server-side-encryption"
    return any(name.startswith(start) for name in headers)


def document_of(account: WireAccount, answer: Answered, *names: str) -> ET.Element:
    try:
        return document(answer.body, *names)
    except ValueError as error:
        raise not_understood(account.refusal(answer, str(error))) from error


def element_of(account: WireAccount, answer: Answered, root: ET.Element, name: str) -> str:
    """The content of an element that must be there."""
    found = root.findtext(name)
    if not found:
        raise not_understood(account.refusal(answer, f"{root.tag} without {name}"))
    return found


def confirmed(account: WireAccount, answer: Answered, body: Body, target: ObjectPath) -> str:
    """The ETag, where it says that what arrived is what was sent."""
    etag = bare(answer.headers.get("etag", ""))
    if not etag:
        raise not_understood(account.refusal(answer, "no ETag"))
    # An encrypted object has another ETag; its Content-MD5 was checked by the service all the same.
    if MD5.fullmatch(etag) and etag != body.md5.hex() and not is_encrypted(account.prefix, answer.headers):
        raise damaged(account.refusal(answer, f"sent {body.md5.hex()}, stored {etag}"), str(target))
    return etag


def found_in(account: WireAccount, path: ObjectPath, headers: Mapping[str, str], size_bytes: int) -> ObjectHead:
    # Without the prefix of the dialect; the rest are few.
    start = len(account.prefix)
    own = {name[start:]: value for name, value in headers.items() if name.startswith(account.prefix)}
    return ObjectHead(
        path,
        size_bytes,
        bare(headers.get("etag", "")),
        http_moment(headers.get("last-modified", "")),
        own.get("version-id", ""),
        own.get("storage-class", ""),
        headers.get("content-type", ""),
        is_encrypted("", own),
        metadata_in("", own),
        {name: headers[name.lower()] for name in _WEB_HEADERS if name.lower() in headers},
    )
