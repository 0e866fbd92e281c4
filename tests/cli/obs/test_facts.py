"""What is known of objects, and links to them, from the command line and against the real Lab."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from support.cli_commands import Traindeck, deny, put_object, s3
from support.servers.handed_on import fetched


def test_an_object_a_folder_and_a_bucket_tell_what_is_known(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    (tmp_path / "d").mkdir()
    for name in ("数据.txt", "b.txt"):
        (tmp_path / "d" / name).write_bytes(b"12345")
    traindeck("obs", "mb", "cli-bucket").must_be(0)
    traindeck("obs", "cp", "d", "obs://cli-bucket/d/").must_be(0)

    told = traindeck("obs", "stat", "obs://cli-bucket/d/数据.txt", "--json").must_be(0).document
    assert (told["key"], told["size"], told["class"], told["public"]) == ("d/数据.txt", 5, "STANDARD", False)
    assert told["md5"] == "827ccb0eea8a706c4c34a16891f84e7b"
    assert told["restore"] is None and "versions" not in told
    seen = traindeck("obs", "stat", "obs://cli-bucket/d/数据.txt", "--versions").must_be(0).out
    assert "827ccb0eea8a706c4c34a16891f84e7b" in seen and "current" in seen and "5 bytes" in seen
    assert len(traindeck("obs", "stat", "cli-bucket/d/b.txt", "--versions", "--json").document["versions"]) == 1

    for spelling in ("obs://cli-bucket/d/", "obs://cli-bucket/d"):
        folder = traindeck("obs", "stat", spelling, "--json").must_be(0).document
        assert (folder["objects"], folder["bytes"]) == (2, 10)
        assert folder["classes"] == {"STANDARD": {"objects": 2, "bytes": 10}}
    assert "10 bytes" in traindeck("obs", "stat", "obs://cli-bucket/d/").must_be(0).out
    bucket = traindeck("obs", "stat", "cli-bucket", "--json").must_be(0).document
    assert bucket["bucket"] == "cli-bucket" and bucket["created"] is not None
    for missing in ("obs://cli-bucket/none", "obs://cli-bucket/none/", "obs://no-such-bucket"):
        traindeck("obs", "stat", missing).must_be(4)


def test_a_link_is_printed_alone_and_is_good_for_everybody(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    put_object(traindeck, tmp_path / "a b.txt", b"hello", "obs://cli-bucket/a b.txt")
    got = traindeck("obs", "url", "obs://cli-bucket/a b.txt", "-v").must_be(0)
    link = got.out.strip()
    assert got.out == f"{link}\n" and "Signature=" in link
    assert "Signature" not in got.said
    assert fetched(link) == (200, b"hello")

    told = traindeck("obs", "url", "obs://cli-bucket/up", "--method", "PUT", "--expires", "7d", "--json")
    document = told.must_be(0).document
    assert fetched(document["url"], "PUT", b"from outside")[0] == 200
    assert traindeck("obs", "cp", "obs://cli-bucket/up", "-").must_be(0).raw == b"from outside"
    until = datetime.fromisoformat(document["until"])
    assert abs(until - datetime.now(UTC) - timedelta(days=7)) < timedelta(minutes=2)
    for wrong in (("--expires", "8d"), ("--expires", "30s"), ("--expires", "soon"), ("--method", "DELETE")):
        traindeck("obs", "url", "obs://cli-bucket/a b.txt", *wrong).must_be(2)
    traindeck("obs", "url", "obs://cli-bucket/").must_be(2)
    # What was asked for is printed, and kept nowhere.
    signature = link.rpartition("Signature=")[2].encode()
    kept = [path for path in (tmp_path / "home").rglob("*") if path.is_file() and signature in path.read_bytes()]
    assert kept == []


def test_tags_that_may_not_be_seen_do_not_hide_the_rest(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    put_object(traindeck, tmp_path / "x", b"12345", "obs://cli-bucket/x")
    client = s3(lab)
    client.put_object_tagging(Bucket="cli-bucket", Key="x", Tagging={"TagSet": [{"Key": "k", "Value": "v"}]})
    client.close()
    assert traindeck("obs", "stat", "obs://cli-bucket/x", "--json").must_be(0).document["tags"] == {"k": "v"}
    deny(tmp_path / "deny.json", "GetObjectTagging", "cli-bucket/*")
    traindeck("obs", "policy", "cli-bucket", "set", "--file", "deny.json", "--yes").must_be(0)
    told = traindeck("obs", "stat", "obs://cli-bucket/x", "--json").must_be(0)
    assert told.document["tags"] is None and told.document["size"] == 5 and "do not have permission" in told.said
    assert "5 bytes" in traindeck("obs", "stat", "obs://cli-bucket/x").must_be(0).out
