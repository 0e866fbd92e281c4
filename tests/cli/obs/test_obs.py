"""Buckets and objects from the command line, against the real Lab."""

from __future__ import annotations

import time
from pathlib import Path

from support.cli_commands import NAMES, Traindeck, make_tree, put_object, tree


def keys(traindeck: Traindeck, place: str) -> list[str]:
    return [row["path"] for row in traindeck("obs", "ls", "-r", place, "--json").must_be(0).rows if not row["folder"]]


def test_a_folder_goes_up_is_listed_goes_elsewhere_and_comes_back_unchanged(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    content = make_tree(tmp_path / "源")
    assert traindeck("obs", "mb", "cli-bucket", "--json").must_be(0).document["path"] == "obs://cli-bucket/"
    sent = traindeck("obs", "cp", "源", "obs://cli-bucket/up/", "--json").must_be(0)
    assert sent.document["files"] == len(NAMES)
    assert sent.said == "", "no progress bar where no terminal is"
    assert sorted(keys(traindeck, "obs://cli-bucket/")) == sorted(f"obs://cli-bucket/up/{name}" for name in NAMES)

    one_level = traindeck("obs", "ls", "obs://cli-bucket/up", "--json").must_be(0).rows
    assert {(row["key"], row["folder"]) for row in one_level} == {
        ("up/数据.txt", False), ("up/a b.bin", False), ("up/sub/", True),
    }  # fmt: skip
    sizes = {row["key"]: row["size"] for row in one_level if not row["folder"]}
    assert sizes["up/a b.bin"] == len(content["a b.bin"])
    assert "数据.txt" in traindeck("obs", "ls", "obs://cli-bucket/up/").must_be(0).out
    assert [row["bucket"] for row in traindeck("obs", "ls", "--json").must_be(0).rows] == ["cli-bucket"]

    traindeck("obs", "cp", "obs://cli-bucket/up/", "obs://cli-bucket/copy/").must_be(0)
    traindeck("obs", "cp", "obs://cli-bucket/copy", "back/").must_be(0)
    assert tree(tmp_path / "back") == content


def test_several_sources_keep_their_names_and_one_may_be_renamed(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    make_tree(tmp_path / "one")
    (tmp_path / "file.bin").write_bytes(b"x" * 10)
    traindeck("obs", "mb", "obs://cli-bucket").must_be(0)
    traindeck("obs", "cp", "one", "file.bin", "obs://cli-bucket/all/").must_be(0)
    assert sorted(keys(traindeck, "obs://cli-bucket/all/")) == sorted(
        ["obs://cli-bucket/all/file.bin", *(f"obs://cli-bucket/all/one/{name}" for name in NAMES)]
    )
    traindeck("obs", "cp", "file.bin", "obs://cli-bucket/renamed.bin").must_be(0)
    assert keys(traindeck, "obs://cli-bucket/renamed.bin") == ["obs://cli-bucket/renamed.bin"]
    traindeck("obs", "cp", "obs://cli-bucket/all/one", "obs://cli-bucket/renamed.bin", "down").must_be(0)
    assert tree(tmp_path / "down")["one/sub/two.txt"] == (tmp_path / "one" / "sub" / "two.txt").read_bytes()
    assert tree(tmp_path / "down")["renamed.bin"] == b"x" * 10


def test_no_key_among_several_leads_out_of_the_folder(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    put_object(traindeck, tmp_path / "file.bin", b"x", "obs://cli-bucket/a/..")
    traindeck("obs", "cp", "file.bin", "obs://cli-bucket/b").must_be(0)
    traindeck("obs", "cp", "obs://cli-bucket/a/..", "obs://cli-bucket/b", "down/here").must_be(0)
    assert tree(tmp_path / "down") == {"here/%2E%2E": b"x", "here/b": b"x"}


def test_pipes_carry_every_byte(program: Traindeck, lab: dict[str, str]) -> None:
    content = bytes(range(256)) * 5000 + b"\r\n\x00"
    program("obs", "mb", "obs://cli-bucket").must_be(0)
    program("obs", "cp", "-", "obs://cli-bucket/piped", given=content).must_be(0)
    got = program("obs", "cp", "obs://cli-bucket/piped", "-").must_be(0)
    assert got.raw == content
    assert got.said == ""


def test_removing_a_folder_says_how_much_and_needs_a_yes(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    make_tree(tmp_path / "one")
    traindeck("obs", "mb", "obs://cli-bucket").must_be(0)
    traindeck("obs", "cp", "one", "obs://cli-bucket/one/").must_be(0)
    (tmp_path / "beside").write_bytes(b"stays")
    traindeck("obs", "cp", "beside", "obs://cli-bucket/one-beside").must_be(0)

    refused = traindeck("obs", "rm", "-r", "obs://cli-bucket/one/").must_be(2)
    assert "4" in refused.said
    assert "--yes" in refused.said
    assert len(keys(traindeck, "obs://cli-bucket/one/")) == 4

    assert traindeck("obs", "rm", "obs://cli-bucket/one/a b.bin", "--json").must_be(0).document["removed"] == 1
    assert traindeck("obs", "rm", "-r", "obs://cli-bucket/one/", "--yes", "--json").must_be(0).document["removed"] == 3
    assert keys(traindeck, "obs://cli-bucket/") == ["obs://cli-bucket/one-beside"]
    traindeck("obs", "ls", "obs://cli-bucket/one/").must_be(4)
    traindeck("obs", "rm", "obs://cli-bucket/one/a b.bin").must_be(4)
    traindeck("obs", "cp", "obs://cli-bucket/none", "-").must_be(4)


def test_how_much_is_there_and_where(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    content = make_tree(tmp_path / "one")
    (tmp_path / "one" / "Big.BIN").write_bytes(b"x" * 5000)
    total = sum(map(len, content.values())) + 5000
    traindeck("obs", "mb", "obs://cli-bucket").must_be(0)
    traindeck("obs", "cp", "one", "obs://cli-bucket/up/").must_be(0)

    whole = traindeck("obs", "du", "s3://cli-bucket", "--json").must_be(0).rows
    assert whole == [{"path": "obs://cli-bucket/", "objects": 5, "bytes": total}]
    deep = traindeck("obs", "du", "obs://cli-bucket/up", "-d", "2", "--json").must_be(0).rows
    assert [(row["path"], row["objects"]) for row in deep] == [
        ("obs://cli-bucket/up/sub/", 2), ("obs://cli-bucket/up/sub/deep/", 1), ("obs://cli-bucket/up", 5),
    ]  # fmt: skip
    assert "5 objects" in traindeck("obs", "du", "/cli-bucket/up/").must_be(0).out
    traindeck("obs", "du", "obs://cli-bucket/none/").must_be(4)

    def found(*options: str) -> set[str]:
        rows = traindeck("obs", "find", "obs://cli-bucket/", *options, "--json").must_be(0).rows
        return {row["key"] for row in rows}

    assert found("BIN") == {"up/a b.bin", "up/Big.BIN"}
    assert found("a", "bin") == {"up/a b.bin"}
    assert found("--name", "*.txt") == {"up/数据.txt", "up/sub/deep/ü.txt", "up/sub/two.txt"}
    assert found("--larger", "4.9kB") == {"up/Big.BIN"}
    assert found("bin", "--smaller", "4KiB") == {"up/a b.bin"}
    assert found("nowhere") == set()
    assert "up/数据.txt" in traindeck("obs", "find", "obs://cli-bucket/up", "数据").must_be(0).out
    traindeck("obs", "find", "obs://cli-bucket/", "--larger", "much").must_be(2)


def test_a_long_listing_is_whole_and_in_order(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    for number in range(1100):
        place = tmp_path / "many" / f"{number % 7}" / f"{number:04}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"")
    traindeck("obs", "mb", "obs://cli-bucket").must_be(0)
    traindeck("obs", "cp", "many", "obs://cli-bucket/many/").must_be(0)
    rows = traindeck("obs", "ls", "-r", "obs://cli-bucket/many/", "--json").must_be(0).rows
    listed = [row["key"] for row in rows]
    assert listed == sorted(listed)
    assert len(set(listed)) == 1100
    assert {row["class"] for row in rows} == {"STANDARD"}


def test_a_pipe_goes_no_faster_than_asked(traindeck: Traindeck, lab: dict[str, str]) -> None:
    traindeck("obs", "mb", "cli-bucket").must_be(0)
    content = bytes(range(256)) * 80
    for words, given, raw in (
        (("-", "obs://cli-bucket/x"), content, None),
        (("obs://cli-bucket/x", "-"), None, content),
    ):
        begun = time.monotonic()
        done = traindeck("obs", "cp", *words, "--limit", "40kB", given=given).must_be(0)
        assert time.monotonic() - begun >= 0.5
        assert raw in (None, done.raw)


def test_an_address_of_the_service_is_no_file(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    traindeck("obs", "mb", "cli-bucket").must_be(0)
    traindeck("obs", "cp", "x", f"{lab['obs']}/cli-bucket/web").must_be(0)
    traindeck("obs", "cp", "x", "s3n://cli-bucket/hadoop").must_be(0)
    assert keys(traindeck, "cli-bucket") == ["obs://cli-bucket/hadoop", "obs://cli-bucket/web"]
    traindeck("obs", "cp", "https://cli-bucket.obs.cn-north-4.myhuaweicloud.com/web", "back").must_be(0)
    assert (tmp_path / "back").read_bytes() == b"12345"
    traindeck("obs", "cp", "obs://cli-bucket/web", "obs:cli-bucket").must_be(2)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(("obs", "http"))) == []
