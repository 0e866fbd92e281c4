"""A Lab's root with many objects in it, without sending one: what is listed is only looked up in its index."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from traindeck.lab.accounts import Accounts
from traindeck.lab.obs.index import OBJECTS
from traindeck.lab.obs.records import ObjectInfo
from traindeck.lab.obs.storage import Storage

_FIRST_MS = 1_780_000_000_000
_TYPE = "binary/octet-stream"


def fill(root: Path, bucket: str, keys: Iterable[str]) -> None:
    """Objects of these names, with sizes and times of their own and no content."""
    root.mkdir(parents=True, exist_ok=True)
    owner = Accounts(root).first
    with closing(Storage(root)) as storage:
        with storage.changing(bucket) as change:
            change.insert_bucket(bucket, owner.domain_id, _FIRST_MS)
        with storage.changing() as change:
            there = storage.existing(bucket)
            for number, key in enumerate(keys):
                digest = hashlib.md5(key.encode()).digest()
                size = 0 if key.endswith("/") else int.from_bytes(digest[:3])
                when = _FIRST_MS + int.from_bytes(digest[3:6]) * 1000
                info = ObjectInfo(key, size, digest.hex(), when, _TYPE, {}, {}, 10**9 + number)
                change.keep(OBJECTS, there, info)


def listed_keys(many: int) -> Iterable[str]:
    """Images in one folder beside some of other names."""
    yield from ("README.md", "config/train.json", "config/eval.json", "训练记录.csv")
    yield from (f"images/img_{number:07}.jpg" for number in range(many))
