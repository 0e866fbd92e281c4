"""`traindeck job fetch`: the outputs of a run come home."""

from __future__ import annotations

from pathlib import Path

from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.waiting import find
from traindeck.cli.main import Call
from traindeck.cli.progress import moving_shown
from traindeck.domain.texts import say


async def fetch(call: Call) -> int:
    async with call.runs() as core:
        run = await find(call, core, call.options.run)
        target: Path = call.options.to or Path(run.name)
        with moving_shown(call.output, core.transfers, run.name):
            files = await core.run_service.fetch(run.id, target)
    call.output.result(
        {**run_words.document(run), "folder": str(target), "files": [str(file) for file in files]},
        say("Downloaded the outputs of {name} to {folder}", name=run.name, folder=str(target)),
    )
    return DONE
