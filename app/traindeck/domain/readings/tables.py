"""Curves as rows of a table, for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from traindeck.domain.readings.reading import LogReading

PLACES = ("step", "epoch", "seconds")


def table_rows(reading: LogReading) -> Iterator[list[str]]:
    """The heads, then a row for each place in the training at which something was printed."""
    names = list(reading.series)
    yield [*PLACES, *(_cell_text(name) for name in names)]
    rows: dict[tuple[float | None, ...], dict[str, float]] = {}
    for name in names:
        for point in reading.series[name].points():
            rows.setdefault(point[:3], {})[name] = point.value
    for place in sorted(rows, key=_order):
        values = rows[place]
        yield [*map(_number, place), *(_number(values.get(name)) for name in names)]


def _order(place: tuple[float | None, ...]) -> tuple[float, ...]:
    step, epoch, seconds = (float("-inf") if part is None else part for part in place)
    return seconds, epoch, step


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


def _cell_text(name: str) -> str:
    """A name comes from a log: no comma, no quote, and no formula."""
    words = name.replace('"', "'")
    return f'"{words}"' if "," in words else words
