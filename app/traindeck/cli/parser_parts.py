"""What the parsers of all commands are made of."""

from __future__ import annotations

import argparse
import re
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from traindeck.domain.storage.objects import bytes_of
from traindeck.domain.texts import say

# A bare number could be seconds to one and days to another, and what is older is thrown away.
_DURATION = re.compile(r"(\d{1,6})\s*([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

Adder = Any
"""argparse's action that holds subcommands; its class is private to argparse."""


def group(groups: Adder, common: ArgumentParser, name: str, purpose: str) -> Adder:
    parser = groups.add_parser(name, help=purpose, description=purpose, parents=[common])
    return parser.add_subparsers(dest="action", metavar="COMMAND", title=say("commands"), required=True)


def leaf(group: Adder, common: ArgumentParser, name: str, purpose: str) -> ArgumentParser:
    parser: ArgumentParser = group.add_parser(name, help=purpose, description=purpose, parents=[common])
    return parser


def yes(parser: ArgumentParser) -> None:
    parser.add_argument("-y", "--yes", action="store_true", help=say("do not ask"))


def size(value: str) -> int:
    found = bytes_of(value)
    if found is None:
        raise argparse.ArgumentTypeError(say("give a size such as 500, 10MB or 1.5GiB"))
    return found


def count(value: str) -> int:
    if not value.isdecimal():
        raise argparse.ArgumentTypeError(say("give a number, 0 or more"))
    return int(value)


def duration(value: str) -> timedelta:
    match = _DURATION.fullmatch(value.strip().lower())
    if match is None:
        raise argparse.ArgumentTypeError(say("give a time such as 90s, 30m, 1h or 7d"))
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
