from __future__ import annotations

import asyncio
import tarfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.folder_cloud import FolderCloud, code_folder, offline
from support.panel_bench import following
from support.waiting import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text
from traindeck.domain.transfers import packing as shards
from traindeck.domain.transfers.orders import Kind
from traindeck.viewmodels.ports import Way
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.storage import bucket_tree
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.deleting import News

BUCKET = ObjectPath("bucket")
DATA = ObjectPath("bucket", "data/")


class Answers:
    """A user who answers every question the same way."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def __call__(self, question: Text, button: Text) -> bool:
        self.asked.append(str(question))
        return self.answer


@asynccontextmanager
async def tree_of(folder: Path) -> AsyncIterator[tuple[FolderCloud, BucketTree]]:
    async with FolderCloud(folder) as cloud:
        for number in range(5):
            await cloud.storage.put(b"12345", DATA.join(f"{number}.txt"))
        await cloud.storage.put(b"", BUCKET.join("readme.md"))
        tree = BucketTree(cloud.connections, cloud.transfers, cloud.disk, cloud.scope)
        tree.use_profile("lab")
        await until(lambda: tree.level(None).is_known)
        with following(tree, cloud.transfers, cloud.scope):
            yield cloud, tree


def names(tree: BucketTree, folder: ObjectPath | None) -> list[str]:
    return [entry.path.name for entry in tree.level(folder).entries]


async def test_levels_are_read_when_they_are_opened_and_once(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (cloud, tree):
        assert names(tree, None) == ["bucket"]
        assert cloud.storage.listed == []
        for _ in range(3):
            tree.expand(BUCKET)
        await until(lambda: tree.level(BUCKET).is_known)
        tree.expand(BUCKET)
        assert cloud.storage.listed == ["obs://bucket/"]
        assert names(tree, BUCKET) == ["data", "readme.md"]


async def test_pages_are_shown_as_they_come(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (cloud, tree):
        cloud.storage.page_size = 2
        pages: list[tuple[object, int]] = []
        tree.appended.connect(lambda folder, start: pages.append((folder, start)))
        tree.expand(DATA)
        await until(lambda: tree.level(DATA).is_known)
        assert pages == [(DATA, 0), (DATA, 2), (DATA, 4)]
        assert names(tree, DATA) == [f"{number}.txt" for number in range(5)]


async def test_a_refresh_keeps_the_rows_until_the_new_ones_are_all_there(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (cloud, tree):
        tree.expand(DATA)
        await until(lambda: tree.level(DATA).is_known)
        await cloud.storage.put(b"", DATA.join("9.txt"))
        cloud.storage.wait = asyncio.Event()
        tree.refresh(DATA)
        assert len(names(tree, DATA)) == 5
        cloud.storage.wait.set()
        await until(lambda: len(names(tree, DATA)) == 6)


async def test_whatever_could_not_be_read_is_read_when_it_may_be(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (cloud, tree):
        tree.expand(BUCKET)
        await until(lambda: tree.level(BUCKET).is_known)
        cloud.storage.trouble = offline()
        for folder in (BUCKET, DATA):
            tree.refresh(folder)
        await until(lambda: all(tree.level(folder).trouble for folder in (BUCKET, DATA)))
        cloud.storage.trouble = None
        tree.read_what_failed()
        await until(lambda: tree.level(DATA).is_known)
        assert tree.level(BUCKET).trouble is tree.level(DATA).trouble is None


async def test_trouble_stays_with_its_folder_and_another_try_mends_it(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (cloud, tree):
        cloud.storage.trouble = offline()
        tree.expand(DATA)
        await until(lambda: tree.level(DATA).trouble is not None)
        assert names(tree, None) == ["bucket"]
        cloud.storage.trouble = None
        tree.expand(DATA)
        await until(lambda: tree.level(DATA).is_known)
        assert tree.level(DATA).trouble is None
        assert len(names(tree, DATA)) == 5


async def test_dropped_files_and_folders_go_where_they_were_dropped(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (cloud, tree):
        tree.expand(DATA)
        await until(lambda: tree.level(DATA).is_known)
        code = code_folder(tmp_path / "code")
        (tmp_path / "one file.txt").write_bytes(b"one")
        user = Answers(True)
        tree.upload([code, tmp_path / "one file.txt"], DATA, user)
        await until(lambda: {"code", "one file.txt"} <= set(names(tree, DATA)))
        assert user.asked == [], "nothing is lost by it"
        assert (cloud.storage.root / "bucket/data/code/train.py").is_file()
        assert (tmp_path / "one file.txt").is_file()


async def test_a_dropped_folder_can_be_looked_at_as_a_dataset(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (_, tree):
        code, user = code_folder(tmp_path / "code"), Answers(True)
        told: list[News] = []
        looked_at: list[Path] = []
        tree.news.connect(told.append)
        tree.look_wanted.connect(looked_at.append)
        for count, source in enumerate((code, code / "train.py"), start=1):
            tree.upload([source], DATA, user)
            await until(lambda count=count: len(told) == count)
        assert told[1].look is None, "one file is no dataset"
        assert told[0].look is not None
        told[0].look()
        assert looked_at == [code]


async def test_what_would_be_replaced_is_replaced_only_after_a_question(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (cloud, tree):
        told: list[News] = []
        tree.news.connect(told.append)
        (tmp_path / "1.txt").write_bytes(b"another one")
        there = cloud.storage.root / "bucket/data/1.txt"
        before, no, yes = there.read_bytes(), Answers(False), Answers(True)
        tree.upload([tmp_path / "1.txt"], DATA, no)
        await until(lambda: no.asked and not cloud.transfers.rows())
        assert no.asked == ["Replace 1 object in obs://bucket/data/? This cannot be undone."]
        assert there.read_bytes() == before and not told
        tree.upload([tmp_path / "1.txt"], DATA, yes)
        await until(lambda: told)
        assert there.read_bytes() == b"another one"
        assert str(told[0].message) == "Uploaded “1.txt” to obs://bucket/data/."
        assert told[0].topic == Topic(Subject.PLACE, "obs://bucket/data/1.txt", "lab")


async def test_who_drops_the_consoles_file_on_a_bucket_is_asked_about_the_keys_in_it(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (cloud, tree):
        (tmp_path / "Credentials.csv").write_text("Access Key Id,Secret Access Key", "utf-8")
        user = Answers(False)
        tree.upload([tmp_path / "Credentials.csv"], DATA, user)
        await until(lambda: user.asked and not cloud.transfers.rows())
        assert "“Credentials.csv” seems to contain access keys" in user.asked[0]
        assert not (cloud.storage.root / "bucket/data/Credentials.csv").exists()


async def test_deleting_says_how_much_and_deletes_just_that(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (cloud, tree):
        tree.expand(BUCKET)
        await until(lambda: tree.level(BUCKET).is_known)
        no, yes = Answers(False), Answers(True)
        tree.remove([DATA, DATA.join("1.txt")], no)
        await until(lambda: no.asked and not cloud.scope.is_running("delete from OBS"))
        assert "5 objects (25 B)" in no.asked[0]
        assert len(list((cloud.storage.root / "bucket/data").iterdir())) == 5
        tree.remove([DATA, DATA.join("1.txt")], yes)
        await until(lambda: names(tree, BUCKET) == ["readme.md"])
        assert tree.state.busy is None


async def test_a_bucket_is_no_folder_to_be_deleted(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (cloud, tree):
        user = Answers(True)
        tree.remove([BUCKET], user)
        tree.remove([BUCKET, DATA.join("1.txt")], user)
        await until(lambda: user.asked and not cloud.scope.is_running("delete from OBS"))
        assert user.asked == [
            "Delete 1 object (5 B) permanently? It is obs://bucket/data/1.txt. This cannot be undone."
        ]
        await until(lambda: len(list((cloud.storage.root / "bucket/data").iterdir())) == 4)


async def test_objects_and_folders_come_down_under_their_names(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (_, tree):
        target = tmp_path / "here"
        target.mkdir()
        tree.download([DATA, BUCKET.join("readme.md")], target)
        await until(lambda: (target / "readme.md").is_file() and len(list((target / "data").glob("*"))) == 5)


async def test_another_account_begins_with_an_empty_tree(tmp_path: Path) -> None:
    async with tree_of(tmp_path) as (cloud, tree):
        await cloud.add_cloud_profile("work")
        emptied: list[int] = []
        tree.emptied.connect(lambda: emptied.append(1))
        cloud.storage.wait = asyncio.Event()
        tree.expand(BUCKET)
        tree.use_profile("work")
        assert tree.level(None).is_loading
        assert emptied
        cloud.storage.wait.set()
        await until(lambda: tree.level(None).is_known)
        assert tree.level(BUCKET).entries == []


async def test_the_tree_holds_the_beginning_of_a_very_large_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_tree, "MOST_ROWS", 3)
    async with tree_of(tmp_path) as (cloud, tree):
        cloud.storage.page_size = 2
        tree.expand(DATA)
        await until(lambda: tree.level(DATA).is_known)
        assert tree.level(DATA).is_cut
        assert names(tree, DATA) == ["0.txt", "1.txt", "2.txt", "3.txt"]
        cloud.storage.page_size = 1000
        tree.expand(BUCKET)
        await until(lambda: tree.level(BUCKET).is_known)
        assert not tree.level(BUCKET).is_cut


class Ways:
    """A user who always goes the same way."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.asked: list[str] = []
        self.advised: list[str] = []

    async def __call__(self, question: Text, facts: Sequence[Text], ways: Sequence[Way]) -> str:
        self.asked += [str(question), *map(str, facts), *(str(way.action) for way in ways)]
        self.advised = [way.id for way in ways if way.is_advised]
        return self.way


