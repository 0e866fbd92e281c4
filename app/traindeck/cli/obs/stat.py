"""`traindeck obs stat` and `url`: what is known of an object, and a link to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.domain.errors import NoRight, NotFound
from traindeck.domain.storage.bucket_settings import VERSIONING, BucketFacts, quota_words
from traindeck.domain.storage.object_facts import (
    ObjectFacts,
    class_words,
    fact_rows,
    tally_rows,
)
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath, ObjectVersion, count_words, size_words
from traindeck.domain.texts import moment_words, say

if TYPE_CHECKING:
    from traindeck.services.accounts.connections import Connection
    from traindeck.services.storage.sdk.objects import ObsObjects


def _rows(facts: BucketFacts) -> list[tuple[str, str]]:
    versioning = facts.versioning
    return [
        (say("Bucket"), facts.name),
        (say("Endpoint"), facts.endpoint),
        (say("Region"), facts.region or "–"),
        (say("Created"), moment_words(facts.created)),
        (say("Objects"), count_words(facts.objects)),
        (say("Size"), size_words(facts.size_bytes)),
        (say("Storage class"), facts.storage_class or "–"),
        (say("Versioning"), say(VERSIONING[versioning]) if versioning is not None else "–"),
        (say("Quota"), quota_words(facts.quota_bytes)),
        (say("Encryption"), "–" if facts.encryption is None else facts.encryption or say("none")),
        (say("OBS version"), facts.obs_version or "–"),
    ]


def _document(facts: BucketFacts) -> dict[str, object]:
    return {
        "path": f"obs://{facts.name}/",
        "bucket": facts.name,
        "endpoint": facts.endpoint,
        "region": facts.region or None,
        "created": facts.created,
        "objects": facts.objects,
        "bytes": facts.size_bytes,
        "class": facts.storage_class or None,
        "versioning": None if facts.versioning is None else facts.versioning.value.lower() or "never",
        "quota": facts.quota_bytes,
        "encryption": None if facts.encryption is None else facts.encryption or "none",
        "obs_version": facts.obs_version or None,
        "unknown": {name: reason.in_english() for name, reason in facts.unknown.items()},
    }


async def stat(call: Call) -> int:
    path = ObjectPath.parse(call.options.path)
    async with call.accounts() as core:
        connection = await core.connections.open(call.profile(core))
        if path.is_bucket:
            await _bucket(call, connection, path.bucket)
        elif path.is_folder:
            await _folder(call, connection, path)
        else:
            await _object(call, connection, path)
    return DONE


async def url(call: Call) -> int:
    path = ObjectPath.parse(call.options.path)
    async with call.accounts() as core:
        objects = (await core.connections.open(call.profile(core))).objects
        link = await objects.link(
            path, call.options.expires, method=call.options.method, version=call.options.version_id or ""
        )
    if link.ends_with_token:
        call.output.note(say("These keys are temporary. If they expire first, so does the link."))
    if call.output.json_wanted:
        call.output.document({"url": link.address, "method": link.method, "until": link.until})
    else:
        call.output.whole_line(link.address)
    return DONE


async def _bucket(call: Call, connection: Connection, bucket: str) -> None:
    """What could not be found out is shown as unknown, with the reason beside it."""
    facts = await connection.settings.facts(bucket)
    if call.output.json_wanted:
        call.output.document(_document(facts))
        return
    call.output.facts(_rows(facts))
    for why in dict.fromkeys(say(reason) for reason in facts.unknown.values()):
        call.output.note(why)


async def _object(call: Call, connection: Connection, path: ObjectPath) -> None:
    """The object, else what is left of one that was deleted, else the folder of that name."""
    objects = connection.objects
    try:
        facts = await objects.facts(path)
    except NotFound:
        versions = await objects.versions(path) if call.options.versions else []
        if not versions:
            await _folder(call, connection, path.as_folder())
        elif call.output.json_wanted:
            call.output.document({"path": str(path), "versions": [_version_document(one) for one in versions]})
        else:
            _print_versions(call, versions)
        return
    versions = await objects.versions(path) if call.options.versions else []
    is_public = await objects.is_public(path)
    tags = await _tags(call, objects, facts)
    if call.output.json_wanted:
        more = {"versions": [_version_document(one) for one in versions]} if call.options.versions else {}
        call.output.document({**_object_document(facts, is_public, tags), **more})
        return
    rows = [(say("Object"), str(path)), *fact_rows(facts, is_public)]
    rows += [(say("Metadata {name}", name=name), value) for name, value in sorted(facts.metadata.items())]
    rows += [(say("Tag {name}", name=name), value) for name, value in sorted((tags or {}).items())]
    call.output.facts(rows)
    if versions:
        call.output.line("")
        _print_versions(call, versions)


async def _tags(call: Call, objects: ObsObjects, facts: ObjectFacts) -> Mapping[str, str] | None:
    """None: these keys may not look; the rest is known all the same."""
    try:
        return await objects.tags(facts.path) if facts.tag_count else {}
    except NoRight as error:
        call.output.note(error.sentence())
        return None


async def _folder(call: Call, connection: Connection, path: ObjectPath) -> None:
    from traindeck.services.storage.bulk_changes import tally
    from traindeck.services.storage.listing import nothing_there

    found = await tally(connection.storage, [ObjectEntry(path)], lambda _: None)
    if not found.objects and await connection.storage.info(path) is None:
        raise nothing_there(path)
    if not call.output.json_wanted:
        call.output.facts([(say("Folder"), str(path)), *tally_rows(found)])
        return
    classes = {name: {"objects": objects, "bytes": size} for name, (objects, size) in found.classes.items()}
    amount = {"objects": found.objects, "bytes": found.size_bytes, "classes": classes}
    call.output.document({"path": str(path), "bucket": path.bucket, "folder": True, **amount})


def _print_versions(call: Call, versions: Sequence[ObjectVersion]) -> None:
    rows = [
        (
            moment_words(one.modified),
            say("deleted") if one.is_marker else size_words(one.size_bytes),
            class_words(one.storage_class) if not one.is_marker else "",
            one.version,
            say("current") if one.is_latest else "",
        )
        for one in versions
    ]
    heads = (say("Modified"), say("Size"), say("Storage class"), say("Version"), "")
    call.output.table(heads, rows, frozenset({1}), firm=frozenset({3}))


def _object_document(facts: ObjectFacts, is_public: bool | None, tags: Mapping[str, str] | None) -> dict[str, object]:
    restore = facts.restore
    return {
        "path": str(facts.path),
        "bucket": facts.path.bucket,
        "key": facts.path.key,
        "size": facts.size_bytes,
        "modified": facts.modified,
        "etag": facts.etag,
        "md5": facts.md5,
        "type": facts.content_type,
        "headers": dict(facts.headers),
        "metadata": dict(facts.metadata),
        "tags": None if tags is None else dict(tags),
        "class": facts.storage_class,
        "restore": {"state": str(restore.state), "until": restore.until} if restore else None,
        "encryption": facts.encryption,
        "version": facts.version,
        "expires": facts.expires,
        "redirect": facts.redirect,
        "public": is_public,
    }


def _version_document(version: ObjectVersion) -> dict[str, object]:
    return {
        "version": version.version,
        "latest": version.is_latest,
        "deleted": version.is_marker,
        "modified": version.modified,
        "size": version.size_bytes,
        "etag": version.etag,
        "class": version.storage_class,
    }
