"""Runs one command and turns how it ended into an exit code and a sentence."""

from __future__ import annotations

import asyncio
import logging
import sys
import traceback
from argparse import Namespace
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from keyword import iskeyword
from types import ModuleType
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE, INTERRUPTED, code_of
from traindeck.cli.output import Output, ReaderGone
from traindeck.domain.errors import AppError, InvalidInput, KeyringMissing, Unexpected
from traindeck.domain.texts import Text, say, text
from traindeck.runtime.tasks import ended_as_by_ctrl_c, leaves, woken_by_signals
from traindeck.services.accounts.environment import ACCESS, ENVIRONMENT, SECRET

if TYPE_CHECKING:
    from traindeck.assembly.account_core import AccountCore
    from traindeck.assembly.core import Core
    from traindeck.assembly.data_core import DataCore
    from traindeck.assembly.run_core import RunCore


@dataclass(frozen=True, slots=True)
class Call:
    """One command as it was typed, and where its answer goes."""

    options: Namespace
    output: Output

    def core(self) -> Core:
        """All services; what speaks to a cloud is loaded with the first question to it."""
        from traindeck.assembly.core import Core

        return Core.for_command(self._tell)

    def runs(self) -> RunCore:
        """The accounts, what moves their data, and the runs."""
        from traindeck.assembly.run_core import RunCore

        return RunCore.for_command(self._tell)

    def data(self) -> DataCore:
        """The accounts and what moves their data."""
        from traindeck.assembly.data_core import DataCore

        return DataCore.for_command(self._tell)

    def accounts(self) -> AccountCore:
        """The accounts and the ways to their services: the least, and the quickest."""
        from traindeck.assembly.account_core import AccountCore

        return AccountCore.for_command(self._tell)

    def _tell(self, title: Text, hint: Text) -> None:
        self.output.note(f"{say(title)} {say(hint)}")

    def profile(self, core: AccountCore) -> str:
        """What was asked for, else the current one; raises InvalidInput where there is none."""
        name: str | None = self.options.profile
        return core.connections.profile(core.book.current).name if name is None else name


Handler = Callable[[Call], Awaitable[int]]


# The very stream a sentence should go to may be the one that failed.
_MUTE = (AppError, ReaderGone)
# They tell what there is: with their reader they are done.
_TELLERS = {("obs", name) for name in ("ls", "du", "find", "cat", "stat", "fragments")} | {
    ("job", name) for name in ("ls", "show", "logs", "compare", "check", "metrics")
}


def run(options: Namespace) -> int:
    """The exit code of the command that was asked for."""
    output = Output(json_wanted=options.json, verbose=options.verbose)
    output.goes_on_unheard = not _only_tells(options)
    _arrange_logging(options.verbose)
    try:
        return _run(Call(options, output))
    except KeyboardInterrupt:
        with suppress(*_MUTE):
            output.note(say("Interrupted."))
        return INTERRUPTED
    except ReaderGone:
        return DONE  # it has heard what it wanted
    except AppError as error:
        with suppress(*_MUTE):
            say_error(error, output)
            if output.verbose and isinstance(error, Unexpected) and error.__cause__ is not None:
                output.note("".join(traceback.format_exception(error.__cause__)).rstrip())
        return code_of(error)


def _run(call: Call) -> int:
    try:
        if call.options.group == "lab":  # nothing here is awaited: the Lab runs a loop of its own
            from traindeck.cli import lab

            return lab.COMMANDS[call.options.action](call)
        with ended_as_by_ctrl_c():
            return asyncio.run(_awaited(command(call.options.group, call.options.action), call))
    except (AppError, ReaderGone):
        raise
    except Exception as error:
        raise _understood(error) from error


async def _awaited(handler: Handler, call: Call) -> int:
    from traindeck.services.http.calls import Setback, setbacks_told  # the Lab's commands need none of it

    here = asyncio.get_running_loop()

    def say_it(setback: Setback) -> None:
        call.output.setback(setback.error, setback.tries, setback.next_try)

    # What is asked may be asked on another thread.
    told = setbacks_told(lambda setback: here.call_soon_threadsafe(say_it, setback))
    with woken_by_signals(), call.output.ended_by_interrupts(), told:
        return await handler(call)


def _only_tells(options: Namespace) -> bool:
    """What changes something goes on when nobody listens any more."""
    match options.group, getattr(options, "action", None):
        case "obs", "pack":
            return bool(options.list)
        case "obs", "cp":
            return str(options.target) == "-"
        case "obs" | "job", _:
            return (options.group, options.action) in _TELLERS
        case _:
            return True


