"""Deleting many objects: by the thousand, and singly what failed so."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from traindeck.domain.errors import AppError
from traindeck.domain.objects import ObjectPath
from traindeck.runtime.together import together
from traindeck.services.data_bodies import BytesBody
from traindeck.services.data_ports import NotRemoved
from traindeck.services.storage.documents import element, is_writable
from traindeck.services.storage.obs_errors import need_key
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.answers import document_of
from traindeck.services.storage.wire.connection import Answered
from traindeck.services.storage.wire.requests import Request

PAGE_KEYS = 1000
AT_ONCE = 8

_NOT_OFFERED = ("NotImplemented", "ServiceNotImplemented", "MethodNotAllowed")
_MISSING = ("NoSuchKey", "NoSuchVersion")


_LATEST: Mapping[str, str] = {}


async def removed(
    account: WireAccount, bucket: str, keys: Sequence[str], versions: Mapping[str, str] = _LATEST
) -> list[NotRemoved]:
    """Delete them all, or of each key the version named; the answer names those still there."""
    gate = asyncio.Semaphore(AT_ONCE)
    # No document can hold some names; those go singly.
    writable = [key for key in keys if key and is_writable(key)]
    singly = [NotRemoved(key, "", "") for key in keys if not (key and is_writable(key))]

    async def page(names: Sequence[str]) -> list[NotRemoved]:
        async with gate:
            return await _page(account, bucket, names, versions)

    async def one(refused: NotRemoved) -> NotRemoved | None:
        async with gate:
            return await _one(account, bucket, refused, versions)

    starts = range(0, len(writable), PAGE_KEYS)
    for failed in await together(page(writable[start : start + PAGE_KEYS]) for start in starts):
        singly += failed
    return [left for left in await together(one(refused) for refused in singly) if left is not None]


async def _page(
    account: WireAccount, bucket: str, keys: Sequence[str], versions: Mapping[str, str]
) -> list[NotRemoved]:
    """What has to be tried singly."""
    rows = "".join(f"<Object>{element('Key', key)}{_version(versions, key)}</Object>" for key in keys)
    body = BytesBody(f"<Delete><Quiet>true</Quiet>{rows}</Delete>".encode())
    refused: list[NotRemoved] = []

    def read(answer: Answered) -> None:
        refused.clear()
        root = document_of(account, answer, "DeleteResult")
        for node in root.iterfind("Error"):
            key, code, message = (node.findtext(name) or "" for name in ("Key", "Code", "Message"))
            if code not in _MISSING:
                refused.append(NotRemoved(key, code, message))

    request = Request("POST", ObjectPath(bucket), {"delete": None}, {"Content-Type": "application/xml"}, body)
    answer = await account.ask(request, fine=_NOT_OFFERED, checked=read)
    known = set(keys)
    if answer.status >= 300 or not all(one.key in known for one in refused):
        # Not offered, or a name came back otherwise than it went: look at each.
        return [NotRemoved(key, "", "") for key in keys]
    return refused


def _version(versions: Mapping[str, str], key: str) -> str:
    return element("VersionId", versions[key]) if key in versions else ""


async def _one(
    account: WireAccount, bucket: str, refused: NotRemoved, versions: Mapping[str, str]
) -> NotRemoved | None:
    version = versions.get(refused.key)
    target = ObjectPath(bucket, refused.key)
    try:
        need_key(target)  # without one it would be the bucket
        await account.ask(Request("DELETE", target, {"versionId": version} if version else {}), fine=_MISSING)
    except AppError as error:
        return replace(refused, message=error.sentence())
    return None
