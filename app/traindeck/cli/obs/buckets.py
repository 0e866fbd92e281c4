"""`traindeck obs mb` and `rb`: buckets as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.cli.progress import StatusLine
from traindeck.domain.errors import Conflict, InvalidInput, NoRight
from traindeck.domain.storage.buckets import NOTHING, BucketContents, NewBucket
from traindeck.domain.storage.objects import ObjectPath, count_words, size_words
from traindeck.domain.storage.policies import Template
from traindeck.domain.texts import Text, say, text

if TYPE_CHECKING:
    from traindeck.services.storage.sdk.access import ObsAccess
    from traindeck.services.storage.sdk.buckets import ObsStorage


def bucket_of(call: Call) -> ObjectPath:
    """The bucket that was typed, in whatever spelling."""
    path = ObjectPath.parse(call.options.bucket)
    if not path.is_bucket:
        raise InvalidInput(
            text("“{path}” is a folder, not a bucket.", path=str(path)),
            text("Specify only the bucket, for example obs://{bucket}.", bucket=path.bucket),
        )
    return path


async def mb(call: Call) -> int:
    path, options = bucket_of(call), call.options
    template = Template(options.access) if options.access else Template.PRIVATE
    async with call.accounts() as core:
        connection = await core.connections.open(call.profile(core))
        if options.storage_class or options.access:
            if template is not Template.PRIVATE:
                agree(call, text("Anyone on the internet will have access to {path}.", path=str(path)))
            await connection.access.create(NewBucket(path.bucket, (options.storage_class or "").upper(), template))
        else:
            # As it always was: one's own bucket may be made again, and stays as it is.
            if await _is_own(connection.storage, path):
                words = say("{path} already exists and was not changed.", path=str(path))
                call.output.result({"bucket": path.bucket, "path": str(path), "created": False}, words)
                return DONE
            await connection.storage.create_bucket(path.bucket)
    words = say("Created {path}", path=str(path))
    call.output.result({"bucket": path.bucket, "path": str(path), "created": True}, words)
    return DONE


async def _is_own(storage: ObsStorage, path: ObjectPath) -> bool:
    from traindeck.services.storage.wire.data_plane import DataPlane

    try:
        return any(bucket.name == path.bucket for bucket in await storage.over_wire(DataPlane.buckets))
    except NoRight:
        return False  # then the service decides


async def rb(call: Call) -> int:
    path = bucket_of(call)
    async with call.accounts() as core:
        access = (await core.connections.open(call.profile(core))).access
        gone = NOTHING
        if call.options.force:
            gone = await _emptied(call, access, path)
        try:
            await access.remove(path.bucket)
        except Conflict as error:
            if call.options.force:
                raise
            hint = text("With --force, everything in it is deleted first, including previous versions.")
            raise Conflict(error.title, hint, error.detail) from error
    call.output.result(
        {"bucket": path.bucket, "path": str(path), **_document(gone)},
        say("Deleted {path}", path=str(path)),
    )
    return DONE


async def _emptied(call: Call, access: ObsAccess, path: ObjectPath) -> BucketContents:
    with StatusLine(call.output) as line:

        def counted(so_far: BucketContents) -> None:
            line.draw(lambda: say("Counting: {count} so far…", count=count_words(so_far.count)))

        contents = await access.count(path.bucket, counted)
        if contents.is_empty:
            return contents
        _ask(call, path, contents)

        def emptied(so_far: BucketContents) -> None:
            done, everything = count_words(so_far.count), count_words(contents.count)
            line.draw(lambda: say("Emptying: {done} of {all}…", done=done, all=everything))

        return await access.empty(path.bucket, emptied)


def _ask(call: Call, path: ObjectPath, contents: BucketContents) -> None:
    words = text(
        "{path} contains: objects {objects}, previous versions {versions}, delete markers "
        "{markers}, fragments {fragments}; {size} in total. Everything is deleted permanently.",
        path=str(path),
        objects=count_words(contents.objects),
        versions=count_words(contents.old_versions),
        markers=count_words(contents.markers),
        fragments=count_words(contents.fragments),
        size=size_words(contents.size_bytes),
    )
    if call.options.yes:
        return
    if not terminal.somebody_is_there():
        raise terminal.refuse_without_a_yes(words)
    call.output.note(say(words))
    typed = terminal.asked(say("Type “{word}” to confirm:", word=path.bucket) + " ")
    if typed != path.bucket:
        raise InvalidInput(text("That is not the name of the bucket."), text("Nothing was deleted."))


def agree(call: Call, what: Text) -> None:
    """Go on only with a yes."""
    if not terminal.is_meant(call.options, what, f"{say(what)}\n{say('Continue?')}"):
        raise InvalidInput(text("Nothing was changed."), text("Canceled."))


def _document(gone: BucketContents) -> dict[str, int]:
    return {
        "objects": gone.objects,
        "versions": gone.old_versions,
        "markers": gone.markers,
        "fragments": gone.fragments,
        "bytes": gone.size_bytes,
    }
