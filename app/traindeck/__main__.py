"""Where the program begins: a command, or the window."""

from __future__ import annotations

import gc
import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from traindeck.cli.exit_codes import INTERRUPTED, USAGE
from traindeck.cli.output import end_streams, prepare_streams
from traindeck.cli.parser import read
from traindeck.cli.parser_parts import UsageError
from traindeck.runtime.language import LANGUAGES, speak, system_language
from traindeck.runtime.own_program import CHECKS_PICTURES


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    speak(_language(arguments))
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        end_streams()


window = main
"""The entry of the GUI script, which has no console on Windows."""


def _main(arguments: Sequence[str]) -> int:
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what may come next
        from traindeck.cli.completion import answer

        return answer()
    if arguments == [CHECKS_PICTURES]:  # started by another one of us
        from traindeck.picture_check import serve

        return serve()
    try:
        options = read(arguments)
    except UsageError as error:
        from traindeck.cli.main import say_usage

        say_usage(str(error), error.usage, json_wanted="--json" in arguments)
        return USAGE
    except SystemExit as ended:  # argparse said its help or the version
        return int(ended.code or 0)
    if options.group is None:
        return _window(options)
    from traindeck.cli.main import run

    return run(options)


def _window(options: Namespace) -> int:
    """Imported only here: no command waits for Qt."""
    gc.disable()  # nothing of what is loaded now goes again; the window collects by the clock
    from traindeck.ui.qt.light_imports import keep_imports_light

    keep_imports_light()
    from traindeck.bootstrap import Guest, run_program

    guest: Guest | None = None
    if options.self_check:
        from traindeck.self_check import visit as guest
    elif options.first_minute:
        from traindeck.first_minute import visit as guest
    return run_program(options, guest)


def _language(arguments: Sequence[str]) -> str:
    """Looked for before the parser is built: its help is in that language already."""
    for before, argument in zip(("", *arguments), arguments, strict=False):
        chosen = argument.removeprefix("--language=") if before != "--language" else argument
        if chosen in LANGUAGES and (before == "--language" or argument.startswith("--language=")):
            return chosen
    return system_language()


if __name__ == "__main__":
    sys.exit(main())
