"""What every client must be able to do with the Lab; each case is one function of a client and a bucket of its own."""

from __future__ import annotations

import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.servers.lab_process import LabProcess
from support.stores.foreign_clients import LARGE, About, Client, Kind, Refused
from support.stores.lab_clients import obs_client


@dataclass(frozen=True)
class Scene:
    """Where a case plays."""

    kind: Kind
    client: Client
    lab: LabProcess
    bucket: str
    folder: Path

    def file(self, content: bytes, name: str = "source") -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path

    def put(self, key: str, content: bytes) -> None:
        self.client.put(self.bucket, key, self.file(content))

    def got(self, key: str) -> bytes:
        target = self.folder / "target"
        target.unlink(missing_ok=True)
        self.client.get(self.bucket, key, target)
        return target.read_bytes()

    def fill(self, *keys: str, content: bytes = b"x") -> None:
        """By the SDK, where the case is about something else than putting."""
        client = obs_client(self.lab)
        for key in keys:
            assert client.putContent(self.bucket, key, content).status == 200
        client.close()


def small_object(scene: Scene) -> None:
    scene.put("k", b"content")
    assert scene.got("k") == b"content"


def empty_object(scene: Scene) -> None:
    scene.put("empty", b"")
    assert scene.client.size(scene.bucket, "empty") == 0
    assert scene.got("empty") == b""


def binary_object(scene: Scene) -> None:
    content = bytes(range(256)) * 3000
    scene.put("binary", content)
    assert scene.got("binary") == content


def large_object_in_parts(scene: Scene) -> None:
    content = os.urandom(LARGE)
    scene.put("large", content)
    assert scene.client.size(scene.bucket, "large") == LARGE
    assert scene.got("large") == content
    sdk = obs_client(scene.lab)
    assert "-" in sdk.getObjectMetadata(scene.bucket, "large").body.etag
    assert not sdk.listMultipartUploads(scene.bucket).body.upload
    sdk.close()


def overwritten_object(scene: Scene) -> None:
    scene.put("k", b"first, and longer")
    scene.put("k", b"second")
    assert scene.got("k") == b"second"
    assert scene.client.size(scene.bucket, "k") == 6


def odd_keys(scene: Scene) -> None:
    for key in scene.client.keys:
        scene.put(key, key.encode())
    assert sorted(scene.client.listed(scene.bucket)) == sorted(scene.client.keys)
    for key in scene.client.keys[:8]:
        assert scene.got(key) == key.encode()


def listing_below_a_prefix(scene: Scene) -> None:
    scene.fill("a/1", "a/2", "ab/1", "b/1")
    assert sorted(scene.client.listed(scene.bucket, "a/")) == ["a/1", "a/2"]


def listing_of_folders(scene: Scene) -> None:
    scene.fill("a/1", "a/2/3", "b/1", "top")
    assert scene.client.folders(scene.bucket) == ["a/", "b/"]


def listing_in_pages(scene: Scene) -> None:
    keys = [f"many/{number:04}" for number in range(1005)]
    scene.fill(*keys, content=b"")
    assert sorted(scene.client.listed(scene.bucket, "many/")) == keys


def listing_of_buckets(scene: Scene) -> None:
    assert scene.bucket in scene.client.buckets()


def names_that_differ_by_case(scene: Scene) -> None:
    scene.fill("Key", content=b"upper")
    scene.put("key", b"lower")
    assert (scene.got("Key"), scene.got("key")) == (b"upper", b"lower")


def key_that_is_a_prefix_of_another(scene: Scene) -> None:
    scene.fill("a/b", content=b"below")
    scene.put("a", b"above")
    assert (scene.got("a"), scene.got("a/b")) == (b"above", b"below")


def sizes(scene: Scene) -> None:
    scene.fill("k", content=b"x" * 12345)
    assert scene.client.size(scene.bucket, "k") == 12345


def missing_object(scene: Scene) -> None:
    with pytest.raises(Refused, match=r"(?i)404|not ?found|nosuchkey|no such key|not exist"):
        scene.client.get(scene.bucket, "missing", scene.folder / "target")
    with pytest.raises(Refused):
        scene.client.size(scene.bucket, "missing")


def missing_bucket(scene: Scene) -> None:
    with pytest.raises(Refused, match=r"(?i)404|not ?found|nosuchbucket|no such bucket|not exist"):
        scene.client.listed("a-bucket-that-is-not-there")


def deleted_object(scene: Scene) -> None:
    scene.fill("k", "kept")
    scene.client.delete(scene.bucket, "k")
    assert scene.client.listed(scene.bucket) == ["kept"]


def many_deleted_objects(scene: Scene) -> None:
    scene.fill(*(f"gone/{number} ä+%" for number in range(30)), "kept/1")
    scene.client.delete_all(scene.bucket, "gone/")
    assert scene.client.listed(scene.bucket) == ["kept/1"]


def copied_object(scene: Scene) -> None:
    scene.fill("from ä+%", content=b"copied")
    scene.client.copy(scene.bucket, "from ä+%", "to/copy")
    assert scene.got("to/copy") == b"copied"


