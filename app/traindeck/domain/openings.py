"""What a start of the program, the desktop or a web page asks the window to open; it comes from anybody."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text

SCHEME = "traindeck"
MOST_WORDS = 4096
MOST_AT_ONCE = 20
_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_JOB_FILE = ".toml"


@dataclass(frozen=True, slots=True)
class JobFileOpening:
    """To be shown in the form; nothing is submitted."""

    path: Path


@dataclass(frozen=True, slots=True)
class RunOpening:
    run_id: str


@dataclass(frozen=True, slots=True)
class PlaceOpening:
    path: ObjectPath


Opening = JobFileOpening | RunOpening | PlaceOpening


def absolute(argument: str, folder: Path) -> str:
    """As it is understood by a program that was started elsewhere."""
    return argument if argument.lower().startswith(f"{SCHEME}:") else str(folder / Path(argument).expanduser())


def parse(argument: str) -> Opening:
    """Raises InvalidInput for what is neither a whole path of a job file nor a link that is known."""
    if len(argument) > MOST_WORDS or not argument.isprintable():
        raise InvalidInput(
            text("A link or file name that is too long, or has characters that cannot be shown, was not opened."),
            text("Check where it comes from."),
        )
    if argument.lower().startswith(f"{SCHEME}:"):
        return _link(argument)
    path = Path(argument)
    if not path.is_absolute() or path.suffix.lower() != _JOB_FILE:
        raise InvalidInput(
            text("“{file}” is not a job file.", file=argument),
            text("Open a file whose name ends with .toml."),
        )
    return JobFileOpening(path)


def _link(link: str) -> Opening:
    unknown = InvalidInput(
        text("TrainDeck does not know the link “{link}”.", link=link[:200]),
        text("Use traindeck://run/ID or traindeck://obs/bucket/folder/."),
    )
    try:
        parts = urlsplit(link)
        kind, rest = parts.netloc.lower(), unquote(parts.path, errors="strict").removeprefix("/")
    except ValueError as error:
        raise unknown from error
    if parts.query or parts.fragment or not rest.isprintable():
        raise unknown
    if kind == "run" and _RUN_ID.fullmatch(rest):
        return RunOpening(rest)
    if kind == "obs" and rest:
        try:
            return PlaceOpening(ObjectPath.parse(f"obs://{rest}"))
        except InvalidInput as error:
            raise unknown from error
    raise unknown
