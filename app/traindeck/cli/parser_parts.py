"""What the parsers of all commands are made of."""

from __future__ import annotations

import argparse
import re
from argparse import ArgumentParser
from typing import Any

from traindeck.domain.texts import say

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)

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
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise argparse.ArgumentTypeError(say("give a size such as 500, 10MB or 1.5GiB"))
    number, unit, binary = match.groups()
    factor: int = (1024 if binary else 1000) ** " kmgt".index(unit.lower() or " ")
    return round(float(number) * factor)


def count(value: str) -> int:
    if not value.isdecimal():
        raise argparse.ArgumentTypeError(say("give a number, 0 or more"))
    return int(value)
