"""The object store: whole or not at all, in order, whatever the keys are and whenever it is killed."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traindeck.lab.obs.errors import (
    BodyLost,
    BucketAlreadyExists,
    BucketAlreadyOwnedByYou,
    BucketNotEmpty,
    InvalidBucketName,
    KeyTooLong,
    NoSuchBucket,
    NoSuchKey,
    NoSuchUpload,
    ObsError,
    PreconditionFailed,
)
from traindeck.lab.obs.index import ObjectIndex, StoreTooNewError
from traindeck.lab.obs.records import Attributes
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.obs.uploads import MIN_PART, WantedPart


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObjectStore]:
    store = ObjectStore(tmp_path)
    store.create_bucket("bkt", "owner")
    yield store
    store.close()


def content(store: ObjectStore, key: str) -> bytes:
    _, file = store.open("bkt", key)
    with file:
        return file.read()


def body_files(root: Path) -> list[Path]:
    return [path for path in (root / "obs" / "bodies").rglob("*") if path.is_file()]


def test_put_keeps_everything_about_an_object(store: ObjectStore, tmp_path: Path) -> None:
    said = Attributes("text/plain", metadata={"x": "ä"}, headers={"Cache-Control": "no-store"})
    info = store.put("bkt", "a/b", b"hello", said)
    assert info.etag == hashlib.md5(b"hello").hexdigest()
    store.close()
    again = ObjectStore(tmp_path)
    assert again.info("bkt", "a/b") == info
    found, file = again.open("bkt", "a/b")
    with file:
        assert (found, file.read()) == (info, b"hello")
    again.close()


def test_keys_never_become_paths(store: ObjectStore, tmp_path: Path) -> None:
    keys = ["..", "../../x", "/etc/x", "a", "a/b", "A", "a\0b", "CON", "x" * 1024, "\n", "ä", "a//"]
    for key in keys:
        store.put("bkt", key, key.encode())
    for key in keys:
        assert content(store, key) == key.encode()
    assert len(body_files(tmp_path)) == len(keys)
    assert all(len(path.name) == 3 and path.name.isdigit() for path in body_files(tmp_path))
    with pytest.raises(KeyTooLong):
        store.put("bkt", "ä" * 513, b"")


def test_replaced_and_deleted_bodies_leave_no_files(store: ObjectStore, tmp_path: Path) -> None:
    store.put("bkt", "k", b"one")
    _, file = store.open("bkt", "k")
    with file:
        store.put("bkt", "k", b"two")
        assert file.read() == b"one"
    assert content(store, "k") == b"two"
    store.delete("bkt", "k")
    assert store.info("bkt", "k") is None
    store.delete("bkt", "k")
    with pytest.raises(NoSuchKey):
        store.open("bkt", "k")
    store.close()
    again = ObjectStore(tmp_path)
    assert body_files(tmp_path) == []
    again.close()


def test_a_discarded_or_refused_body_leaves_nothing(store: ObjectStore, tmp_path: Path) -> None:
    with store.new_body() as writer:
        writer.write(b"never committed")
    with pytest.raises(NoSuchBucket):
        store.put("not-there", "k", b"x")

    def refuse(current: object) -> None:
        raise PreconditionFailed("If-Match")

    with pytest.raises(PreconditionFailed):
        store.put("bkt", "k", b"x", condition=refuse)
    assert store.info("bkt", "k") is None
    assert body_files(tmp_path) == []


def test_buckets_have_owners_and_rules(store: ObjectStore) -> None:
    with pytest.raises(BucketAlreadyOwnedByYou):
        store.create_bucket("bkt", "owner")
    with pytest.raises(BucketAlreadyExists):
        store.create_bucket("bkt", "other")
    for name in ("ab", "a" * 64, "UPPER", "a..b", "a.-b", "-ab", "ab-", "192.168.1.1", "a_b", "a/b"):
        with pytest.raises(InvalidBucketName):
            store.create_bucket(name, "owner")
    store.create_bucket("a.b-c", "owner")
    assert [bucket.name for bucket in store.buckets("owner")] == ["a.b-c", "bkt"]
    store.put("bkt", "k", b"")
    with pytest.raises(BucketNotEmpty):
        store.delete_bucket("bkt")
    store.delete("bkt", "k")
    store.delete_bucket("bkt")
    assert store.bucket("bkt") is None
    with pytest.raises(NoSuchBucket):
        store.listing("bkt")


def test_files_go_in_and_damage_from_outside_is_noticed(store: ObjectStore, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(os.urandom(3_000_000))
    with source.open("rb") as file:
        info = store.put_file("bkt", "k", file)
    assert info.size == 3_000_000
    assert content(store, "k") == source.read_bytes()
    (body,) = body_files(tmp_path)
    os.truncate(body, 10)
    with pytest.raises(BodyLost):
        store.open("bkt", "k")
    body.unlink()
    with pytest.raises(BodyLost):
        store.open("bkt", "k")
    store.delete("bkt", "k")
    assert store.info("bkt", "k") is None


def test_a_newer_index_is_refused(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    store.close()
    index = ObjectIndex(tmp_path / "obs" / "index.sqlite3")
    with index.writing() as rows:
        rows.connection.execute("PRAGMA user_version = 99")
    index.close()
    with pytest.raises(StoreTooNewError):
        ObjectStore(tmp_path)


# --- listing against a sorted dictionary -----------------------------------------------------------------------------

TEXTS = st.text(st.sampled_from("a/ab-0\x00ä\U0001f393\x7f"), max_size=5)
KEYS = TEXTS.filter(bool)


def expected_entries(keys: set[str], prefix: str, marker: str, delimiter: str) -> list[tuple[str, bool]]:
    """What a listing gives in all its pages: keys and folded prefixes beyond the marker, in byte order."""
    entries: dict[str, bool] = {}
    for key in keys:
        if not key.startswith(prefix) or key.encode() <= marker.encode():
            continue
        at = key.find(delimiter, len(prefix)) if delimiter else -1
        name = key if at < 0 else key[: at + len(delimiter)]
        if at >= 0 and marker == name:
            continue
        entries[name] = at >= 0
    return sorted(entries.items(), key=lambda entry: entry[0].encode())


@settings(max_examples=60)
@given(
    keys=st.sets(KEYS, max_size=25),
    questions=st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(["", "/", "a", "ab"]), st.integers(1, 5)), max_size=8),
)
def test_listing_agrees_with_a_sorted_dictionary(
    store: ObjectStore, keys: set[str], questions: list[tuple[str, str, str, int]]
) -> None:
    for info in list(store.iterate("bkt")):
        store.delete("bkt", info.key)
    for key in keys:
        store.put("bkt", key, key.encode())
    assert [info.key for info in store.iterate("bkt")] == sorted(keys, key=str.encode)
    for prefix, marker, delimiter, size in questions:
        expected = expected_entries(keys, prefix, marker, delimiter)
        found: list[tuple[str, bool]] = []
        while True:
            page = store.listing("bkt", prefix, marker, delimiter, size)
            entries = [(info.key, False) for info in page.contents] + [(name, True) for name in page.common_prefixes]
            found += sorted(entries, key=lambda entry: entry[0].encode())
            if not page.is_truncated:
                break
            assert len(entries) == size
            marker = page.next_marker
        assert found == expected


@pytest.mark.parametrize("marker", ["", "f03/", "f03/4", "f09/0", "f29/28"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_small_folders_are_read_over_and_large_ones_jumped(store: ObjectStore, marker: str, size: int) -> None:
    keys = {f"f{folder:02}/{at}" for folder in range(0, 30, 3) for at in range(folder)} | {"f03", "f09/", "f10", "g"}
    for key in keys:
        store.put("bkt", key, b"")
    found: list[tuple[str, bool]] = []
    at = marker
    while True:
        page = store.listing("bkt", "", at, "/", size)
        found += [(info.key, False) for info in page.contents] + [(name, True) for name in page.common_prefixes]
        if not page.is_truncated:
            break
        at = page.next_marker
    assert sorted(found) == expected_entries(keys, "", marker, "/")


def test_a_page_of_nothing_is_not_truncated(store: ObjectStore) -> None:
    store.put("bkt", "k", b"")
    page = store.listing("bkt", max_keys=0)
    assert (page.contents, page.is_truncated) == ([], False)


# --- threads and kills -----------------------------------------------------------------------------------------------


def test_concurrent_writers_leave_one_whole_object(store: ObjectStore, tmp_path: Path) -> None:
    bodies = [bytes([number]) * 20_000 for number in range(8)]
    torn: list[bytes] = []

    def write(body: bytes) -> None:
        for _ in range(25):
            store.put("bkt", "k", body)
            if (seen := content(store, "k")) not in bodies:
                torn.append(seen)

    threads = [threading.Thread(target=write, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not torn
    assert len(body_files(tmp_path)) == 1


WRITER = """
import hashlib, random, sys
from pathlib import Path
from traindeck.lab.obs.records import Attributes
from traindeck.lab.obs.store import ObjectStore

