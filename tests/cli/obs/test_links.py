"""Links: left out and said, followed, or kept as objects that become links again and never lead out of the target."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from support.cli_commands import Traindeck, put_files, s3

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links need a right there")

THERE = "obs://link-bucket/x/"


@pytest.fixture
def bucket(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> dict[str, str]:
    """A tree with links to a file, to a folder, up, to nowhere, in a circle and out of it."""
    data = tmp_path / "data"
    put_files(data, {"real/a.txt": b"a", "z.txt": b"z"})
    put_files(tmp_path / "outside", {"secret.txt": b"secret"})
    for name, leads_to in (
        ("file", "z.txt"), ("folder", "real"), ("real/up", "../z.txt"), ("nowhere", "not-there"), ("loop", "."),
        ("out", "../outside"), ("数", "real/a.txt"),
    ):  # fmt: skip
        (data / name).symlink_to(leads_to)
    traindeck("obs", "mb", "link-bucket").must_be(0)
    return lab


def keys(traindeck: Traindeck, place: str = THERE) -> set[str]:
    return {row["key"].removeprefix("x/") for row in traindeck("obs", "ls", "-r", place, "--json").must_be(0).rows}


LINKS = {"file", "folder", "real/up", "nowhere", "loop", "out", "数"}
FILES = {"real/a.txt", "z.txt"}


def test_links_are_left_out_and_named(traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]) -> None:
    sent = traindeck("obs", "cp", "data", THERE, "--json").must_be(0).document
    assert keys(traindeck) == FILES and sent["skipped"] == len(LINKS)
    assert {one["name"] for one in sent["left_out"]} == LINKS
    said = traindeck("obs", "cp", "data", THERE).must_be(0)
    assert "Skipped: 7." in said.said and "data/real/up” is a link" in said.said and "Skipped: 7." in said.out
    synced = traindeck("obs", "sync", "data", THERE, "--json").must_be(0).rows
    assert {row["name"] for row in synced if row.get("result") == "skipped"} == LINKS
    packed = traindeck("obs", "pack", "data", "obs://link-bucket/packed/", "--json").must_be(0).rows
    assert packed[-1]["skipped"] == len(LINKS)
    # What went up while links were followed is not taken for something that is gone here.
    s3(bucket).put_object(Bucket="link-bucket", Key="x/folder/a.txt", Body=b"a")
    s3(bucket).put_object(Bucket="link-bucket", Key="x/gone", Body=b"a")
    removed = traindeck("obs", "sync", "data", THERE, "--delete", "--yes", "--json").must_be(0).rows
    assert [row["name"] for row in removed if row.get("result") == "removed"] == ["gone"]
    traindeck("obs", "cp", "data/file", THERE).must_be(0)  # named itself, it is what it leads to
    assert s3(bucket).get_object(Bucket="link-bucket", Key="x/file")["Body"].read() == b"z"


def test_links_are_followed_when_asked(traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]) -> None:
    sent = traindeck("obs", "cp", "data", THERE, "--links", "follow", "--json").must_be(0).document
    assert keys(traindeck) >= FILES | {"file", "folder/a.txt", "out/secret.txt", "数"}
    assert {one["name"] for one in sent["left_out"]} >= {"nowhere", "loop"}
    moved = traindeck("obs", "mv", "data", "obs://link-bucket/m/", "--links", "follow").must_be(0)
    assert "Skipped" in moved.out
    assert (tmp_path / "outside/secret.txt").exists() and (tmp_path / "data/out").is_symlink()
    assert not (tmp_path / "data/z.txt").exists()


def test_links_are_kept_and_come_back(traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]) -> None:
    kept = ("--links", "keep")
    sent = traindeck("obs", "cp", "data", THERE, *kept, "--json").must_be(0).document
    assert keys(traindeck) == FILES | {f"{name}.rclonelink" for name in LINKS} and sent["skipped"] == 0
    assert s3(bucket).get_object(Bucket="link-bucket", Key="x/real/up.rclonelink")["Body"].read() == b"../z.txt"
    assert traindeck("obs", "sync", "data", THERE, *kept, "--json").must_be(0).rows[-1]["equal"] == 9
    traindeck("obs", "sync", "--verify", "data", THERE, *kept).must_be(0)

    back = traindeck("obs", "cp", THERE, "back", *kept)
    assert back.code == 1 and "back/out” was not created" in back.said
    for name in LINKS - {"out"}:
        assert (tmp_path / "back" / name).readlink() == (tmp_path / "data" / name).readlink()
    assert not os.path.lexists(tmp_path / "back/out") and (tmp_path / "back/folder/a.txt").read_bytes() == b"a"
    again = traindeck("obs", "sync", THERE, "back", *kept, "--exclude", "out", "--json").must_be(0).rows[-1]
    assert (again["equal"], again["moved"]) == (8, 0)
    traindeck("obs", "sync", "--verify", THERE, "back", *kept, "--exclude", "out").must_be(0)
    # Without it they are files like others, and nothing is a link.
    traindeck("obs", "cp", THERE, "plain").must_be(0)
    assert (tmp_path / "plain/file.rclonelink").read_bytes() == b"z.txt"

    traindeck("obs", "mv", "data", "obs://link-bucket/m/", *kept).must_be(0)
    assert not (tmp_path / "data").exists() and (tmp_path / "outside/secret.txt").exists()
    traindeck("obs", "mv", "obs://link-bucket/m/", "down", *kept, "--exclude", "out").must_be(0)
    assert (tmp_path / "down/real/up").read_bytes() == b"z"
    left = traindeck("obs", "ls", "-r", "obs://link-bucket/m/", "--json").must_be(0).rows
    assert [row["key"] for row in left] == ["m/out.rclonelink"]
    traindeck("obs", "cp", "down/file", "obs://link-bucket/one/", *kept).must_be(0)
    traindeck("obs", "cp", "obs://link-bucket/one/file.rclonelink", "single/", *kept).must_be(0)
    assert (tmp_path / "single/file").readlink() == Path("z.txt")
    (tmp_path / "down/real/b.rclonelink").write_bytes(b"a file")
    odd = traindeck("obs", "cp", "down", THERE, *kept)
    assert odd.code != 0 and "reserved for links" in odd.said


def test_links_to_themselves_come_back_as_often_as_one_likes(
    traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]
) -> None:
    kept, circle = ("--links", "keep"), tmp_path / "circle"
    circle.mkdir()
    for name, leads_to in (("self", "self"), ("one", "other"), ("other", "one")):
        (circle / name).symlink_to(leads_to)
    traindeck("obs", "cp", "circle", THERE, *kept).must_be(0)
    for _ in range(2):
        assert traindeck("obs", "cp", THERE, "back", *kept, "--json").must_be(0).document["files"] == 3
        assert {path.name: str(path.readlink()) for path in (tmp_path / "back").iterdir()} == {
            "self": "self", "one": "other", "other": "one",
        }  # fmt: skip
    # Named itself, and beside others, it is called as it is called here.
    traindeck("obs", "cp", "circle/self", "data/file", "obs://link-bucket/one/", *kept).must_be(0)
    assert keys(traindeck, "obs://link-bucket/one/") == {"one/self.rclonelink", "one/file.rclonelink"}
    traindeck("obs", "cp", "obs://link-bucket/one/self.rclonelink", "back/self", *kept).must_be(0)


def test_links_are_packed_and_unpacked(traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]) -> None:
    kept = ("--links", "keep")
    for shards in ("obs://link-bucket/shards/", "shards"):
        traindeck("obs", "pack", "data", shards, *kept).must_be(0)
        listed = traindeck("obs", "pack", "--list", shards, "--json").must_be(0).rows
        assert {row["path"] for row in listed} == FILES | {f"{name}.rclonelink" for name in LINKS}
        back = f"back from {len(shards)}"
        done = traindeck("obs", "pack", "--unpack", shards, back, *kept, "--json")
        assert (done.code, done.document["files"], done.document["failed"]) == (1, 8, 1)
        for name in LINKS - {"out"}:
            assert (tmp_path / back / name).readlink() == (tmp_path / "data" / name).readlink()
        again = traindeck("obs", "pack", "--unpack", shards, back, *kept, "--json").document
        assert (again["equal"], again["files"]) == (8, 0)
        traindeck("obs", "pack", "--unpack", shards, f"plain {back}").must_be(0)
        assert (tmp_path / f"plain {back}/real/up.rclonelink").read_bytes() == b"../z.txt"


OUT = [b"/etc/passwd", b"../outside", b"sub/../../outside", b"", b"a\0b", b"\xff\xfe", b"x" * 5000, b"mine/x"]


def test_no_link_leads_out_of_the_target_and_nothing_is_written_through_one(
    traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]
) -> None:
    client = s3(bucket)
    (tmp_path / "to").mkdir()
    (tmp_path / "to/mine").symlink_to(tmp_path / "outside")
    for number, leads_to in enumerate(OUT):
        client.put_object(Bucket="link-bucket", Key=f"evil/{number}.rclonelink", Body=leads_to)
        client.put_object(Bucket="link-bucket", Key=f"evil/{number}/secret.txt", Body=b"overwritten")
    answer = traindeck("obs", "cp", "obs://link-bucket/evil/", "to", "--links", "keep")
    assert answer.code == 1 and f"{len(OUT)} files" in answer.said
    assert not any(path.is_symlink() for path in (tmp_path / "to").iterdir() if path.name != "mine")

    client.put_object(Bucket="link-bucket", Key="first/a.rclonelink", Body=b"sub")
    client.put_object(Bucket="link-bucket", Key="first/sub/x.txt", Body=b"mine")
    client.put_object(Bucket="link-bucket", Key="then/a/x.txt", Body=b"through the link")
    client.put_object(Bucket="link-bucket", Key="then/mine/secret.txt", Body=b"through the link")
    traindeck("obs", "cp", "obs://link-bucket/first/", "to", "--links", "keep").must_be(0)
    assert (tmp_path / "to/a").readlink() == Path("sub")
    for links in ("keep", "skip"):
        answer = traindeck("obs", "cp", "obs://link-bucket/then/", "to", "--links", links)
        assert answer.code == 1 and "nothing is written through links" in answer.said
    assert (tmp_path / "to/sub/x.txt").read_bytes() == b"mine"
    assert (tmp_path / "outside/secret.txt").read_bytes() == b"secret"


def test_rclone_and_we_keep_links_alike(traindeck: Traindeck, tmp_path: Path, bucket: dict[str, str]) -> None:
    traindeck("obs", "cp", "data", THERE, "--links", "keep").must_be(0)
    environment = {
        **os.environ, "RCLONE_CONFIG": str(tmp_path / "none.conf"), "RCLONE_CONFIG_LAB_TYPE": "s3",
        "RCLONE_CONFIG_LAB_PROVIDER": "Other", "RCLONE_CONFIG_LAB_ENDPOINT": bucket["obs"],
        "RCLONE_CONFIG_LAB_ACCESS_KEY_ID": bucket["access_key"],
        "RCLONE_CONFIG_LAB_SECRET_ACCESS_KEY": bucket["secret_key"], "RCLONE_CONFIG_LAB_FORCE_PATH_STYLE": "true",
    }  # fmt: skip
    rclone = Path(sysconfig.get_path("scripts")) / "rclone"
    run: list[str | Path] = [rclone, "copy", "--links"]
    subprocess.run([*run, "lab:link-bucket/x", tmp_path / "by-rclone"], check=True, env=environment, timeout=60)
    for name in LINKS:
        assert (tmp_path / "by-rclone" / name).readlink() == (tmp_path / "data" / name).readlink()
    subprocess.run([*run, tmp_path / "data", "lab:link-bucket/r"], check=True, env=environment, timeout=60)
    traindeck("obs", "cp", "obs://link-bucket/r/", "back", "--links", "keep", "--exclude", "out").must_be(0)
    assert (tmp_path / "back/real/up").readlink() == Path("../z.txt")
