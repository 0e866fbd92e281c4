"""What many outcomes are as a whole: the worst of them by what has to be done about it, not the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from traindeck.domain.errors import AppError, NotFound, ServiceTrouble, Vanished, ends_all

# From what another try mends, to what nothing does. Not in it is the worst: somebody has to look.
_MENDED_BY = ("service", "not_found", "credentials")


def _rank(error: AppError) -> int:
    return _MENDED_BY.index(error.kind) if error.kind in _MENDED_BY else len(_MENDED_BY)


def is_worse(error: AppError, than: AppError) -> bool:
    return _rank(error) > _rank(than)


def is_worst(error: AppError) -> bool:
    """None can be worse."""
    return _rank(error) == len(_MENDED_BY)


def worst(errors: Iterable[AppError]) -> AppError | None:
    """The first of the worst; None: there are none."""
    return max(errors, key=_rank, default=None)


def fails_all(error: AppError) -> bool:
    """What else is asked of this service now would fail, too."""
    return isinstance(error, ServiceTrouble) or ends_all(error)


def of_file(error: AppError, *, was_listed: bool = False) -> AppError:
    """As one of many: nobody typed the name of this very file, and what was listed is gone, not misspelled."""
    kind: type[AppError] = type(error)
    if error.kind == "usage":
        kind = AppError
    elif was_listed and isinstance(error, NotFound):
        kind = Vanished
    return error if kind is type(error) else kind(error.title, error.hint, error.detail)


class Outcomes:
    """Of several that are done one after the other: one that fails does not keep the rest from being tried."""

    def __init__(self) -> None:
        self.failures: list[tuple[str, AppError]] = []

    @contextmanager
    def one(self, name: str) -> Iterator[None]:
        """What is asked of a service that fails all is asked of it no more: then it raises at once."""
        try:
            yield
        except AppError as error:
            self.failures.append((name, error))
            if fails_all(error):
                self.end()

    def end(self) -> None:
        """Raises the worst."""
        found = worst(error for _, error in self.failures)
        if found is not None:
            raise found