store = ObjectStore(Path(sys.argv[1]))
dice = random.Random(int(sys.argv[2]))
print("ready", flush=True)
while True:
    key = f"k{dice.randrange(6)}"
    if dice.random() < 0.2:
        store.delete("bkt", key)
    else:
        with store.new_body() as writer:
            digest = hashlib.sha256()
            for _ in range(dice.randrange(1, 30)):
                block = dice.randbytes(dice.randrange(1, 4000))
                digest.update(block)
                writer.write(block)
            store_size = writer.size
            told = {"sha256": digest.hexdigest(), "size": str(store_size)}
            writer.commit("bkt", key, Attributes(metadata=told))
    print(key, flush=True)
"""


def test_kill_at_any_moment_leaves_whole_objects_and_no_leftovers(tmp_path: Path) -> None:
    root = tmp_path / "root"
    store = ObjectStore(root)
    store.create_bucket("bkt", "owner")
    store.close()
    dice = random.Random(5)
    for turn in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(root), str(turn)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(dice.randrange(1, 60)):
            assert process.stdout.readline()
        process.kill()
        process.stdout.close()
        process.wait()
        store = ObjectStore(root)
        listed = list(store.iterate("bkt"))
        for info in listed:
            _, file = store.open("bkt", info.key)
            with file:
                body = file.read()
            assert hashlib.sha256(body).hexdigest() == info.metadata["sha256"]
            assert hashlib.md5(body).hexdigest() == info.etag
            assert str(len(body)) == info.metadata["size"]
        assert len(body_files(root)) == len(listed)
        store.close()


def test_an_old_body_that_cannot_be_removed_does_not_take_its_successor_along(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    store.create_bucket("bkt", "owner")
    store.put("bkt", "k", b"old")
    (body,) = (path for path in (tmp_path / "obs" / "bodies").rglob("*") if path.is_file())
    body.unlink()
    body.mkdir()  # no system removes that as a file
    store.put("bkt", "k", b"new")
    for _ in range(2):
        with store.open("bkt", "k")[1] as file:
            assert file.read() == b"new"
        store.close()
        store = ObjectStore(tmp_path)
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe with a name makes the reader wait")
def test_an_upload_that_is_given_up_while_it_is_joined_is_told_so(store: ObjectStore, tmp_path: Path) -> None:
    upload = store.uploads.begin("bkt", "k", "owner", Attributes(), "").upload_id
    parts = []
    for number in (1, 2):
        with store.new_body() as writer:
            writer.write(b"p" * MIN_PART)
            parts.append(store.uploads.put_part("bkt", "k", upload, number, writer, {}))
    slow = store.bodies.path(parts[0].body)
    slow.unlink()
    os.mkfifo(slow)
    refused: list[Exception] = []

    def complete() -> None:
        wanted = [WantedPart(part.number, part.etag) for part in parts]
        try:
            store.uploads.complete("bkt", "k", upload, wanted, lambda _: None)
        except (ObsError, OSError) as error:
            refused.append(error)

    joining = threading.Thread(target=complete)
    joining.start()
    with slow.open("wb") as file:
        store.uploads.abort("bkt", "k", upload)
        file.write(b"p" * MIN_PART)
    joining.join()
    assert [type(error) for error in refused] == [NoSuchUpload]
    assert store.info("bkt", "k") is None
    assert not [path for path in (tmp_path / "obs" / "bodies").rglob("*") if path.is_file()]
