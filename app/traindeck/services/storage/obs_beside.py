"""Documents that are kept beside an object: read so that a service which does not know them is found out.

To such a service a request to store or remove one would mean the object itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from traindeck.domain.objects import ObjectPath
from traindeck.services.storage.documents import document
from traindeck.services.storage.obs_account import ObsAccount
from traindeck.services.storage.obs_rare_errors import not_offered

_PARTIAL = 206
_NO_TAGS = ("NoSuchTagSet", "NoSuchTagConfiguration")


async def document_beside(
    account: ObsAccount, path: ObjectPath, name: str, root: str, missing: tuple[str, ...] = ()
) -> Element | None:
    """None: there is none; NotOffered: the service does not know such documents."""
    answer = await account.ask(lambda client, _: client.beside(path.bucket, path.key, name), path, fine=missing)
    if answer.errorCode in missing:
        return None
    # A part of something with a name of its own is the object, whatever its content looks like.
    is_object = answer.status == _PARTIAL and "etag" in dict(answer.header)
    try:
        if not is_object and isinstance(answer.body, str):
            return document(answer.body, root)
    except ValueError:
        pass
    raise not_offered(account.refusal(answer), str(path))


async def tags_of(account: ObsAccount, path: ObjectPath) -> dict[str, str]:
    root = await document_beside(account, path, "tagging", "Tagging", _NO_TAGS)
    found = root.iterfind("TagSet/Tag") if root is not None else ()
    return {tag.findtext("Key") or "": tag.findtext("Value") or "" for tag in found}


async def set_tags(account: ObsAccount, path: ObjectPath, tags: Mapping[str, str]) -> None:
    await tags_of(account, path)
    if tags:
        wanted = [{"key": name, "value": value} for name, value in tags.items()]
        await account.ask(lambda client, _: client.setObjectTagging(path.bucket, path.key, wanted), path)
    else:
        await account.ask(lambda client, _: client.deleteObjectTagging(path.bucket, path.key), path, fine=_NO_TAGS)


async def has_grants(account: ObsAccount, path: ObjectPath) -> bool:
    """Whether anybody but the owner was given anything."""
    root = await document_beside(account, path, "acl", "AccessControlPolicy")
    return root is not None and len(root.findall("AccessControlList/Grant")) > 1
