"""`traindeck obs pack` against the real Lab: up, listed, a few files back by ranges, all of them back."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from support.cli_commands import Traindeck, put_files, tree
from support.servers.terminal import terminal
from traindeck.domain.transfers import packing


def make(folder: Path, files: int = 300) -> dict[str, bytes]:
    content = {
        f"类{number % 4}/{number:04}.{kind}": os.urandom(900 + number)
        for number in range(files)
        for kind in ("jpg", "cls")
    }
    put_files(folder, content)
    return content


def test_a_folder_is_packed_listed_and_unpacked(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    content = make(tmp_path / "data")
    traindeck("obs", "mb", "packed").must_be(0)
    limits = ("--files-per-shard", "200", "--shard-size", "1MiB")
    shown = traindeck("obs", "pack", "data", "obs://packed/p", *limits, "-n", "--json").must_be(0).rows
    assert [(row["name"], row["result"]) for row in shown] == [(f"shard-00000{n}.tar", "to pack") for n in range(3)]
    assert traindeck("obs", "ls", "-r", "obs://packed/", "--json").must_be(0).rows == []

    *rows, last = traindeck("obs", "pack", "data", "obs://packed/p", *limits, "--json").must_be(0).rows
    assert (last["shards"], last["skipped"]) == (3, 0)
    assert [row["name"] for row in rows] == ["index.jsonl", *(row["name"] for row in shown)]
    assert last["bytes"] == sum(row["size"] for row in rows[1:])

    traindeck("obs", "cp", "obs://packed/p/", "fetched/").must_be(0)
    found: dict[str, bytes] = {}
    for shard in sorted((tmp_path / "fetched").glob("*.tar")):
        with tarfile.open(shard) as archive:
            names = archive.getnames()
            assert len(names) == 200
            assert len({name.rpartition(".")[0] for name in names}) == 100, "samples are whole"
            found |= {name: archive.extractfile(name).read() for name in names}
    assert found == content

    listed = traindeck("obs", "pack", "--list", "obs://packed/p/", "--json").must_be(0).rows
    assert {row["path"]: row["size"] for row in listed} == {name: len(data) for name, data in content.items()}
    line = listed[7]
    with (tmp_path / "fetched" / line["shard"]).open("rb") as file:
        file.seek(line["offset"])
        assert file.read(line["size"]) == content[line["path"]]

    some = traindeck("obs", "pack", "--unpack", "obs://packed/p", "some", "--only", "类1/*.cls", "--json").must_be(0)
    assert tree(tmp_path / "some") == {k: v for k, v in content.items() if k.startswith("类1/") and k.endswith(".cls")}
    assert some.document["files"] == 75
    assert traindeck("obs", "pack", "--unpack", "fetched", "all", "--json").must_be(0).document["files"] == 600
    assert tree(tmp_path / "all") == content

    traindeck("obs", "pack", "obs://packed/p/", "obs://packed/p/in").must_be(2)
    again = traindeck("obs", "pack", "fetched", "shards", "--json").must_be(0).rows[-1]
    assert again["shards"] == 1
    with tarfile.open(tmp_path / "shards" / "shard-000000.tar") as archive:
        assert sorted(archive.getnames()) == sorted(tree(tmp_path / "fetched"))
    assert json.loads((tmp_path / "shards" / "shards.json").read_text("utf-8"))["files"] == 5


def test_objects_are_packed_within_the_service(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    content = make(tmp_path / "data", 40)
    traindeck("obs", "mb", "packed").must_be(0)
    traindeck("obs", "cp", "data", "obs://packed/in/").must_be(0)
    traindeck("obs", "pack", "obs://packed/in/", "obs://packed/out/").must_be(0)
    whole = traindeck("obs", "cp", "obs://packed/out/shard-000000.tar", "-").must_be(0)
    with tarfile.open(fileobj=io.BytesIO(whole.raw)) as archive:
        assert {info.name: archive.extractfile(info).read() for info in archive} == content


def test_an_index_that_is_damaged_was_not_mistyped(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    make(tmp_path / "data", 2)
    traindeck("obs", "pack", "data", "out").must_be(0)
    (tmp_path / "out" / "index.jsonl").write_bytes(b'{"path": "a"')
    for words in (("--list", "out"), ("--unpack", "out", "back")):
        assert "Line 1 of the index" in traindeck("obs", "pack", *words).must_be(1).said


def test_the_worst_of_the_files_unpacked_decides(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    content = make(tmp_path / "data", 20)
    traindeck("obs", "mb", "packed").must_be(0)
    traindeck("obs", "pack", "data", "obs://packed/p/", "--files-per-shard", "10").must_be(0)
    traindeck("obs", "rm", "obs://packed/p/shard-000001.tar").must_be(0)
    rows = traindeck("obs", "pack", "--unpack", "obs://packed/p/", "some", "--json").must_be(4).rows
    assert (rows[-1]["failed"], rows[-1]["files"]) == (10, len(content) - 10)
    for damaged in ("shard-000000.tar", "shard-000003.tar"):  # before and behind the one that is missing
        traindeck("obs", "cp", f"obs://packed/p/{damaged}", "whole.tar").must_be(0)
        (tmp_path / "broken.tar").write_bytes(bytes((tmp_path / "whole.tar").stat().st_size))
        traindeck("obs", "cp", "broken.tar", f"obs://packed/p/{damaged}").must_be(0)
        traindeck("obs", "pack", "--unpack", "obs://packed/p/", f"from-{damaged}").must_be(1)
        traindeck("obs", "cp", "whole.tar", f"obs://packed/p/{damaged}").must_be(0)


@pytest.mark.skipif(os.name == "nt", reason="names that are no text are POSIX's")
def test_what_cannot_be_packed_is_named_and_nothing_is_sent(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    make(tmp_path / "data", 3)
    (tmp_path / "data" / os.fsdecode(b"bad\xff")).write_bytes(b"1")
    traindeck("obs", "mb", "packed").must_be(0)
    refused = traindeck("obs", "pack", "data", "obs://packed/p/").must_be(1)
    assert "bad" in refused.said and "--skip-unreadable" in refused.said
    assert traindeck("obs", "ls", "-r", "obs://packed/", "--json").must_be(0).rows == []
    passed = traindeck("obs", "pack", "data", "obs://packed/p/", "--skip-unreadable", "--json").must_be(0)
    assert passed.rows[-1]["skipped"] == 1
    assert [row["result"] for row in passed.rows if row.get("error")] == ["skipped"]


def test_places_that_cannot_be(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    make(tmp_path / "data", 2)
    for arguments in (("data",), ("--list", "data", "x"), ("--unpack", "data", "obs://b-b/x"), ("-", "x")):
        traindeck("obs", "pack", *arguments).must_be(2)
    traindeck("obs", "pack", "data", "data/in").must_be(2)
    traindeck("obs", "pack", "data", "out", "--shard-size", "5").must_be(2)
    traindeck("obs", "pack", "none", "out").must_be(4)
    traindeck("obs", "pack", "--list", "data").must_be(4)


def test_another_packing_is_replaced_only_when_that_is_meant(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    make(tmp_path / "data", 3)
    make(tmp_path / "more", 5)
    traindeck("obs", "mb", "packed").must_be(0)
    traindeck("obs", "pack", "data", "obs://packed/p/").must_be(0)
    traindeck("obs", "pack", "data", "obs://packed/p/").must_be(0)
    assert "would be replaced" in traindeck("obs", "pack", "more", "obs://packed/p/", "-n").must_be(1).said
    refused = traindeck("obs", "pack", "more", "obs://packed/p/").must_be(2)
    assert "would be replaced" in refused.said and "--yes" in refused.said
    assert len(traindeck("obs", "pack", "--list", "obs://packed/p/", "--json").must_be(0).rows) == 6
    traindeck("obs", "pack", "more", "obs://packed/p/", "--yes").must_be(0)
    assert len(traindeck("obs", "pack", "--list", "obs://packed/p/", "--json").must_be(0).rows) == 10


@pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal is POSIX")
def test_at_a_terminal_one_is_asked_before_another_packing_is_replaced(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    make(tmp_path / "data", 3)
    make(tmp_path / "more", 5)
    traindeck("obs", "pack", "data", "out").must_be(0)
    for answer, files in (("n", 6), ("y", 10)):
        with terminal(tmp_path, "obs", "pack", "more", "out") as there:
            there.read_until("[y/N]")
            there.type(f"{answer}\n")
            assert there.end() == 0
        assert len(traindeck("obs", "pack", "--list", "out", "--json").must_be(0).rows) == files


def test_many_small_files_bring_an_advice_once(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "ADVICE_FILES", 1_200)
    (tmp_path / "data").mkdir()
    for number in range(1_200):
        (tmp_path / "data" / f"{number}").write_bytes(b"x")
    traindeck("obs", "mb", "packed").must_be(0)
    sent = traindeck("obs", "cp", "data", "obs://packed/p/", "--json").must_be(0)
    assert sent.document["files"] == 1_200
    assert sent.said.count("obs pack") == 1
    assert "1,200 small files" in sent.said
    assert "obs pack" not in traindeck("obs", "sync", "data", "obs://packed/p/").must_be(0).said
    assert traindeck("obs", "sync", "data", "obs://packed/q/", "-n").must_be(0).said.count("obs pack") == 1
