"""`traindeck job`: training jobs from the form to the outputs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE, FAILED
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.printing import LogPrinter, pattern_of
from traindeck.cli.job.waiting import (
    bring_up_to_date,
    check_again,
    following,
    print_held,
    print_logs,
    settle,
    until_over,
)
from traindeck.cli.main import Call
from traindeck.cli.progress import Stages, moving_shown
from traindeck.domain.errors import Conflict, NotFound
from traindeck.domain.jobs import job_file
from traindeck.domain.jobs.job import Run, RunState, duration_words
from traindeck.domain.jobs.job_spec import USUAL_BOOTS, JobSpec, Target, name_stem, usual_boots
from traindeck.domain.texts import say, text
from traindeck.runtime.files import local_errors, text_in

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore


JOB_FILE = "job.toml"


async def init(call: Call) -> int:
    folder: Path = call.options.folder
    place = folder / JOB_FILE
    async with call.core() as core:
        with_sample = await core.sample.fits(folder)
        if with_sample:
            await core.sample.prepare(folder)
        else:
            at_lab = core.connections.profile(call.profile(core)).is_lab
            target = Target.LAB if at_lab else Target.MODELARTS
            _write_new(place, commented(folder, target))
    words = say("Wrote {place}", place=str(place))
    if with_sample:
        words += "\n" + say(
            "This is the sample project. Submit it with: traindeck job submit {place}", place=str(place)
        )
    call.output.result({"job_file": str(place), "sample": with_sample}, words)
    return DONE


async def submit(call: Call) -> int:
    file, spec = _read(call.options.file)
    for change in call.options.changes:
        spec = job_file.with_setting(spec, change)
    async with call.runs() as core:
        await settle(call, core)
        return await _sent(
            call, core, partial(core.submission.submit, spec, file.absolute().parent, call.options.profile)
        )


async def rerun(call: Call) -> int:
    async with call.runs() as core:
        await settle(call, core)
        before = await core.run_service.find(call.options.run)
        return await _sent(call, core, partial(core.submission.rerun, before.id, changes=call.options.changes))


async def ls(call: Call) -> int:
    profile = call.options.profile
    async with call.runs() as core:
        await bring_up_to_date(call, core)
        runs = await core.records.all()
    runs = [run for run in runs if profile in (None, run.profile)][: call.options.limit or None]
    if call.output.json_wanted:
        call.output.document([run_words.document(run) for run in runs])
    elif runs:
        call.output.table(run_words.heads(), [run_words.row(run) for run in runs], right=frozenset({0, 4}))
    else:
        call.output.note(say("No runs yet. “traindeck job init DIR” creates a sample to submit."))
    return DONE


async def show(call: Call) -> int:
    async with call.runs() as core:
        await check_again(call, core, call.options.run)
        await bring_up_to_date(call, core)
        run = await core.run_service.find(call.options.run)
    call.output.result(run_words.full_document(run), "\n".join(run_words.page(run)))
    return DONE


async def logs(call: Call) -> int:
    pattern = pattern_of(call.options.grep) if call.options.grep else None
    async with call.runs() as core:
        if not call.options.follow:
            await bring_up_to_date(call, core)
        run = await core.run_service.find(call.options.run)
        workers = _workers(run, call.options.worker)
        named, as_documents = len(workers) > 1, call.output.json_wanted
        printers = [LogPrinter(call.output, worker, named, pattern, as_documents) for worker in workers]
        if call.options.follow:
            async with following(call, core, run):
                await print_logs(call, core, run, printers)
        else:
            for printer in printers:
                print_held(core, run, printer)
        run = await core.records.existing(run.id)
    if call.output.json_wanted:
        call.output.document(run_words.document(run))
    return DONE


async def stop(call: Call) -> int:
    async with call.runs() as core:
        await bring_up_to_date(call, core)
        run = await core.run_service.find(call.options.run)
        run = await core.run_service.stop(run.id)
    call.output.result(
        run_words.document(run),
        say("Stopping {name}. It may be charged until the service confirms that it has ended.", name=run.name),
    )
    return DONE


async def rm(call: Call) -> int:
    async with call.runs() as core:
        await bring_up_to_date(call, core)
        run = await core.run_service.find(call.options.run)
        question = say(
            "Delete {name}, with its record on this computer and its job at the service? Its log on "
            "this computer is kept.",
            name=run.name,
        )
        if terminal.somebody_is_there() and not call.options.yes and not terminal.confirmed(question):
            call.output.note(say("Nothing was deleted."))
            return DONE
        await core.run_service.remove(run.id)
    call.output.result(
        {**run_words.document(run), "removed": True},
        say("Deleted {name}. Its outputs in OBS and its log on this computer are kept.", name=run.name),
    )
    return DONE


async def wait(call: Call) -> int:
    async with call.runs() as core:
        await check_again(call, core, call.options.run)
        trouble = await settle(call, core, limit_s=None)
        run = await core.run_service.find(call.options.run)
        if trouble is not None and not run.state.is_remote:
            raise trouble
        if run.state is not RunState.UNCONFIRMED:
            run = await until_over(call, core, run, follow=False)
    return _said_how_it_ended(call, run)


async def fetch(call: Call) -> int:
    async with call.runs() as core:
        run = await core.run_service.find(call.options.run)
        target: Path = call.options.to or Path(run.name)
        with moving_shown(call.output, core.transfers, run.name):
            files = await core.run_service.fetch(run.id, target)
    call.output.result(
        {**run_words.document(run), "folder": str(target), "files": [str(file) for file in files]},
        say("Downloaded the outputs of {name} to {folder}", name=run.name, folder=str(target)),
    )
    return DONE


def _write_new(place: Path, content: str) -> None:
    """A job file that is there is never replaced."""
    with local_errors(place):
        try:
            with place.open("x", encoding="utf-8", newline="\n") as file:
                file.write(content)
        except FileExistsError as error:
            raise Conflict(
                text("“{place}” already exists.", place=str(place)),
                text("Nothing was changed. Move it first, or specify another folder."),
            ) from error


def _read(path: Path) -> tuple[Path, JobSpec]:
    with local_errors(path):
        file = path / JOB_FILE if path.is_dir() else path
    return file, job_file.parse(text_in(file))


async def _sent(call: Call, core: RunCore, send: Callable[..., Awaitable[Run]]) -> int:
    """Send, say what became of it, and wait for the end if that was asked for."""
    seen: list[Run] = []
    try:
        news, rows = core.submission.changed, core.transfers.changed
        with news.heard_by(seen.append), Stages(call.output) as stages, rows.heard_by(stages.on_row):
            run = await send(stage=stages.at)
    except asyncio.CancelledError:
        words = say("Nothing was submitted.")
        if seen and seen[-1].state is RunState.SUBMITTING:
            words = say("{name} may have been submitted already. “traindeck job ls” checks it.", name=seen[-1].name)
        call.output.note(words)
        raise
    if run.state is RunState.UNCONFIRMED:
        return _said_how_it_ended(call, run)
    words = say("Submitted {name}, run {run}.", name=run.name, run=run.id)
    if not (call.options.wait or call.options.follow):
        call.output.result(run_words.document(run), words)
        return DONE
    call.output.note(words)
    run = await until_over(call, core, run, follow=call.options.follow)
    return _said_how_it_ended(call, run, beside_log=call.options.follow)


def _said_how_it_ended(call: Call, run: Run, *, beside_log: bool = False) -> int:
    """The document comes last; words go beside the log, not into it."""
    words = say(
        "{name}: {state}, duration {time}",
        name=run.name,
        state=run_words.state_words(run),
        time=duration_words(run.run_seconds(run.ended or run.created)),
    )
    if beside_log and not call.output.json_wanted:
        call.output.note(words)
    else:
        call.output.result(run_words.document(run), words)
    if run.state is RunState.COMPLETED:
        return DONE
    if run.reason:
        call.output.note(str(run.reason))
    if run.state is RunState.UNCONFIRMED:
        call.output.note(say("“traindeck job wait {run}” checks again.", run=run.id))
    elif run.state.is_remote:
        call.output.note(say("“traindeck job logs {run}” shows its output.", run=run.id))
    return FAILED


def _workers(run: Run, asked: str | None) -> tuple[str, ...]:
    if asked is None:
        return run.tasks
    worker = f"worker-{asked}" if asked.isdigit() else asked
    if worker not in run.tasks:
        raise NotFound(
            text("{name} has no worker “{worker}”.", name=run.name, worker=asked),
            text("Available: {workers}.", workers=", ".join(run.tasks)),
        )
    return (worker,)


def commented(folder: Path, target: Target) -> str:
    """The form for what is in `folder`, as far as that can be seen from outside."""
    name, boot = name_stem(folder.resolve().name), _boot(folder)
    lines = [
        ("", say("A TrainDeck training job. Edit it, then run: traindeck job submit job.toml")),
        ("[job]", ""),
        (f'name = "{name}"', say("each run adds the date and a short random part")),
        (f'target = "{target.value}"', say("“lab” for this computer, “modelarts” for the cloud")),
        ('description = ""', ""),
        ("[code]", ""),
        ('folder = "."', say("frozen on submission; later edits do not affect a running job")),
        (f'boot = "{boot}"', say("the Python file to start")),
        ('ignore = ["data/", "out/"]', say("not part of the code")),
        ("[engine]", say("“traindeck engines” lists what is available")),
        ('name = "PyTorch"', ""),
        ('version = "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"', ""),
        ("[resources]", say("“traindeck flavors” lists what is available")),
        ('flavor = "modelarts.vm.cpu.2u"', ""),
        ("nodes = 1", ""),
        ('stop_after = "4h"', say("stops the job after this time; “none” for no limit")),
        ("[inputs]", say("copied to the job; each folder is passed by its name, here as --data_url")),
        ('data_url = "obs://my-bucket/data/"', ""),
        ("[outputs]", say("what the script writes there is copied back; {{run}} gives each run its own folder")),
        ('train_url = "obs://my-bucket/out/{run}/"', ""),
        ("[logs]", ""),
        ('to = "obs://my-bucket/log/{run}/"', ""),
        ("[parameters]", say("passed in this order, for example lr = 0.01 as --lr 0.01")),
        ("[environment]", say("variables of the job, for example PYTHONUNBUFFERED = “1”")),
    ]
    return "\n".join(_line(toml, comment) for toml, comment in lines).lstrip("\n") + "\n"


def _line(toml: str, comment: str) -> str:
    before = "\n" if toml.startswith("[") else ""
    return before + "  ".join(part for part in (toml, f"# {comment}" if comment else "") if part)


def _boot(folder: Path) -> str:
    scripts = sorted(path.name for path in folder.glob("*.py"))
    return next(iter([*usual_boots(scripts), *scripts]), USUAL_BOOTS[0])
