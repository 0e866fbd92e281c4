"""`traindeck job fetch`: the outputs of a run come home."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.waiting import find, following
from traindeck.cli.main import Call
from traindeck.cli.progress import moving_shown
from traindeck.domain.errors import NoBucket, NotFound
from traindeck.domain.jobs.job import Run
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say, say_count
from traindeck.runtime.tasks import set_within

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore
    from traindeck.services.jobs.run_outputs import FetchedOutputs

_AGAIN_S = 30.0
_MOST_NAMED = 20


async def fetch(call: Call) -> int:
    asked = call.options
    async with call.runs() as core:
        run = await find(call, core, asked.run)
        target: Path = asked.to or Path(run.name)
        if asked.follow and not run.state.is_over:
            run = await _followed(call, core, run, target)
        fetched = await _fetched(call, core, run, target, overwrite=asked.overwrite)
        if fetched.kept and not asked.overwrite and terminal.somebody_is_there():
            fetched = await _asked(call, core, run, fetched)
        _tell(call, run, fetched)
        if asked.tensorboard:
            await _show_tensorboard(call, target)
    return DONE


async def _fetched(call: Call, core: RunCore, run: Run, target: Path, *, overwrite: bool) -> FetchedOutputs:
    from traindeck.services.jobs.run_outputs import FetchRules

    filters = call.options.filters
    if call.options.tensorboard and not filters:
        from traindeck.services.desktop.tensorboard import EVENT_FILES

        filters = EVENT_FILES
    rules = FetchRules(filters, call.options.max_size, overwrite)
    with moving_shown(call.output, core.transfers, run.name):
        return await core.run_service.outputs.fetch(run.id, target, rules)


async def _followed(call: Call, core: RunCore, run: Run, target: Path) -> Run:
    """Download what is new until the run is over; its last files come with its end."""
    over = asyncio.Event()

    def note(changed: Run) -> None:
        if changed.id == run.id and changed.state.is_over:
            over.set()

    with core.watch.changed.heard_by(note):
        async with following(call, core, run):
            while not over.is_set():
                try:
                    await _fetched(call, core, run, target, overwrite=call.options.overwrite)
                except NoBucket:
                    raise
                except NotFound:
                    pass  # nothing is written yet
                await set_within(over, _AGAIN_S)
    return await core.records.existing(run.id)


async def _asked(call: Call, core: RunCore, run: Run, fetched: FetchedOutputs) -> FetchedOutputs:
    _name_kept(call, fetched)
    question = say_count(
        "Overwrite {count} file that was edited here or comes from elsewhere?",
        "Overwrite {count} files that were edited here or come from elsewhere?",
        len(fetched.kept),
    )
    if not terminal.confirmed(question):
        return fetched
    return await _fetched(call, core, run, fetched.folder, overwrite=True)


def _tell(call: Call, run: Run, fetched: FetchedOutputs) -> None:
    if fetched.kept:
        if not terminal.somebody_is_there():
            _name_kept(call, fetched)
        call.output.note(
            say_count(
                "{count} file was edited here or comes from elsewhere, and was kept. --overwrite replaces it.",
                "{count} files were edited here or come from elsewhere, and were kept. --overwrite replaces them.",
                len(fetched.kept),
            )
        )
    if fetched.too_large:
        call.output.note(
            say_count(
                "{count} larger file was left in OBS ({size}).",
                "{count} larger files were left in OBS ({size}).",
                len(fetched.too_large),
                size=size_words(sum(size for _, size in fetched.too_large)),
            )
        )
    call.output.result(
        {
            **run_words.document(run),
            "folder": str(fetched.folder),
            "files": [str(file) for file in fetched.files],
            "new": len(fetched.new),
            "kept": [str(file) for file in fetched.kept],
            "too_large": [{"name": name, "bytes": size} for name, size in fetched.too_large],
        },
        say_count(
            "Downloaded {count} file of the outputs of {name} to {folder}; {equal} were here already.",
            "Downloaded {count} files of the outputs of {name} to {folder}; {equal} were here already.",
            len(fetched.new),
            name=run.name,
            folder=str(fetched.folder),
            equal=len(fetched.equal),
        ),
    )


def _name_kept(call: Call, fetched: FetchedOutputs) -> None:
    for file in fetched.kept[:_MOST_NAMED]:
        call.output.named("", str(file), "", is_note=True)
    if len(fetched.kept) > _MOST_NAMED:
        call.output.note(say("… and {count} more", count=len(fetched.kept) - _MOST_NAMED))


async def _show_tensorboard(call: Call, folder: Path) -> None:
    from traindeck.domain.texts import text
    from traindeck.services.desktop.tensorboard import has_event_files, tensorboard

    if not await asyncio.to_thread(has_event_files, folder):
        raise NotFound(
            text("There are no TensorBoard event files in “{folder}”.", folder=str(folder)),
            text("Write them to an output folder in the script, then download again."),
        )
    async with tensorboard(folder) as address:
        call.output.note(say("TensorBoard is at {address}. Ctrl+C ends it.", address=address))
        if call.output.json_wanted:
            call.output.document({"tensorboard": address})
        await asyncio.Event().wait()
