"""The manual pages, written from the parser when a wheel is built: what they say is what can be typed."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from gettext import NullTranslations
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "app"))

from traindeck import __version__  # noqa: E402 - from these sources, not from what may be installed
from traindeck.cli.help_page import invocation, meaning, usage_parts  # noqa: E402
from traindeck.cli.parser import build  # noqa: E402
from traindeck.cli.parser_parts import Parser  # noqa: E402
from traindeck.domain.texts import AS_WRITTEN, CHINESE, ENGLISH, say, speak, text  # noqa: E402

# The same for all commands, so told once.
_COMMON = {"--profile", "--json", "--language", "--verbose", "--help"}
_EXITS = {
    "0": text("done"),
    "1": text("failed; also: the awaited job failed"),
    "2": text("wrong usage"),
    "3": text("keys or permissions"),
    "4": text("not found"),
    "5": text("network or service, can be retried"),
    "130": text("interrupted"),
}
_VARIABLES = {
    "TRAINDECK_HOME": text("the folder of everything TrainDeck keeps, instead of the usual place of the system"),
    "HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK": text("the keys of the account “environment”"),
}
FOLDERS = {ENGLISH: "man1", CHINESE: "zh_CN/man1"}


def page_in(language: str, catalogue: NullTranslations = AS_WRITTEN) -> str:
    speak(language, catalogue)
    try:
        return "\n".join(_page()) + "\n"
    finally:
        speak(ENGLISH, AS_WRITTEN)


def _page() -> Iterator[str]:
    parser = build()
    parser.complete()
    yield f'.TH TRAINDECK 1 "" "TrainDeck {__version__}"'
    yield ".ad l"  # wide characters leave lines that cannot be stretched
    yield f".SH {say('NAME')}"
    yield rf"traindeck \- {say('train on Huawei ModelArts, or first on this computer')}"
    yield f".SH {say('SYNOPSIS')}"
    yield r"\fBtraindeck\fR [\-h] [\-\-version] [COMMAND ...]"
    yield f".SH {say('DESCRIPTION')}"
    yield _plain(parser.description or "")
    yield f".SH {say('OPTIONS')}"
    yield from _options(parser, set())
    yield f".SH {say('COMMANDS')}"
    for command in _commands(parser):
        yield from _section(command)
    yield f".SH {say('EXIT STATUS')}"
    yield from _terms(*((code, say(means)) for code, means in _EXITS.items()))
    yield f".SH {say('ENVIRONMENT')}"
    yield from _terms(*((name, say(means)) for name, means in _VARIABLES.items()))


def _commands(parser: Parser) -> Iterator[Parser]:
    """Those that do something, each behind the one it is named after."""
    for inner in parser.commands.parsers.values() if parser.commands else ():
        inner.complete()
        below = [*_commands(inner)]
        yield from below or [inner]


def _section(parser: Parser) -> Iterator[str]:
    own = [entry for entry in parser.entries if not _COMMON & {*entry.action.option_strings}]
    yield f".SS {_plain(parser.prog)}"
    yield _plain(" ".join([parser.prog, *usage_parts(own, parser)]))
    yield ".PP"
    yield _plain(parser.description or "")
    yield from _options(parser, _COMMON)
    if parser.epilog:
        yield ".PP"
        yield _plain(parser.epilog)


def _options(parser: Parser, left_out: set[str]) -> Iterator[str]:
    for entry in parser.entries:
        action = entry.action
        if action.help == argparse.SUPPRESS or left_out & {*action.option_strings}:
            continue
        if action.option_strings or action.help:
            yield from _terms((invocation(entry), meaning(action)))


def _terms(*pairs: tuple[str, str]) -> Iterator[str]:
    for term, means in pairs:
        yield ".TP"
        yield rf"\fB{_plain(term)}\fR"
        yield _plain(means) if means else r"\&"


def _plain(words: str) -> str:
    """Nothing in it is a request, and a hyphen of an option can be copied."""
    words = " ".join(words.split()).replace("\\", r"\e")
    words = re.sub(r"-", r"\-", words)
    return rf"\&{words}" if words[:1] in (".", "'") else words
