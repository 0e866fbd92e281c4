"""What an account offers: from the service, and from this computer where the service does not respond."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.folder_cloud import FolderCloud, offline
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import Unreachable
from traindeck.domain.jobs.choices import Choices, Engine, Flavor
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import utc_now
from traindeck.services.jobs.choices import JobChoices
from traindeck.store.offers import OfferStore

words = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8)
numbers = st.one_of(st.none(), st.integers(0, 500))
engines = st.builds(Engine, words, words, words, words, words, st.booleans())
flavors = st.builds(
    Flavor, words, words, words, numbers, cards=numbers, is_free=st.booleans(),
    engines=st.lists(words, max_size=2).map(tuple),
    attributes=st.lists(st.tuples(words, words), max_size=2).map(tuple),
)  # fmt: skip


async def test_without_a_network_the_last_offer_is_told_with_its_age(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        fresh = await cloud.choices.load(LAB)
        assert fresh.trouble is None and fresh.taken is not None and fresh.flavors
        later = JobChoices(cloud.connections, OfferStore(cloud.paths.offers, cloud.disk))
        cloud.jobs.trouble = offline()
        old = await later.load(LAB)
        assert (old.engines, old.flavors, old.taken) == (fresh.engines, fresh.flavors, fresh.taken)
        assert old.trouble is not None and "cannot be reached" in str(old.trouble)
        assert await later.known(LAB) == Choices(fresh.engines, fresh.flavors, fresh.taken)
        nothing = JobChoices(cloud.connections, OfferStore(tmp_path / "none", cloud.disk))
        assert await nothing.known(LAB) is None
        with pytest.raises(Unreachable):
            await nothing.load(LAB)


async def test_a_damaged_or_foreign_offer_is_none(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        store = OfferStore(cloud.paths.offers, cloud.disk)
        await store.write("a", "https://one", Choices((), (), utc_now()))
        assert await store.read("a", "https://two") is None
        (file,) = cloud.paths.offers.glob("*.json")
        for content in (b"", b"[]", b"{", b"\xff", b'{"account": "a", "service": "https://one", "engines": [3]}'):
            file.write_bytes(content)
            assert await store.read("a", "https://one") is None
        file.unlink()
        file.mkdir()
        await store.write("a", "https://one", Choices((), (), utc_now()))


@given(st.lists(engines, max_size=3).map(tuple), st.lists(flavors, max_size=3).map(tuple))
def test_nothing_of_an_offer_is_lost_on_disk(
    tmp_path_factory: pytest.TempPathFactory, offered: tuple[Engine, ...], sizes: tuple[Flavor, ...]
) -> None:
    choices = Choices(offered, sizes, utc_now())
    folder = tmp_path_factory.mktemp("offers")

    async def there_and_back() -> Choices | None:
        with closing(BlockingCalls(1, "disk")) as disk:
            store = OfferStore(folder, disk)
            await store.write("a", "s", choices)
            return await store.read("a", "s")

    assert asyncio.run(there_and_back()) == choices
