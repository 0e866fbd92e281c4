"""Reads the query of a list: which page, how long, and in which order."""

from collections.abc import Mapping
from dataclasses import dataclass

from traindeck.lab.training.request_body import RefusedError

MAX_LIMIT = 50


@dataclass(frozen=True)
class Page:
    """One page of a list; `offset` is as the client gave it, `skip` counts records."""

    offset: int
    limit: int
    skip: int
    sort_by: str
    newest_first: bool

    @property
    def order(self) -> str:
        return "desc" if self.newest_first else "asc"


def read_page(
    query: Mapping[str, str], sort_fields: tuple[str, ...], *, counts_pages: bool, max_limit: int = MAX_LIMIT
) -> Page:
    """The first of `sort_fields` is the default."""
    limit = whole_in(query, "limit", max_limit, 1, max_limit)
    offset = whole_in(query, "offset", 0, 0, None)
    sort_by = query.get("sort_by") or sort_fields[0]
    order = query.get("order") or "desc"
    if sort_by not in sort_fields:
        raise RefusedError("2790", f"sort_by must be one of {', '.join(sort_fields)}")
    if order not in ("asc", "desc"):
        raise RefusedError("2790", "order must be asc or desc")
    return Page(offset, limit, offset * limit if counts_pages else offset, sort_by, order == "desc")


def whole_in(query: Mapping[str, str], key: str, default: int, low: int, high: int | None) -> int:
    text = query.get(key) or ""
    if not text:
        return default
    # Longer numbers are beyond what the database can count.
    is_number = text.isascii() and text.isdigit() and len(text) <= 9
    if not is_number or int(text) < low or (high is not None and int(text) > high):
        raise RefusedError("2764", f"{key} must be a whole number from {low}" + (f" to {high}" if high else ""))
    return int(text)
