"""One version of an object as a file on this computer."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from traindeck.domain.storage.object_facts import ObjectVersion
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.local_names import System, part_name
from traindeck.domain.transfers.records import is_plain_md5
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors
from traindeck.services.storage.data_ports import DataPlane
from traindeck.services.transfers.digests import damaged

_HELD_BYTES = 4 * 1024 * 1024
_SYSTEM = System(is_windows=os.name == "nt")


async def fetch_version(
    plane: DataPlane, disk: BlockingCalls, path: ObjectPath, version: ObjectVersion, target: Path
) -> None:
    """By way of a .part file beside it, so that what is called `target` is whole."""
    # A name of its own: what else is called like it may be somebody's file, or another download.
    part = target.with_name(part_name(target.name, _SYSTEM, secrets.token_hex(4)))
    digest = hashlib.md5(usedforsecurity=False)
    held: list[bytes] = []

    def write() -> None:
        with local_errors(part), part.open("ab") as file:
            file.writelines(held)
        held.clear()

    async def take(piece: bytes) -> None:
        digest.update(piece)
        held.append(piece)
        if sum(map(len, held)) >= _HELD_BYTES:
            await disk.run(lambda _: write())

    def finish() -> None:
        write()
        with local_errors(target):
            part.replace(target)

    def forget() -> None:
        with local_errors(part):
            part.unlink(missing_ok=True)

    try:
        found = await plane.get(path, take, version=version.version)
        if is_plain_md5(found.etag) and not found.is_encrypted and digest.hexdigest() != found.etag:
            raise damaged(str(path))
        await disk.run(lambda _: finish())
    finally:
        await disk.run(lambda _: forget())
