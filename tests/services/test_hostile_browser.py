"""What the window's browser asks, asked of servers that mean no good: each ends with a sentence, and nothing leaves."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from support.hostile_commands import short_bounds
from support.servers.hostile import CONTENT, HOSTILE, LISTING, Around, Upstream, hostile
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.work_bench import Bench
from traindeck.domain.accounts.profiles import LAB, Asked
from traindeck.domain.errors import AppError, Unexpected
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.accounts.connections import Connection
from traindeck.services.accounts.key_checks import check_keys
from traindeck.services.jobs.choices import JobChoices
from traindeck.services.previews.reading import open_preview
from traindeck.services.storage.bucket_listing import BucketListings
from traindeck.services.storage.place_facts import PlaceService
from traindeck.store.object_index import ObjectIndexes
from traindeck.store.offers import OfferStore

PLACE = ObjectPath("hostile-browser", "in/")
SERVERS = {**HOSTILE, **LISTING, **CONTENT}

Ask = Callable[[Bench, Connection], Awaitable[object]]


async def _listed(bench: Bench, deep: bool) -> None:
    with closing(ObjectIndexes(bench.paths.home / "index")) as indexes:
        listing = await BucketListings(bench.connections, indexes.open, bench.disk).open(LAB, PLACE.bucket)
        await (listing.list_below if deep else listing.list_level)(PLACE.key, lambda _: None)


async def _previewed(bench: Bench) -> None:
    preview = await open_preview(bench.planes, bench.disk, LAB, PLACE.join("one.txt"))
    await preview.next_page()


async def _unfinished(bench: Bench) -> None:
    await bench.unfinished.each(LAB, PLACE, lambda _: None)


async def _offer(bench: Bench) -> None:
    await JobChoices(bench.connections, OfferStore(bench.paths.offers, bench.disk)).load(LAB)


async def _first(connection: Connection) -> None:
    await anext(connection.storage.entries(PLACE))


ASKS: dict[str, Ask] = {
    "the tree of buckets": lambda bench, on: on.storage.buckets(),
    "a folder": lambda bench, on: _listed(bench, False),
    "all below a folder": lambda bench, on: _listed(bench, True),
    "a look into a folder": lambda bench, on: _first(on),
    "a typed place": lambda bench, on: PlaceService(bench.connections, bench.planes).look(LAB, PLACE),
    "a preview": lambda bench, on: _previewed(bench),
    "properties of a bucket": lambda bench, on: on.settings.facts(PLACE.bucket),
    "properties of an object": lambda bench, on: on.objects.facts(PLACE.join("one.txt")),
    "versions of an object": lambda bench, on: on.objects.versions(PLACE.join("one.txt")),
    "tags of a bucket": lambda bench, on: on.settings.tags(PLACE.bucket),
    "rules across origins": lambda bench, on: on.settings.cors(PLACE.bucket),
    "rules of age": lambda bench, on: on.settings.lifecycle(PLACE.bucket),
    "who may get in": lambda bench, on: on.access.exposure(PLACE.bucket),
    "what a bucket holds": lambda bench, on: on.access.count(PLACE.bucket, lambda _: None),
    "unfinished uploads": lambda bench, on: _unfinished(bench),
    "the list of jobs": lambda bench, on: on.training.find_by_name("job"),
    "a job": lambda bench, on: on.training.show("12345678-0000-0000-0000-000000000000"),
    "the end of a log": lambda bench, on: on.training.log_tail("12345678-0000-0000-0000-000000000000", "worker-0"),
    "a part of a log": lambda bench, on: on.training.log_part("1234", "worker-0", 0, 1000),
    "the catalogue": lambda bench, on: JobChoices(bench.connections, OfferStore(bench.paths.offers, bench.disk)).load(
        LAB
    ),
}
LISTS = {"a folder", "all below a folder", "a look into a folder", "a typed place", "what a bucket holds"}


async def run_checked(way: Way, lab: LabProcess, home: Path, ask: str, server: str) -> None:
    with hostile(Upstream(lab.obs, lab.modelarts, lab.iam, way.resign), SERVERS[server]) as around:
        bad = way.at(obs_endpoint=around.obs, modelarts_endpoint=around.modelarts, iam_endpoint=around.iam)
        async with Bench(home, bad) as bench:
            trouble: AppError | None = None
            try:
                await ASKS[ask](bench, await bench.connections.open(LAB))
            except AppError as error:
                trouble = error
            except StopAsyncIteration:
                pass
    check(way, around, ask, server, trouble)


# A log that is not there yet.
_NO_TROUBLE = {
    ("the end of a log", "JSON of odd values"),
    ("a part of a log", "JSON of odd values"),
}
# What cannot be found out is unknown there, with its reason; and whatever agrees with its head is content.
_SHOWS_UNKNOWN = {"who may get in", "properties of a bucket", "a preview"}


def check(way: Way, around: Around, ask: str, server: str, trouble: AppError | None) -> None:
    words = f"{ask} against “{server}” after {around.budget.asked}: {trouble!r}"
    assert not around.stranger.connections, words
    if trouble is None:
        # A head has no content, and a server of lists or contents is honest to those who ask for something else.
        is_honest = server not in HOSTILE or all(one.startswith("HEAD") for one in around.budget.asked)
        assert is_honest or ask in _SHOWS_UNKNOWN or (ask, server) in _NO_TROUBLE, words
        return
    assert not isinstance(trouble, Unexpected), f"{words} {trouble.detail}"
    assert trouble.sentence(), words
    assert way.credentials.secret_key.reveal() not in trouble.sentence() + trouble.detail


def some() -> list[tuple[str, str]]:
    """Every server once, and every question."""
    lists, others = itertools.cycle(sorted(LISTS)), itertools.cycle(ASKS)
    found = [(next(lists), server) for server in LISTING] + [("a preview", server) for server in CONTENT]
    return found + [(next(others), server) for server in HOSTILE]


async def fill(way: Way) -> None:
    with way.storage() as storage:
        await storage.create_bucket(PLACE.bucket)
    await way.put(b"some words\n" * 100, PLACE.join("one.txt"), PLACE.join("two.txt"))


@pytest.mark.parametrize(("ask", "server"), some())
async def test_one_of_each(
    way: Way, lab: LabProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: str, server: str
) -> None:
    await fill(way)
    short_bounds(monkeypatch)
    await run_checked(way, lab, tmp_path / "home", ask, server)


@pytest.mark.long
@pytest.mark.parametrize("ask", ASKS)
async def test_every_question(
    way: Way, lab: LabProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    await fill(way)
    short_bounds(monkeypatch)
    for number, server in enumerate(SERVERS):
        await run_checked(way, lab, tmp_path / str(number), ask, server)


@pytest.mark.parametrize("server", HOSTILE)
async def test_the_five_checks_say_what_stands_in_the_way(
    way: Way, lab: LabProcess, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    short_bounds(monkeypatch)
    with hostile(Upstream(lab.obs, lab.modelarts, lab.iam, way.resign), HOSTILE[server]) as around:
        bad = way.at(obs_endpoint=around.obs, modelarts_endpoint=around.modelarts, iam_endpoint=around.iam)
        found = await check_keys(bad.profile, bad.credentials, bad.calls)
    assert not around.stranger.connections
    assert [check.fact for check in found.checks if not check.fact.in_english()] == []
    assert not any(check.passed for check in found.checks if check.id in (Asked.OBS, Asked.PROJECT, Asked.MODELARTS))