def signed_link(scene: Scene) -> None:
    scene.fill("dir/linked", content=b"linked")
    link = scene.client.link(scene.bucket, "dir/linked")
    with urllib.request.urlopen(link) as answer:
        assert answer.read() == b"linked"
    with pytest.raises(urllib.error.HTTPError) as failed:
        urllib.request.urlopen(link.replace("linked", "other"))
    with failed.value:
        assert failed.value.code == 403


def signed_link_of_an_odd_key(scene: Scene) -> None:
    key = "dir/blank ä+&.txt"
    scene.fill(key, content=b"linked")
    with urllib.request.urlopen(scene.client.link(scene.bucket, key)) as answer:
        assert answer.read() == b"linked"
    try:
        missing = scene.client.link(scene.bucket, "missing")
    except Refused:
        # A careful client looks first.
        return
    with pytest.raises(urllib.error.HTTPError) as failed:
        urllib.request.urlopen(missing)
    with failed.value:
        assert failed.value.code == 404
        assert b"<Code>NoSuchKey</Code>" in failed.value.read()


def metadata_and_content_type(scene: Scene) -> None:
    wanted = About("text/x-lab", {"one": "1", "two": "a b, c=d"})
    scene.client.put(scene.bucket, "k", scene.file(b"content"), wanted)
    scene.client.copy(scene.bucket, "k", "copy")
    for key in ("k", "copy"):
        found = scene.client.about(scene.bucket, key)
        assert found.content_type == "text/x-lab"
        assert wanted.metadata.items() <= found.metadata.items()
    scene.put("k", b"without")
    assert not wanted.metadata.items() & scene.client.about(scene.bucket, "k").metadata.items()


def metadata_of_a_large_object(scene: Scene) -> None:
    wanted = About("text/x-lab", {"one": "1"})
    scene.client.put(scene.bucket, "large", scene.file(os.urandom(LARGE)), wanted)
    found = scene.client.about(scene.bucket, "large")
    assert found.content_type == "text/x-lab"
    assert wanted.metadata.items() <= found.metadata.items()


def empty_bucket(scene: Scene) -> None:
    assert scene.client.listed(scene.bucket) == []
    assert scene.client.listed(scene.bucket, "none/") == []


def object_put_into_a_missing_bucket(scene: Scene) -> None:
    name = f"none-{scene.bucket[:30]}"
    try:
        scene.client.put(name, "k", scene.file(b"x"))
    except Refused as refused:
        assert re.search(r"(?i)404|not ?found|nosuchbucket|no such bucket|not exist", str(refused))
        assert name not in scene.client.buckets()
    else:
        # Some clients make what is missing.
        assert scene.client.listed(name) == ["k"]
        scene.client.delete(name, "k")
        scene.client.remove_bucket(name)


def copy_of_a_missing_object(scene: Scene) -> None:
    with pytest.raises(Refused, match=r"(?i)404|not ?found|nosuchkey|no such key|not exist"):
        scene.client.copy(scene.bucket, "missing", "copy")
    assert scene.client.listed(scene.bucket) == []


def buckets_made_and_removed(scene: Scene) -> None:
    name = f"{scene.bucket[:30]}-{scene.kind.name.lower()}"
    scene.client.make_bucket(name)
    assert name in scene.client.buckets()
    scene.client.remove_bucket(name)
    assert name not in scene.client.buckets()
    scene.fill("k")
    with pytest.raises(Refused):
        scene.client.remove_bucket(scene.bucket)


def wrong_secret_key(scene: Scene) -> None:
    with (
        scene.kind.on(scene.lab, scene.folder / "wrong", secret_key="x" * 40) as stranger,
        pytest.raises(Refused, match=r"SignatureDoesNotMatch|403|Forbidden"),
    ):
        stranger.listed(scene.bucket)


def unknown_access_key(scene: Scene) -> None:
    with (
        scene.kind.on(scene.lab, scene.folder / "unknown", access_key="LABUNKNOWN") as stranger,
        pytest.raises(Refused, match=r"InvalidAccessKeyId|403|Forbidden"),
    ):
        stranger.put(scene.bucket, "k", scene.file(b"x"))


CASES: list[Callable[[Scene], None]] = [
    small_object,
    empty_object,
    binary_object,
    large_object_in_parts,
    overwritten_object,
    odd_keys,
    listing_below_a_prefix,
    listing_of_folders,
    listing_in_pages,
    listing_of_buckets,
    names_that_differ_by_case,
    key_that_is_a_prefix_of_another,
    sizes,
    missing_object,
    missing_bucket,
    deleted_object,
    many_deleted_objects,
    copied_object,
    signed_link,
    signed_link_of_an_odd_key,
    metadata_and_content_type,
    metadata_of_a_large_object,
    empty_bucket,
    object_put_into_a_missing_bucket,
    copy_of_a_missing_object,
    buckets_made_and_removed,
    wrong_secret_key,
    unknown_access_key,
]


def name_of(thing: Callable[[Scene], None] | Kind) -> str:
    return thing.name if isinstance(thing, Kind) else thing.__name__


def play(kind: Kind, case: Callable[[Scene], None], lab: LabProcess, bucket: str, folder: Path) -> None:
    with kind.on(lab, folder / "home") as client:
        case(Scene(kind, client, lab, bucket, folder))
