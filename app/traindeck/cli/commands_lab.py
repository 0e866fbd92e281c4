"""`traindeck lab serve`: the Lab in the foreground."""

from __future__ import annotations

from pathlib import Path

from traindeck.cli.call import Call
from traindeck.domain.errors import AppError, Conflict, InvalidInput, LocalTrouble
from traindeck.domain.texts import say, text
from traindeck.lab.lab_errors import LabBusy, LabFaultsUnusable, LabStartError, PortInUse
from traindeck.lab.server import LabOptions
from traindeck.lab.server import serve as serve_lab
from traindeck.store.paths import Paths


def serve(call: Call) -> int:
    """Runs a loop of its own, so it is not awaited like the other commands."""
    asked = call.options
    root = (asked.root or Paths.for_user().lab).absolute()

    def announce(facts: dict[str, object]) -> None:
        if call.output.json_wanted:
            call.output.document(facts)
            return
        call.output.line(say("The Lab is running. Ctrl-C ends it and its jobs."))
        call.output.line(f"  OBS        {facts['obs']}")
        call.output.line(f"  ModelArts  {facts['modelarts']}")
        call.output.line(f"  IAM        {facts['iam']}")
        call.output.line(say("Its keys are in {file}.", file=str(root / "accounts.json")))

    options = LabOptions(root, announce, asked.port, asked.idle_exit, asked.owner_pipe, asked.faults)
    try:
        return serve_lab(options)
    except LabStartError as error:
        raise _in_our_words(error, root, asked.port) from error


def _in_our_words(error: LabStartError, root: Path, port: int) -> AppError:
    if isinstance(error, LabBusy):
        return Conflict(
            text("A Lab is already running on “{root}”.", root=str(root)),
            text("Use that one, end it, or name another folder with --root."),
            error.why,
        )
    if isinstance(error, LabFaultsUnusable):
        return InvalidInput(
            text("The Lab cannot follow its fault rules: {reason}", reason=error.why),
            text("Correct the file, or start without it."),
            str(error),
        )
    if isinstance(error, PortInUse) and port:
        return Conflict(
            text("The Lab cannot listen on port {port} and the next one: they are not free.", port=port),
            text("End the program that has them, or name another --port."),
            error.why,
        )
    return LocalTrouble(
        text("The Lab cannot use “{root}”: {reason}", root=str(root), reason=error.why),
        text("Free the disk, give yourself the right to write there, or name another folder with --root."),
        str(error),
    )
