"""Runs one command and turns how it ended into an exit code and a sentence."""

from __future__ import annotations

import asyncio
import logging
import sys
import traceback
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from traindeck.cli.output import Output, ReaderGone
from traindeck.domain.errors import AppError, InvalidInput, KeyringMissing, Unexpected
from traindeck.domain.texts import say, text
from traindeck.runtime.tasks import woken_by_signals
from traindeck.services.accounts.environment import ACCESS, ENVIRONMENT, SECRET

if TYPE_CHECKING:
    from traindeck.assembly.account_core import AccountCore
    from traindeck.assembly.core import Core
    from traindeck.assembly.data_core import DataCore
    from traindeck.assembly.run_core import RunCore


DONE = 0
FAILED = 1


@dataclass(frozen=True, slots=True)
class Call:
    """One command as it was typed, and where its answer goes."""

    options: Namespace
    output: Output

    def core(self) -> AbstractAsyncContextManager[Core]:
        """All services; what speaks to a cloud is loaded with the first question to it."""
        from traindeck.assembly.core import open_core
        from traindeck.store.paths import Paths

        return open_core(Paths.for_user())

    def runs(self) -> AbstractAsyncContextManager[RunCore]:
        """The accounts, what moves their data, and the runs."""
        from traindeck.assembly.run_core import open_run_core
        from traindeck.store.paths import Paths

        return open_run_core(Paths.for_user())

    def data(self) -> AbstractAsyncContextManager[DataCore]:
        """The accounts and what moves their data."""
        from traindeck.assembly.data_core import open_data_core
        from traindeck.runtime.clock import collect_seldom
        from traindeck.store.paths import Paths

        collect_seldom()
        return open_data_core(Paths.for_user())

    def accounts(self) -> AbstractAsyncContextManager[AccountCore]:
        """The accounts and the ways to their services: the least, and the quickest."""
        from traindeck.assembly.account_core import open_account_core
        from traindeck.runtime.clock import collect_seldom
        from traindeck.store.paths import Paths

        collect_seldom()
        return open_account_core(Paths.for_user())

    def profile(self, core: Core | AccountCore) -> str:
        name: str = self.options.profile or core.profiles.current
        return name


Handler = Callable[[Call], Awaitable[int]]


USAGE = 2
INTERRUPTED = 130
_CODES = {"usage": USAGE, "credentials": 3, "not_found": 4, "service": 5}


def run(options: Namespace) -> int:
    """The exit code of the command that was asked for."""
    output = Output(json_wanted=options.json, verbose=options.verbose)
    _arrange_logging(options.verbose)
    try:
        return _run(Call(options, output))
    except KeyboardInterrupt:
        _last_words(output, say("Interrupted."))
        return INTERRUPTED
    except ReaderGone:
        return FAILED
    except AppError as error:
        return _refused(error, output)


def _run(call: Call) -> int:
    try:
        if call.options.group == "lab":
            return _lab(call)
        return asyncio.run(_awaited(_command(call.options), call))
    except (AppError, ReaderGone):
        raise
    except Exception as error:
        raise _understood(error) from error


def _lab(call: Call) -> int:
    """Nothing here is awaited: the Lab runs a loop of its own, and the rest only looks at files."""
    if call.options.action == "account":
        from traindeck.cli.lab import account as commands_lab_account

        return commands_lab_account.run(call)
    from traindeck.cli.lab import commands as commands_lab

    return commands_lab.run(call)


async def _awaited(command: Handler, call: Call) -> int:
    with woken_by_signals():
        return await command(call)


def exit_code(error: AppError) -> int:
    return _CODES.get(error.kind, FAILED)


def say_error(error: AppError, output: Output) -> None:
    """Title and hint for people; with --json the whole as a document on standard output."""
    output.note(say("Error: {title}", title=say(error.title)))
    hint = say(error.hint)
    if isinstance(error, KeyringMissing):
        way_out = say(
            "Without a keyring: set {access} and {secret}, and give “--profile {name}”.",
            access=ACCESS, secret=SECRET, name=ENVIRONMENT,
        )  # fmt: skip
        hint = f"{hint} {way_out}"
    if hint:
        output.note(hint)
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
    try:
        output.note(usage)
        say_error(error, output)
    except (AppError, ReaderGone):
        return


def _refused(error: AppError, output: Output) -> int:
    try:
        say_error(error, output)
        if output.verbose and isinstance(error, Unexpected) and error.__cause__ is not None:
            output.note("".join(traceback.format_exception(error.__cause__)).rstrip())
    except (AppError, ReaderGone):
        # The very stream the sentence should go to is the one that failed.
        return exit_code(error)
    return exit_code(error)


def _last_words(output: Output, words: str) -> None:
    try:
        output.note(words)
    except (AppError, ReaderGone):
        return


def _understood(error: Exception) -> Exception:
    """What really went wrong inside a group of tasks, in our family's words."""
    from traindeck.runtime.files import local_error

    causes = list(_leaves(error))
    for family in (ReaderGone, AppError):
        for cause in causes:
            if isinstance(cause, family):
                return cause
    first = causes[0]
    if isinstance(first, OSError) and first.filename:
        return local_error(first)
    return Unexpected(f"{type(first).__name__}: {first}")


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _command(options: Namespace) -> Handler:
    """Imports only the module of the command that runs; written out, so that packagers see them all."""
    match options.group:
        case "profile":
            from traindeck.cli.profile import commands as commands_profile

            return commands_profile.COMMANDS[options.action]
        case "obs":
            from traindeck.cli.obs import commands as commands_obs

            return commands_obs.COMMANDS[options.action]
        case "job":
            from traindeck.cli.job import commands as commands_job

            return commands_job.COMMANDS[options.action]
        case _:
            from traindeck.cli.job import catalogue as commands_catalogue

            return commands_catalogue.COMMANDS[options.group]


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
