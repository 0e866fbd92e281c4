"""What may come next on a command line: the script for a shell, and the answer to it when somebody presses Tab."""

from __future__ import annotations

import argparse
import io
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from traindeck.cli.parser import build
from traindeck.cli.parser_parts import Parser
from traindeck.domain.errors import AppError

if TYPE_CHECKING:
    from traindeck.cli.main import Call
    from traindeck.domain.scripts.arguments import ScriptArgument
    from traindeck.store.known_names import KnownNames

_FILE = "_ARGCOMPLETE_STDOUT_FILENAME"
_PIPE = 8
_PROGRAM = "traindeck"
_REMOTE = "obs://"

Names = Callable[[str, Namespace], Iterable[str]]


async def completion(call: Call) -> int:
    """Nothing of it depends on the home: it may be put into a file once."""
    from argcomplete.shell_integration import shellcode

    from traindeck.cli.exit_codes import DONE

    # The usual ones of bash would offer files where we know that there are none.
    script = shellcode([_PROGRAM], shell=call.options.shell, complete_arguments=("-o", "nospace")).strip("\n")
    call.output.result({"shell": call.options.shell, "script": script}, script)
    return DONE


def answer() -> int:
    """To the script in the shell, which shows nothing but this; a mistake of ours is not worth a word there."""
    from argcomplete import io as remarks
    from argcomplete.completers import SuppressCompleter
    from argcomplete.finders import CompletionFinder

    class Finder(CompletionFinder):
        def _init_debug_stream(self) -> None:
            """Else it writes to the descriptor 9, whatever that is here."""
            remarks.debug_stream = io.StringIO()

    parser = build()
    _name(parser, os.environ.get("COMP_LINE", "").split())
    with suppress(SystemExit, OSError, ValueError, KeyError), _stream() as stream:
        Finder()(
            parser,
            always_complete_options=False,
            exit_method=sys.exit,
            output_stream=stream,
            default_completer=SuppressCompleter(),
        )
    return 0


def _stream() -> TextIO:
    """Names are in UTF-8, whatever the shell says of itself; PowerShell wants to be told."""
    file = os.environ.get(_FILE)
    if file is None:
        return os.fdopen(_PIPE, "w", encoding="utf-8")
    is_told = os.environ.get("_ARGCOMPLETE_SHELL") == "powershell"
    return Path(file).open("w", encoding="utf-8-sig" if is_told else "utf-8")


def _name(parser: Parser, words: Sequence[str]) -> None:
    """A command has its options when it is named; the library looks for them before it names one."""
    parser.complete()
    for entry in parser.entries:
        if (names := _names_for(entry.action, parser)) is not None:
            entry.action.completer = _completer(names)  # type: ignore[attr-defined]  # where the library looks for it
    inner = parser.commands.parsers if parser.commands else {}
    for word in {*words} & {*inner}:
        _name(inner[word], words)


def _completer(names: Names) -> Callable[..., list[str]]:
    def complete(*, prefix: str, parsed_args: Namespace, **_: Any) -> list[str]:
        with suppress(AppError, OSError):
            return [name for name in names(prefix, parsed_args) if name.isprintable()]
        return []

    return complete


def _names_for(action: argparse.Action, parser: Parser) -> Names | None:
    """By what the help calls it: a new option that takes a FILE needs no word here."""
    if action.dest == "profile":
        return _accounts
    match action.metavar:
        case "NAME" if " profile " in parser.prog and not parser.prog.endswith(" add"):
            return _accounts
        case "RUN":
            return _runs
        case "RUN|FILE":
            return _runs_and_files
        case "KEY=VALUE":
            return _settings
        case "FILE":
            return _files
        case "DIR":
            return _folders
        case "PATH" | "BUCKET" | "BUCKET[/PREFIX]":
            return _remote
        case "SRC" | "DST":
            return _either_side
    return None


def _known() -> KnownNames:
    from traindeck.store.known_names import KnownNames
    from traindeck.store.paths import Paths

    return KnownNames(Paths.for_user())


def _accounts(start: str, _: Namespace) -> Iterable[str]:
    return _known().accounts()


def _runs(start: str, _: Namespace) -> Iterable[str]:
    return ["last", *_known().runs()]


def _runs_and_files(start: str, options: Namespace) -> Iterable[str]:
    return [*_runs(start, options), *_files(start, options)]


def _remote(start: str, options: Namespace) -> Iterable[str]:
    if not start.startswith(_REMOTE):
        return [_REMOTE]
    return _known().places(getattr(options, "profile", None), start)


def _either_side(start: str, options: Namespace) -> Iterable[str]:
    if start.startswith(_REMOTE):
        return _remote(start, options)
    return [*([_REMOTE] if start else []), *_files(start, options)]


def _files(start: str, _: Namespace) -> Iterable[str]:
    return _local(start, only_folders=False)


def _settings(start: str, options: Namespace) -> Iterable[str]:
    """What the script of the job can be told, then the other fields of a job file; behind `=` what it may be."""
    from traindeck.domain.jobs.form.form_fields import FIELDS

    arguments: list[ScriptArgument] = []
    with suppress(AppError, OSError):
        arguments = _script_arguments(options)
    name, equals, _ = start.partition("=")
    if not equals:
        fields = (field.place for field in FIELDS if field.key)
        return [f"{one}=" for one in (*(one.name for one in arguments), *fields)]
    about = next((one for one in arguments if name.removeprefix("parameters.") in one.names), None)
    field = next((one for one in FIELDS if one.place == name), None)
    values = () if field is None else field.limits.choices
    if about is not None:
        values = about.values or ((about.first_value,) if about.first_value else ())
    return [f"{name}={value}" for value in values]


def _script_arguments(options: Namespace) -> list[ScriptArgument]:
    """Of the script that a job file starts; of one that is run again, as it was frozen or as it is now."""
    from traindeck.cli.script_arguments import arguments_at

    file, run = getattr(options, "file", None), getattr(options, "run", None)
    if isinstance(file, Path):
        return list(arguments_at(file).offered)
    if not isinstance(run, str) or (made_of := _known().made_of(run)) is None:
        return []
    from traindeck.domain.jobs.code_choice import CodeOf
    from traindeck.domain.jobs.form import job_file
    from traindeck.runtime.blocking import CancelToken
    from traindeck.services.jobs.code.code_bundles import frozen_places
    from traindeck.services.jobs.script_reading import arguments_in, frozen_arguments
    from traindeck.store.paths import Paths

    bundle, form = made_of
    spec = job_file.recall(form)
    if getattr(options, "code", None) == CodeOf.NOW.value:
        return list(arguments_in(Path(spec.code_folder), spec.boot, CancelToken()).offered)
    places = frozen_places(Paths.for_user().bundles, bundle)
    return list(frozen_arguments(places, spec.boot, CancelToken()).offered)


def _folders(start: str, _: Namespace) -> Iterable[str]:
    return _local(start, only_folders=True)


def _local(start: str, *, only_folders: bool) -> list[str]:
    folder, beginning = os.path.split(start)
    shown = start[: len(start) - len(beginning)]
    found = []
    with os.scandir(Path(folder).expanduser()) as entries:
        for entry in entries:
            is_hidden = entry.name.startswith(".") and not beginning.startswith(".")
            if is_hidden or not entry.name.startswith(beginning):
                continue
            if entry.is_dir():
                found.append(f"{shown}{entry.name}/")
            elif not only_folders:
                found.append(f"{shown}{entry.name}")
    return sorted(found)
