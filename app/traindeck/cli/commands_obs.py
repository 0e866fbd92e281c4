"""`traindeck obs`: buckets and objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.bucket_commands import mb, rb
from traindeck.cli.call import DONE, Call
from traindeck.cli.copying import copy
from traindeck.cli.fact_commands import stat, url
from traindeck.cli.fragments import fragments
from traindeck.cli.listing_commands import du, find, ls
from traindeck.cli.packing import pack
from traindeck.cli.policy_command import policy
from traindeck.cli.syncing import sync
from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.objects import ObjectEntry, ObjectPath, size_words
from traindeck.domain.texts import say, text

if TYPE_CHECKING:
    from traindeck.services.ports import ObjectStorage

_MINUTE = "%Y-%m-%d %H:%M"


async def rm(call: Call) -> int:
    paths = [ObjectPath.parse(path) for path in call.options.paths]
    recursive = call.options.recursive
    for path in paths:
        if path.is_folder and not recursive:
            raise InvalidInput(
                text("“{path}” is a folder.", path=str(path)),
                text("Add --recursive to remove everything below it."),
            )
    async with call.core() as core:
        storage = (await core.connections.open(call.profile(core))).storage
        doomed = [entry for path in paths for entry in await _doomed(storage, path, recursive=recursive)]
        sizes = [entry.size_bytes for entry in doomed if entry.size_bytes is not None]
        count, size = len(sizes), sum(sizes)
        if recursive and not _is_meant(call, count, size):
            call.output.note(say("Nothing was removed."))
            return DONE
        await storage.remove([entry.path for entry in doomed])
    call.output.result(
        {"removed": count, "bytes": size},
        say("Objects removed: {count}, {size}.", count=count, size=size_words(size)),
    )
    return DONE


COMMANDS = {
    "ls": ls,
    "du": du,
    "find": find,
    "mb": mb,
    "rb": rb,
    "policy": policy,
    "cp": copy,
    "sync": sync,
    "pack": pack,
    "rm": rm,
    "stat": stat,
    "url": url,
    "fragments": fragments,
}


async def _doomed(storage: ObjectStorage, path: ObjectPath, *, recursive: bool) -> list[ObjectEntry]:
    if not path.is_folder:
        entry = await storage.info(path)
        if entry is not None:
            return [entry]
        if not recursive:
            raise NotFound(
                text("There is no object {place}.", place=str(path)),
                text("List the folder above it to see what is there."),
            )
    folder = path.as_folder()
    found = [entry async for page in storage.entries(folder, recursive=True) for entry in page]
    if not found and not path.is_bucket and await storage.info(folder) is None:
        from traindeck.services.listing import nothing_there

        raise nothing_there(path)
    # A listing leaves out the empty object that stands for the folder itself.
    return found if folder.is_bucket else [*found, ObjectEntry(folder)]


def _is_meant(call: Call, count: int, size: int) -> bool:
    if call.options.yes or count == 0:
        return True
    question = text("Objects to remove: {count}, {size}. Remove them?", count=count, size=size_words(size))
    if not terminal.somebody_is_there():
        raise terminal.refuse_without_a_yes(
            text("This would remove everything there. Objects: {count}, {size}.", count=count, size=size_words(size))
        )
    return terminal.confirmed(say(question))
