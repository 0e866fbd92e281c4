"""What argparse itself says, in the language in use; it asks gettext, which knows nothing of our catalogue."""

from __future__ import annotations

import argparse

from traindeck.domain.texts import say, text

_WORDS = {
    words.english: words
    for words in (
        text("show program's version number and exit"),
        text("%(prog)s: error: %(message)s\n"),
        text("argument %(argument_name)s: %(message)s"),
        text("the following arguments are required: %s"),
        text("one of the arguments %s is required"),
        text("not allowed with argument %s"),
        text("unrecognized arguments: %s"),
        text("invalid choice: %(value)r (choose from %(choices)s)"),
        text("unknown parser %(parser_name)r (choices: %(choices)s)"),
        text("invalid %(type)s value: %(value)r"),
        text("ignored explicit argument %r"),
        text("expected one argument"),
        text("expected at most one argument"),
        text("expected at least one argument"),
        text("expected %s argument"),
        text("expected %s arguments"),
        text("conflicting option: %s"),
        text("ambiguous option: %(option)s could match %(matches)s"),
    )
}


def translate_argparse() -> None:
    """Its two names for gettext are all that it asks; a sentence of another version of Python stays English."""
    vars(argparse).update(_=_said, ngettext=_counted)


def _said(message: str) -> str:
    return say(_WORDS[message]) if message in _WORDS else message


def _counted(one: str, many: str, count: int) -> str:
    return _said(one if count == 1 else many)
