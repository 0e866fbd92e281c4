"""Pages through a log line by line; a line's id is the place in the file where it starts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from traindeck.lab.training.paging import whole_in
from traindeck.lab.training.request_body import RefusedError

# Ids of the service are long numbers; these have as many digits for as long as a log is below a petabyte.
_FIRST_ID = 1_700_000_000_000_000_000
_MAX_LINES = 500
_DEFAULT_LINES = 50
_BLOCK = 1 << 16


@dataclass(frozen=True)
class LineQuery:
    """Lines after (or before) the line that starts at `base`; None stands for the end of the log."""

    base: int | None
    lines: int
    is_forward: bool


@dataclass(frozen=True)
class LinePage:
    """Whole lines in the order of the log, with the ids of the first and the last."""

    start_line: str
    end_line: str
    lines: int
    content: str


def read_line_query(query: Mapping[str, str]) -> LineQuery:
    order = query.get("order") or "desc"
    if order not in ("asc", "desc"):
        raise RefusedError("2764", "order must be asc or desc")
    base = query.get("base_line") or ""
    if base and not (base.isascii() and base.isdigit() and len(base) == len(str(_FIRST_ID))):
        raise RefusedError("2764", f"{base!r} is not the id of a line")
    lines = whole_in(query, "lines", _DEFAULT_LINES, 1, _MAX_LINES)
    return LineQuery(int(base) - _FIRST_ID if base else None, lines, order == "asc")


def page_of(path: Path, wanted: LineQuery) -> LinePage | None:
    """None while there is no log. With `asc` what follows the base line, with `desc` what stands before it."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            if wanted.is_forward and wanted.base is not None:
                file.seek(min(max(wanted.base, 0), end))
                if wanted.base >= 0:
                    file.readline()
                start = file.tell()
                found = [line for _ in range(wanted.lines) if (line := file.readline()).endswith(b"\n")]
            else:
                stop = end if wanted.base is None else min(max(wanted.base, 0), end)
                start, found = _before(path, stop, wanted.lines)
    except FileNotFoundError:
        return None
    if not found:
        place = str(_FIRST_ID + (start if wanted.base is None else wanted.base))
        return LinePage(place, place, 0, "")
    last = start + sum(map(len, found[:-1]))
    content = b"".join(found).decode("utf-8", "replace")
    return LinePage(str(_FIRST_ID + start), str(_FIRST_ID + last), len(found), content)


def _before(path: Path, stop: int, count: int) -> tuple[int, list[bytes]]:
    """The last `count` whole lines that end at or before `stop`, and where they start."""
    data, place = b"", stop
    with path.open("rb") as file:
        while place > 0 and data.count(b"\n") <= count + 1:
            step = min(_BLOCK, place)
            place -= step
            file.seek(place)
            data = file.read(step) + data
    whole = data[: data.rfind(b"\n") + 1]
    lines = _split(whole)
    start = place + len(whole) - sum(map(len, lines[-count:]))
    return start, lines[-count:]


def _split(data: bytes) -> list[bytes]:
    """Lines by line feed alone: a progress bar's carriage returns stay inside its line."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]]