def say_error(error: AppError, output: Output) -> None:
    """Title and hint for people; with --json the whole as a document on standard output."""
    output.note(say("Error: {title}", title=say(error.title)))
    hint = say(error.hint)
    if isinstance(error, KeyringMissing):
        way_out = say(
            "Without a keyring: set {access} and {secret}, and add “--profile {name}”.",
            access=ACCESS, secret=SECRET, name=ENVIRONMENT,
        )  # fmt: skip
        hint = f"{hint} {way_out}"
    is_kept_back = error.detail and not output.verbose and "details" in error.hint.english
    if hint:
        output.note(f"{hint} {say('-v shows the details.')}" if is_kept_back else hint)
    # A mistake of ours has no other trace than its detail.
    if error.detail and (output.verbose or isinstance(error, Unexpected)):
        output.note(error.detail)
    if output.json_wanted:
        output.document(
            {
                "error": {
                    "title": say(error.title),
                    "hint": hint,
                    "kind": error.kind,
                    "retryable": error.retryable,
                    "detail": error.detail,
                }
            }
        )


def say_usage(problem: str, usage: str, *, json_wanted: bool) -> None:
    """What was typed cannot be understood; said in the same two ways as every other error."""
    error = InvalidInput(text("{problem}", problem=problem), text("“traindeck --help” lists the commands."))
    output = Output(json_wanted=json_wanted)
    with suppress(*_MUTE):
        output.note(usage)
        say_error(error, output)


def _understood(error: Exception) -> Exception:
    """What really went wrong inside a group of tasks, in our family's words."""
    from traindeck.runtime.files import local_error

    causes = list(leaves(error))
    known = [cause for family in (ReaderGone, AppError) for cause in causes if isinstance(cause, family)]
    if known:
        return known[0]
    first = causes[0]
    if isinstance(first, OSError) and first.filename:
        return local_error(first)
    return Unexpected(f"{type(first).__name__}: {first}")


def command(group: str, action: str | None) -> Handler:
    """Imports only the module of the command that runs; written out, so that packagers see them all."""
    module: ModuleType
    match group, action:
        case "profile", _:
            from traindeck.cli import profile as module
        case "obs", "ls" | "du" | "find":
            from traindeck.cli.obs import ls as module
        case "obs", "mb" | "rb":
            from traindeck.cli.obs import buckets as module
        case "obs", "policy":
            from traindeck.cli.obs import policy as module
        case "obs", "cat":
            from traindeck.cli.obs import cat as module
        case "obs", "cp" | "mv":
            from traindeck.cli.obs import cp as module
        case "obs", "sync":
            from traindeck.cli.obs import sync as module
        case "obs", "pack":
            from traindeck.cli.obs import pack as module
        case "obs", "rm":
            from traindeck.cli.obs import rm as module
        case "obs", "stat" | "url":
            from traindeck.cli.obs import stat as module
        case "obs", "versioning" | "tagging" | "lifecycle" | "cors":
            from traindeck.cli.obs import settings as module
        case "obs", "tree":
            from traindeck.cli.obs import tree as module
        case "obs", "mini":
            from traindeck.cli.obs import mini as module
        case "obs", "fragments":
            from traindeck.cli.obs import fragments as module
        case "job", "init":
            from traindeck.cli.job import init as module
        case "job", "check":
            from traindeck.cli.job import check as module
        case "job", "template":
            from traindeck.cli.job import template as module
        case "job", "export" | "import":
            from traindeck.cli.job import exchange as module
        case "job", "fields":
            from traindeck.cli.job import fields as module
        case "job", "submit" | "rerun":
            from traindeck.cli.job import submit as module
        case "job", "ls" | "show":
            from traindeck.cli.job import ls as module
        case "job", "logs" | "wait":
            from traindeck.cli.job import logs as module
        case "job", "rules":
            from traindeck.cli.job import rules as module
        case "job", "metrics":
            from traindeck.cli.job import metrics as module
        case "job", "stop" | "rm":
            from traindeck.cli.job import stop as module
        case "job", "compare":
            from traindeck.cli.job import compare as module
        case "job", "code":
            from traindeck.cli.job import code as module
        case "job", "clean":
            from traindeck.cli.job import clean as module
        case "job", "fetch":
            from traindeck.cli.job import fetch as module
        case "job", "adopt" | "note" | "tag" | "star" | "describe":
            from traindeck.cli.job import notes as module
        case "doctor", _:
            from traindeck.cli import doctor as module
        case "explain", _:
            from traindeck.cli import explain as module
        case "billing", _:
            from traindeck.cli import billing as module
        case "completion", _:
            from traindeck.cli import completion as module
        case "diag", _:
            from traindeck.cli import diag as module
        case "config", _:
            from traindeck.cli import config as module
        case _:
            from traindeck.cli.job import catalogue as module
    name = action or group
    handler: Handler = getattr(module, f"{name}_" if iskeyword(name) else name)
    return handler


def _arrange_logging(verbose: bool) -> None:
    """Our log lines only with --verbose; those of the SDKs never, they may hold signed addresses."""
    logging.getLogger().addHandler(logging.NullHandler())
    if verbose and sys.stderr is not None:
        from traindeck.runtime.log_lines import LogLines

        handler = logging.StreamHandler()
        handler.setFormatter(LogLines("%(asctime)s %(name)s %(levelname)s %(message)s"))
        ours = logging.getLogger("traindeck")
        ours.addHandler(handler)
        ours.setLevel(logging.INFO)
