"""What can be said to cp, mv, sync, pack, rm, ls, find and du about which files and how, against the real Lab."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.cli_commands import Answer, Traindeck, put_files, s3, tree
from traindeck.domain.transfers.name_filter import NameFilter
from traindeck.services.transfers import moving

HERE = "obs://copy-bucket/"
TREE = {"a.jpg": b"1", "b.txt": b"22", "train/c.jpg": b"333", "train/deep/d.jpg": b"4444", "数据/图.png": b"55555"}


@pytest.fixture
def bucket(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> dict[str, str]:
    put_files(tmp_path / "data", TREE)
    traindeck("obs", "mb", HERE).must_be(0)
    return lab


def keys(traindeck: Traindeck, place: str = HERE, *options: str) -> list[str]:
    return [row["key"] for row in traindeck("obs", "ls", "-r", place, *options, "--json").must_be(0).rows]


def names(answer: Answer, result: str) -> list[str]:
    return [row["name"] for row in answer.must_be(0).rows if row.get("result") == result]


def test_what_became_of_it_is_said_as_the_language_says_it(traindeck: Traindeck, bucket: dict[str, str]) -> None:
    for words in (("cp", "data", HERE), ("cp", "data", HERE, "--no-clobber"), ("mv", f"{HERE}a.jpg", f"{HERE}b.jpg")):
        assert ". " not in traindeck("--language", "zh_CN", "obs", *words).must_be(0).out


def test_filters_choose_for_every_command_that_takes_many(
    traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]
) -> None:
    jpg, top = ("--include", "*.jpg"), ("--exclude", "/train/")
    traindeck("obs", "cp", "data", f"{HERE}up/", *jpg, *top).must_be(0)
    assert keys(traindeck) == ["up/a.jpg"]
    traindeck("obs", "sync", "data", f"{HERE}up/", "--exclude", "*", "--include", "数据/**").must_be(0)
    assert keys(traindeck) == ["up/a.jpg", "up/数据/图.png"]
    # What a filter does not take is nothing that could be missing.
    gone = traindeck("obs", "sync", "data", f"{HERE}up/", "--include", "*.txt", "--delete", "--yes", "--json")
    assert names(gone, "uploaded") == ["b.txt"] and names(gone, "removed") == []
    (tmp_path / "data/.traindeckignore").write_text("deep/\n", encoding="utf-8")
    traindeck("obs", "sync", "data", f"{HERE}all/", "--ignore", "b.txt", "--exclude", ".trainde*").must_be(0)
    assert keys(traindeck, f"{HERE}all/") == ["all/a.jpg", "all/train/c.jpg", "all/数据/图.png"]

    assert keys(traindeck, f"{HERE}all/", *jpg) == ["all/a.jpg", "all/train/c.jpg"]
    assert keys(traindeck, f"{HERE}all/", *jpg, *top) == ["all/a.jpg"]
    found = traindeck("obs", "find", f"{HERE}all/", "--exclude", "*.jpg", "--json").must_be(0).rows
    assert [row["key"] for row in found] == ["all/数据/图.png"]
    counted = traindeck("obs", "du", f"{HERE}all/", *jpg, "--json").must_be(0).document
    assert (counted["objects"], counted["bytes"]) == (2, 4)

    traindeck("obs", "cp", f"{HERE}all/", "down", "--exclude", "train/").must_be(0)
    assert set(tree(tmp_path / "down")) == {"a.jpg", "数据/图.png"}
    traindeck("obs", "cp", f"{HERE}all/", f"{HERE}copy/", *jpg).must_be(0)
    traindeck("obs", "mv", f"{HERE}copy/", f"{HERE}moved/", "--include", "train/**").must_be(0)
    assert keys(traindeck, f"{HERE}copy/") == ["copy/a.jpg"]
    assert keys(traindeck, f"{HERE}moved/") == ["moved/train/c.jpg"]
    removed = traindeck("obs", "rm", "-r", f"{HERE}all/", *jpg, "--yes", "--json").must_be(0).document
    assert removed["removed"] == 2 and keys(traindeck, f"{HERE}all/") == ["all/数据/图.png"]
    traindeck("obs", "pack", "data", f"{HERE}packed/", *jpg).must_be(0)
    packed = traindeck("obs", "pack", "--list", f"{HERE}packed/", "--json").must_be(0).rows
    assert [row["path"] for row in packed] == ["a.jpg", "train/c.jpg"]
    wrong = traindeck("obs", "cp", "data", HERE, "--include", "[a")
    assert wrong.code == 2 and "“[a” is not a pattern" in wrong.said


def test_moving_by_a_filter_leaves_the_rest_and_its_folders(
    traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]
) -> None:
    (tmp_path / "data/hollow").mkdir()
    traindeck("obs", "mv", "data", f"{HERE}up/", "--include", "*.jpg").must_be(0)
    assert keys(traindeck) == ["up/a.jpg", "up/train/c.jpg", "up/train/deep/d.jpg"]
    assert set(tree(tmp_path / "data")) == {"b.txt", "数据/图.png"} and (tmp_path / "data/hollow").is_dir()


PATTERNS = ["*.jpg", "/*.jpg", "train/*", "/train/**", "*.{txt,png}", "[ab].*", "数*/**", "?.txt"]


def test_patterns_are_those_of_rclone(tmp_path: Path) -> None:
    put_files(tmp_path / "data", TREE)
    rclone = Path(sysconfig.get_path("scripts")) / "rclone"
    environment = {**os.environ, "RCLONE_CONFIG": str(tmp_path / "none.conf")}
    for pattern in PATTERNS:
        said = subprocess.run(
            [rclone, "lsf", "-R", "--files-only", "--include", pattern, tmp_path / "data"],
            capture_output=True, check=True, env=environment,
        ).stdout.decode()  # fmt: skip
        ours = {name for name in TREE if NameFilter(((True, pattern),)).takes(name)}
        assert set(said.splitlines()) == ours, pattern


def test_a_plan_says_what_would_be_replaced_and_does_nothing(
    traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]
) -> None:
    put_files(tmp_path / "old", {"a.jpg": b"another", "train/c.jpg": b"333"})
    traindeck("obs", "cp", "old", f"{HERE}x/").must_be(0)
    before = keys(traindeck)
    for command in ("cp", "mv"):
        for source, target in (("data", f"{HERE}x/"), (f"{HERE}x/", "data"), (f"{HERE}x/", f"{HERE}y/")):
            plan = traindeck("obs", command, source, target, "--dry-run", "--json").must_be(0).rows
            replaced = [row["name"] for row in plan if row.get("replaces")]
            assert replaced == ([] if target.endswith("y/") else ["a.jpg", "train/c.jpg"])
            sums = plan[-1]
            assert (sums["moved"], sums["replaced"], sums["kept"]) == (0, len(replaced), 0)
            assert (sums["to_move"], sums["bytes"]) == ((5, 15) if source == "data" else (2, 10))
    assert keys(traindeck) == before and tree(tmp_path / "data") == TREE
    words = traindeck("obs", "cp", "-n", "data", f"{HERE}x/").must_be(0).out
    assert "a.jpg  1 B  replaces the existing one" in words and "To replace: 2, 4 B." in words
    new = traindeck("obs", "cp", "-n", f"{HERE}x/", "not-there/", "--json").must_be(0)
    assert new.rows[-1]["to_move"] == 2 and not (tmp_path / "not-there").exists()
    assert traindeck("obs", "cp", "-n", "-", f"{HERE}x/new").code == 2


def test_what_is_there_is_left_alone_when_that_is_asked_for(
    traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]
) -> None:
    put_files(tmp_path / "old", {"a.jpg": b"another"})
    traindeck("obs", "cp", "old/a.jpg", f"{HERE}x/").must_be(0)
    plan = traindeck("obs", "cp", "--no-clobber", "-n", "data", f"{HERE}x/", "--json")
    assert names(plan, "kept") == ["a.jpg"] and plan.rows[-1]["to_move"] == 4
    sent = traindeck("obs", "cp", "--no-clobber", "data", f"{HERE}x/", "--json").must_be(0).document
    assert (sent["files"], sent["kept"]) == (4, 1)
    assert s3(bucket).get_object(Bucket="copy-bucket", Key="x/a.jpg")["Body"].read() == b"another"
    said = traindeck("obs", "cp", "--no-clobber", "data", f"{HERE}x/").must_be(0).out
    assert "Copied 0 files" in said and "already exist: 5" in said

    put_files(tmp_path / "down", {"b.txt": b"mine"})
    if os.name != "nt":
        (tmp_path / "down/a.jpg").symlink_to("nowhere")
    fetched = traindeck("obs", "cp", "--no-clobber", f"{HERE}x/", "down", "--json").must_be(0).document
    assert (tmp_path / "down/b.txt").read_bytes() == b"mine"
    assert fetched["kept"] == 1 + (os.name != "nt") and fetched["files"] == 5 - fetched["kept"]
    moved = traindeck("obs", "mv", "--no-clobber", "old/", f"{HERE}x/", "--json").must_be(0).document
    assert (moved["files"], moved["kept"]) == (0, 1) and (tmp_path / "old/a.jpg").exists()
    traindeck("obs", "cp", f"{HERE}x/b.txt", f"{HERE}y/b.txt").must_be(0)
    within = traindeck("obs", "mv", "--no-clobber", f"{HERE}x/", f"{HERE}y/", "--json").must_be(0).document
    assert (within["files"], within["kept"]) == (4, 1) and keys(traindeck, f"{HERE}x/") == ["x/b.txt"]


def head_of(lab: dict[str, str], key: str) -> dict[str, Any]:
    found: dict[str, Any] = s3(lab).head_object(Bucket="copy-bucket", Key=key)
    return found


def test_class_type_and_metadata_are_kept_and_files_stay_equal(
    traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]
) -> None:
    large = os.urandom(450_000)
    put_files(tmp_path / "data", {"large.bin": large})
    said = ("--class", "WARM", "--metadata", "Owner=me", "--metadata", "note=数据=1", "--content-type", "x-a/b")
    options = (*said, "--part-size", "100KiB", "--parallel", "2")
    sent = traindeck("obs", "cp", "data", f"{HERE}x/", *options, "--json").must_be(0).document
    assert sent["verified"] == sent["files"] == 6
    for key in ("x/a.jpg", "x/large.bin"):
        found = head_of(bucket, key)
        assert found["StorageClass"] == "STANDARD_IA" and found["ContentType"] == "x-a/b"
        assert found["Metadata"]["owner"] == "me"
    assert head_of(bucket, "x/large.bin")["ETag"].endswith('-5"')
    assert traindeck("obs", "sync", "data", f"{HERE}x/", "--json").must_be(0).rows[-1]["equal"] == 6
    traindeck("obs", "cp", "--verify", "data", f"{HERE}x/").must_be(0)
    traindeck("obs", "cp", f"{HERE}x/", "back").must_be(0)
    assert (tmp_path / "back/large.bin").read_bytes() == large

    # A copy within the service keeps what is not said anew.
    traindeck("obs", "cp", f"{HERE}x/a.jpg", f"{HERE}y/", "--metadata", "owner=you").must_be(0)
    copy = head_of(bucket, "y/a.jpg")
    assert copy["ContentType"] == "x-a/b" and copy["Metadata"]["owner"] == "you" and "note" in copy["Metadata"]
    traindeck("obs", "cp", f"{HERE}x/a.jpg", f"{HERE}z/", "--class", "COLD").must_be(0)
    cold = head_of(bucket, "z/a.jpg")
    assert cold["StorageClass"] == "GLACIER" and cold["Metadata"]["owner"] == "me"
    traindeck("obs", "cp", "-", f"{HERE}pipe", *said, given=b"from a pipe").must_be(0)
    assert head_of(bucket, "pipe")["ContentType"] == "x-a/b"


WEB = {
    "CacheControl": "max-age=60",
    "ContentDisposition": 'attachment; filename="x"',
    "ContentEncoding": "gzip",
    "ContentLanguage": "zh",
    "Expires": datetime(2030, 1, 1, tzinfo=UTC),
}


def test_a_copy_in_parts_says_all_that_its_source_says(
    traindeck: Traindeck, bucket: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "_ONE_COPY_BYTES", 100_000)
    metadata = {"owner": "me", "kept": "yes"}
    s3(bucket).put_object(
        Bucket="copy-bucket", Key="big", Body=bytes(300_000), ContentType="x-a/b", Metadata=metadata, **WEB
    )
    size = ("--part-size", "100KiB")
    traindeck("obs", "cp", f"{HERE}big", f"{HERE}same", *size).must_be(0)
    same = head_of(bucket, "same")
    assert same["ETag"].endswith('-3"') and {name: same[name] for name in WEB} == WEB
    assert same["ContentType"] == "x-a/b" and metadata.items() <= same["Metadata"].items()
    said = ("--class", "WARM", "--metadata", "owner=you", "--content-type", "x-c/d")
    traindeck("obs", "cp", f"{HERE}big", f"{HERE}other", *size, *said).must_be(0)
    other = head_of(bucket, "other")
    assert other["ETag"].endswith('-3"') and {name: other[name] for name in WEB} == WEB
    assert (other["ContentType"], other["StorageClass"]) == ("x-c/d", "STANDARD_IA")
    assert {"owner": "you", "kept": "yes"}.items() <= other["Metadata"].items()


def test_sizes_and_heads_that_cannot_be_are_refused(
    traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]
) -> None:
    for options, words in (
        (("--part-size", "99KiB"), "100 KiB to 5 GiB"),
        (("--part-size", "6GiB"), "100 KiB to 5 GiB"),
        (("--parallel", "0"), "from 1 to 256"),
        (("--parallel", "257"), "from 1 to 256"),
        (("--metadata", "novalue"), "KEY=VALUE"),
        (("--metadata", "traindeck-md5=1"), "written by TrainDeck"),
        (("--class", "HOT"), "not a storage class"),
        (("--content-type", "数"), "only English letters"),
    ):
        answer = traindeck("obs", "cp", "data", f"{HERE}x/", *options)
        assert answer.code == 2 and words in answer.said, answer.said
    down = traindeck("obs", "cp", f"{HERE}x/", "down", "--class", "WARM")
    assert down.code == 2 and "no storage class" in down.said
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10_001 * 100 * 1024)
    many = traindeck("obs", "cp", "sparse", f"{HERE}x/", "--part-size", "100KiB")
    assert many.code == 1 and "10,001 parts" in many.said and "98 MiB" not in many.said
    assert keys(traindeck) == []


def test_sums_of_several_folders_as_du_gives_them(traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]) -> None:
    put_files(tmp_path / "data", {"large": bytes(12_345)})
    traindeck("obs", "cp", "data", f"{HERE}x/").must_be(0)
    both = ("obs", "du", f"{HERE}x/train/", f"{HERE}x/")
    rows = traindeck(*both, "-s", "-c", "--json").must_be(0).rows
    assert [(row["path"], row["objects"], row["bytes"]) for row in rows] == [
        (f"{HERE}x/train/", 2, 7), (f"{HERE}x/", 6, 12_360), ("total", 8, 12_367),
    ]  # fmt: skip
    human = traindeck(*both, "-h", "-s").must_be(0).out
    assert human.splitlines()[1] == f"12.4 kB  6 objects  {HERE}x/"
    assert traindeck(*both, "-b").must_be(0).out.splitlines()[1].startswith("12360  6 objects")
    assert traindeck("obs", "du", HERE, "-s", "-d", "1").code == 2
    assert "12.3 kB" in traindeck("obs", "ls", "-h", f"{HERE}x/").must_be(0).out
    assert "  12345  " in traindeck("obs", "ls", "-b", f"{HERE}x/").must_be(0).out
    assert "human-readable" in traindeck("obs", "du", "--help").must_be(0).out


def test_versions_go_for_good_only_after_they_were_counted(
    traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]
) -> None:
    client = s3(bucket)
    client.put_bucket_versioning(Bucket="copy-bucket", VersioningConfiguration={"Status": "Enabled"})
    for content in (b"1", b"22", b"333"):
        client.put_object(Bucket="copy-bucket", Key="x/a", Body=content)
    client.put_object(Bucket="copy-bucket", Key="x/ab", Body=b"other")
    client.put_object(Bucket="copy-bucket", Key="x/b.jpg", Body=b"picture")
    traindeck("obs", "rm", f"{HERE}x/b.jpg").must_be(0)
    undone = traindeck("obs", "rm", "--undo", f"{HERE}x/", "--exclude", "*.jpg", "--json").must_be(0).document
    assert undone == {"restored": 0}
    versions = traindeck("obs", "stat", "--versions", f"{HERE}x/a", "--json").must_be(0).document["versions"]
    oldest = versions[-1]["version"]

    refused = traindeck("obs", "rm", "--version", oldest, f"{HERE}x/a")
    assert refused.code == 2 and "permanently delete versions" in refused.said
    planned = traindeck("obs", "rm", "--version", oldest, f"{HERE}x/a", "-n", "--json").must_be(0).rows
    assert planned[0]["version"] == oldest and (planned[-1]["to_remove"], planned[-1]["old_versions"]) == (1, 1)
    gone = traindeck("obs", "rm", "--version", oldest, f"{HERE}x/a", "--yes", "--json").must_be(0).document
    assert (gone["removed"], gone["bytes"]) == (1, 1)
    assert traindeck("obs", "rm", "--version", oldest, f"{HERE}x/a", "--yes").code == 4
    assert traindeck("obs", "rm", "--version", oldest, f"{HERE}x/", "-r", "--yes").code == 2

    one = traindeck("obs", "rm", "--all-versions", f"{HERE}x/a", "--yes", "--json").must_be(0).document
    assert (one["objects"], one["old_versions"], one["bytes"]) == (1, 1, 5)
    assert keys(traindeck) == ["x/ab"]
    assert traindeck("obs", "rm", "--all-versions", f"{HERE}x/", "--yes").code == 2
    some = traindeck("obs", "rm", "-r", "--all-versions", f"{HERE}x/", "--include", "*.jpg", "--yes").must_be(0)
    assert "Objects: 0, previous versions: 1, delete markers: 1, 7 B" in some.out
    left = client.list_object_versions(Bucket="copy-bucket")
    assert [row["Key"] for row in left["Versions"]] == ["x/ab"] and "DeleteMarkers" not in left
