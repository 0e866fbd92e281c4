"""`traindeck obs`: buckets and objects."""

from __future__ import annotations

from traindeck.cli.call import DONE, Call
from traindeck.cli.copying import copy
from traindeck.cli.listing_commands import du, find, ls
from traindeck.cli.moving import move
from traindeck.cli.removing import rm
from traindeck.cli.syncing import sync
from traindeck.domain.errors import InvalidInput
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import say, text


async def mb(call: Call) -> int:
    path = ObjectPath.parse(call.options.bucket)
    if not path.is_bucket:
        raise InvalidInput(
            text("“{path}” is a folder, not a bucket.", path=str(path)),
            text("Give the name of the bucket alone, for example obs://{bucket}.", bucket=path.bucket),
        )
    async with call.core() as core:
        await (await core.connections.open(call.profile(core))).storage.create_bucket(path.bucket)
    call.output.result({"bucket": path.bucket, "path": str(path)}, say("Made {path}", path=str(path)))
    return DONE


COMMANDS = {"ls": ls, "du": du, "find": find, "mb": mb, "cp": copy, "sync": sync, "rm": rm, "mv": move}
