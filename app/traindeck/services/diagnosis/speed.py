"""How fast an account is: a few small requests, and some megabytes up and down that leave nothing behind."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

from traindeck.domain.accounts.profiles import Check, Profile
from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath, ObjectRow, size_words
from traindeck.domain.texts import Text, count_text, text
from traindeck.services.accounts.key_checks import TRIAL_NAME
from traindeck.services.storage.wire.data_plane import DataPlane

_LIMIT_S = 10.0
_ROUNDS = 5
_FIRST_BYTES, _MOST_BYTES = 256 * 1024, 8 * 1024 * 1024
_MOMENT_S = 3.0
_AT_HAND = ("", "STANDARD", "WARM")
_TITLES = {"round-trip": text("Round trip"), "upload": text("Upload speed"), "download": text("Download speed")}
_SLOW_MS = 1000


async def speeds(plane: DataPlane, profile: Profile, told: Callable[[Check], None]) -> None:
    """Each is measured for a bounded time, whatever the others say."""
    place: ObjectPath | None = None

    async def round_trip() -> Check:
        nonlocal place
        place = await _place(plane, profile)
        return await _round_trip(plane, place)

    await _measured("round-trip", round_trip, told)
    for name, measure in (("upload", _upload), ("download", _download)):
        if place is None:
            told(Check(_TITLES[name], None, text("Not measured: no bucket of this region is known."), None, name))
        else:
            await _measured(name, lambda measure=measure, place=place: measure(plane, place), told)  # type: ignore[misc]


async def _measured(name: str, measure: Callable[[], Awaitable[Check]], told: Callable[[Check], None]) -> None:
    title = _TITLES[name]
    try:
        async with asyncio.timeout(_LIMIT_S):
            check = await measure()
    except TimeoutError:
        fact = text("Not measured: not finished after {seconds} s.", seconds=round(_LIMIT_S))
        check = Check(
            title, None, fact, text("Check the network connection, then try again."), name, may_try_again=True
        )
    except AppError as error:
        check = Check(title, None, text("Not measured: {problem}", problem=error.title), error.hint, name)
    told(check)


async def _place(plane: DataPlane, profile: Profile) -> ObjectPath | None:
    if profile.work_in:
        return ObjectPath.parse(profile.work_in).as_folder()
    near = [bucket.name for bucket in await plane.buckets() if bucket.region in ("", profile.region)]
    return ObjectPath(near[0]) if near else None


async def _round_trip(plane: DataPlane, place: ObjectPath | None) -> Check:
    took = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        await (plane.head(place.join(TRIAL_NAME)) if place else plane.buckets())
        took.append((time.perf_counter() - began) * 1000)
    middle = statistics.median(took)
    fact = count_text(
        "{ms} ms for a small request; {least} to {most} ms in {count} attempt.",
        "{ms} ms for a small request; {least} to {most} ms in {count} attempts.",
        _ROUNDS,
        ms=round(middle),
        least=round(min(took)),
        most=round(max(took)),
    )
    is_slow = middle >= _SLOW_MS
    hint = text("Use a region nearer to you, or check what else uses the network.") if is_slow else None
    return Check(_TITLES["round-trip"], None if is_slow else True, fact, hint, "round-trip")


async def _upload(plane: DataPlane, place: ObjectPath) -> Check:
    """With a checksum that is wrong: taken in whole, then refused, so that not even a version of it is kept."""
    size_bytes, took_s = await _paced(lambda size: plane.try_to_write(place.join(TRIAL_NAME), size), _MOST_BYTES)
    return Check(_TITLES["upload"], True, _rate(size_bytes, took_s, place), id="upload")


async def _download(plane: DataPlane, place: ObjectPath) -> Check:
    title = _TITLES["download"]
    page = await plane.page(place.bucket, place.key)
    rows = [row for row in page.rows if row.size_bytes >= _FIRST_BYTES and row.storage_class in _AT_HAND]
    if not rows:
        least = size_words(_FIRST_BYTES)
        fact = text("Not measured: no object of {size} or more was found in {place}.", size=least, place=str(place))
        return Check(title, None, fact, id="download")
    row: ObjectRow = max(rows, key=lambda row: row.size_bytes)
    path = ObjectPath(place.bucket, row.key)

    async def read(size_bytes: int) -> None:
        await plane.get(path, lambda piece: None, length=size_bytes)

    size_bytes, took_s = await _paced(read, min(row.size_bytes, _MOST_BYTES))
    return Check(title, True, _rate(size_bytes, took_s, path), id="download")


async def _paced(move: Callable[[int], Awaitable[None]], most: int) -> tuple[int, float]:
    """A little first, then as much as that speed moves in a moment; bytes and seconds of the larger one."""
    size_bytes = _FIRST_BYTES
    while True:
        began = time.perf_counter()
        await move(size_bytes)
        took_s = max(time.perf_counter() - began, 1e-6)
        more = min(most, int(size_bytes / took_s * _MOMENT_S))
        if size_bytes > _FIRST_BYTES or more <= size_bytes:
            return size_bytes, took_s
        size_bytes = more


def _rate(size_bytes: int, took_s: float, place: ObjectPath) -> Text:
    rate = round(size_bytes / took_s)
    return text("{rate}/s, measured with {size} at {place}; nothing was kept.",
                rate=size_words(rate), size=size_words(size_bytes), place=str(place))  # fmt: skip
