"""`traindeck job code`: the code of a run, how it differs from another, and having it back."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.columns import aligned
from traindeck.cli.exit_codes import DONE
from traindeck.cli.job.waiting import find
from traindeck.cli.main import Call
from traindeck.cli.target_file import target_file
from traindeck.domain.errors import Occupied
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, count_text, say, text

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore
    from traindeck.domain.jobs.code_change import FileChange
    from traindeck.domain.jobs.job import Run
    from traindeck.services.jobs.code.code_changes import CodeChanges
    from traindeck.services.jobs.code.code_manifests import Bundle

_SIGNS = {"added": "+", "removed": "-", "changed": "M", "renamed": "R"}


async def code(call: Call) -> int:
    options = call.options
    async with call.runs() as core:
        run = await find(call, core, options.run)
        bundle = await core.run_service.kept_code.of(run)
        document: dict[str, object] = {"run": run.id, "name": run.name}
        if options.diff is not None:
            await _compare(call, core, run, options.diff, document)
        if options.to is not None:
            await _restore(call, core, run, options.to, document)
        if options.zip is not None:
            await _export(call, core, run, options.zip, document)
        if options.diff is None and options.to is None and options.zip is None:
            _list(call, bundle, document)
    if call.output.json_wanted:
        call.output.document(document)
    return DONE


def _list(call: Call, bundle: Bundle, document: dict[str, object]) -> None:
    document |= {
        "bundle": bundle.id,
        "folder": bundle.folder_name,
        "git": asdict(bundle.git) if bundle.git is not None else None,
        "size": bundle.size_bytes,
        "files": [{"path": file.path, "size": file.size_bytes, "sha256": file.sha256} for file in bundle.files],
    }
    if call.output.json_wanted:
        return
    git = bundle.git.words() if bundle.git is not None else text("unknown")
    call.output.line(say("Git: {state}", state=git))
    rows = [(file.path, size_words(file.size_bytes)) for file in bundle.files]
    for line in aligned(rows, frozenset({1})):
        call.output.line(line)
    files = count_text("{count} file", "{count} files", len(rows))
    call.output.line(say("{files}, {size}", files=files, size=size_words(bundle.size_bytes)))


async def _compare(call: Call, core: RunCore, run: Run, other: str, document: dict[str, object]) -> None:
    """A name with a separator, or of a folder that is there, is a folder; anything else is a run."""
    place = Path(other)
    if os.sep in other or "/" in other or await core.disk.run(lambda _: place.is_dir()):
        changes = await core.run_service.kept_code.to_folder(run, place)
    else:
        changes = await core.run_service.kept_code.between(run, await find(call, core, other))
    found = []
    for change in changes.files:
        lines = await core.run_service.kept_code.lines(changes, change)
        found.append(_change(change, lines))
        if not call.output.json_wanted:
            _print(call, change, lines)
    document |= {"other": other, "changes": found}
    if not call.output.json_wanted:
        call.output.line(say(_count(changes)))


def _count(changes: CodeChanges) -> Text:
    if not changes.files:
        return text("The code is the same.")
    return count_text("{count} file differs.", "{count} files differ.", len(changes.files))


def _change(change: FileChange, lines: list[str] | None) -> dict[str, object]:
    return {
        "change": change.kind.value,
        "path": change.path,
        "before": change.before or None,
        "is_text": lines is not None,
        "diff": lines,
    }


def _print(call: Call, change: FileChange, lines: list[str] | None) -> None:
    name = f"{change.before} → {change.path}" if change.before else change.path
    call.output.line(f"{_SIGNS[change.kind.value]} {name}")
    if lines is None:
        call.output.line(say("  It is no text, or too much to be compared line by line."))
    for line in lines or ():
        call.output.whole_line(line)


async def _restore(call: Call, core: RunCore, run: Run, target: Path, document: dict[str, object]) -> None:
    try:
        done = await core.run_service.kept_code.restore(run, target, over=False)
    except Occupied as error:
        if not terminal.is_meant(call.options, error.title, f"{say(error.title)} {say('Replace them?')}"):
            call.output.note(say("Nothing was written."))
            return
        done = await core.run_service.kept_code.restore(run, target, over=True)
    document |= {"to": str(target), "written": done.written, "kept": done.kept}
    if not call.output.json_wanted:
        words = count_text(
            "Wrote {count} file to {folder}.", "Wrote {count} files to {folder}.", done.written, folder=str(target)
        )
        call.output.line(say(words))


async def _export(call: Call, core: RunCore, run: Run, file: Path, document: dict[str, object]) -> None:
    if (target := target_file(call, file)) is None:
        return
    await core.run_service.kept_code.export(run, file, over=target.replaces)
    document["zip"] = str(file)
    if not call.output.json_wanted:
        call.output.line(say("Wrote {place}", place=str(file)))