@pytest.mark.parametrize("way", ["pack", "upload", "look", ""])
async def test_many_small_files_may_go_as_a_few_archives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(shards, "ADVICE_FILES", 50)
    folder = tmp_path / "small"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number:02}.jpg").write_bytes(b"x" * number)
    (tmp_path / "alone.txt").write_bytes(b"1")
    async with tree_of(tmp_path / "cloud") as (cloud, tree):
        tree.expand(DATA)
        user, ways = Answers(True), Ways(way)
        looked_at: list[Path] = []
        tree.look_wanted.connect(looked_at.append)
        tree.ask_with(ways)
        tree.upload([folder, tmp_path / "alone.txt"], DATA, user)
        await until(lambda: ways.asked)
        assert not user.asked
        assert ways.asked[0].startswith("Upload 61 files")
        assert ways.advised == ["upload"], "packing is offered, no more"
        assert ways.asked[-3:] == ["Upload as they are", "Pack into 1 tar shard", "Look at it first"]
        if way in ("", "look"):
            await until(lambda: not cloud.transfers.rows())
            await until(lambda: looked_at == ([folder] if way else []))
            assert not (cloud.storage.root / "bucket/data/small").exists()
            return
        orders = 1 if way == "upload" else 2
        await until(lambda: [row.state.is_over for row in cloud.transfers.rows()] == [True] * orders)
        there = cloud.storage.root / "bucket/data"
        assert (there / "alone.txt").read_bytes() == b"1"
        found = sorted(path.name for path in (there / "small").iterdir())
        if way == "upload":
            assert len(found) == 60
            return
        assert found == ["index.jsonl", "shard-000000.tar", "shards.json"]
        with tarfile.open(there / "small/shard-000000.tar") as archive:
            assert len(archive.getnames()) == 60
        assert {row.kind for row in cloud.transfers.rows()} == {Kind.PACK, Kind.UPLOAD}


async def test_another_packing_is_replaced_only_after_a_question(tmp_path: Path) -> None:
    async with tree_of(tmp_path / "cloud") as (cloud, tree):
        target, packed = BUCKET.join("shards/"), cloud.storage.root / "bucket/shards"
        tree.pack(DATA, target, Answers(False))
        await until((packed / "shards.json").exists)
        first = (packed / "index.jsonl").read_bytes()
        await cloud.storage.put(b"6", DATA.join("6.txt"))
        for answer in (False, True):
            user = Answers(answer)
            # The one before may be about to end: then this wish is the same.
            await until(lambda user=user: user.asked or tree.pack(DATA, target, user))
            assert "would be replaced" in user.asked[0]
            if not answer:
                await asyncio.sleep(0.1)
                assert (packed / "index.jsonl").read_bytes() == first
                assert len(cloud.transfers.rows()) == 1, "what was asked about is no failure"
        await until(lambda: (packed / "index.jsonl").read_bytes().count(b"\n") == 6)
        await until(lambda: all(row.state.is_over for row in cloud.transfers.rows()))
