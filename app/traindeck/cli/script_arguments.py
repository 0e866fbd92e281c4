"""`traindeck doctor FILE --arguments`: what a script can be told when it is started."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.cli.script_place import script_place
from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import say, text
from traindeck.runtime.blocking import CancelToken

if TYPE_CHECKING:
    from traindeck.domain.scripts.arguments import ScriptArgument, ScriptArguments


async def print_arguments(call: Call, path: Path) -> int:
    found = await asyncio.to_thread(arguments_at, path)
    if call.output.json_wanted:
        from traindeck.services.scripts.arguments import arguments_document

        call.output.document({"file": str(path), **arguments_document(found)})
        return DONE
    rows = [_row(one) for one in found.arguments]
    if rows:
        heads = [say("Name"), say("Type"), say("Default"), say("Meaning"), say("Found in")]
        call.output.table(heads, rows)
    for limit in found.limits:
        call.output.note(say(limit))
    if not rows:
        call.output.note(say("{file} reads no arguments that can be seen.", file=path.name or path))
    elif not found.is_whole:
        call.output.note(say("There may be more: not all of them can be seen without running the script."))
    return DONE


def arguments_at(path: Path) -> ScriptArguments:
    """Of a script, of the boot file of a job file, or of the usual boot file of a folder; blocks."""
    from traindeck.services.jobs.script_reading import arguments_in

    place = script_place(path)
    if not place.boot:
        raise InvalidInput(
            text("It is not known which script of “{folder}” is started.", folder=str(path)),
            text("Specify the script, or a job file."),
        )
    return arguments_in(place.folder, place.boot, CancelToken())


def _row(one: ScriptArgument) -> tuple[str, ...]:
    name = " ".join(part for part in (one.command, ", ".join(one.flags) or one.name) if part)
    means = [one.help, ", ".join(one.choice_words), say("required") if one.is_required else ""]
    place = f"{one.file}:{one.line}"
    return name, say(one.kind.words), one.default_words, "; ".join(part for part in means if part), place
