"""What is known of a bucket, as `traindeck obs stat` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traindeck.cli.output import aligned
from traindeck.domain.bucket_settings import VERSIONING, BucketFacts, quota_words
from traindeck.domain.objects import count_words, size_words
from traindeck.domain.texts import moment_words, say

if TYPE_CHECKING:
    from traindeck.assembly.core import Core
    from traindeck.cli.call import Call


async def show_bucket(call: Call, core: Core, bucket: str) -> None:
    """What could not be found out is shown as unknown, with the reason beside it."""
    facts = await (await core.connections.open(call.profile(core))).settings.facts(bucket)
    if call.output.json_wanted:
        call.output.document(_document(facts))
        return
    for line in aligned(_rows(facts)):
        call.output.line(line)
    for why in dict.fromkeys(say(reason) for reason in facts.unknown.values()):
        call.output.note(why)


def _rows(facts: BucketFacts) -> list[tuple[str, str]]:
    versioning = facts.versioning
    return [
        (say("Bucket"), facts.name),
        (say("Endpoint"), facts.endpoint),
        (say("Region"), facts.region or "–"),
        (say("Created"), moment_words(facts.created) if facts.created else "–"),
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
        "created": facts.created.isoformat() if facts.created else None,
        "objects": facts.objects,
        "bytes": facts.size_bytes,
        "class": facts.storage_class or None,
        "versioning": None if facts.versioning is None else facts.versioning.value.lower() or "never",
        "quota": facts.quota_bytes,
        "encryption": None if facts.encryption is None else facts.encryption or "none",
        "obs_version": facts.obs_version or None,
        "unknown": {name: reason.in_english() for name, reason in facts.unknown.items()},
    }
