"""Folders drawn as a tree, and small datasets made of large ones, against the real Lab."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli_commands import Traindeck, put_files, s3, tree
from traindeck.domain.transfers.local_names import part_of

SAMPLES = [f"{number:03}" for number in range(40)]
DATA = {
    **{f"train/cat/{name}.jpg": name.encode() for name in SAMPLES},
    **{f"train/狗/{name}.{kind}": name.encode() for name in SAMPLES for kind in ("jpg", "txt")},
    "labels.csv": b"a,b",
}


@pytest.fixture
def data(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> Path:
    put_files(tmp_path / "data", DATA)
    traindeck("obs", "mb", "cli-bucket").must_be(0)
    traindeck("obs", "cp", "data", "obs://cli-bucket/data/").must_be(0)
    return tmp_path / "data"


def test_a_tree_is_drawn_and_told(traindeck: Traindeck, lab: dict[str, str]) -> None:
    client = s3(lab)
    client.create_bucket(Bucket="cli-bucket")
    for key in ("a/b/1", "a/b/2", "a/c", "z", "空/"):
        client.put_object(Bucket="cli-bucket", Key=key, Body=b"xy")
    client.close()
    assert traindeck("obs", "tree", "cli-bucket").must_be(0).out.splitlines() == [
        "obs://cli-bucket/",
        "├── a/",
        "│   ├── b/",
        "│   │   ├── 1  2 B",
        "│   │   └── 2  2 B",
        "│   └── c  2 B",
        "├── 空/",
        "└── z  2 B",
        "",
        "Folders shown: 3 · Objects shown: 4, 8 B",
    ]
    rows = traindeck("obs", "tree", "obs://cli-bucket/a", "--json").must_be(0).rows
    assert [(row["path"][len("obs://cli-bucket/a/") :], row["level"]) for row in rows] == [
        ("b/", 1), ("b/1", 2), ("b/2", 2), ("c", 1),
    ]  # fmt: skip
    assert traindeck("obs", "tree", "cli-bucket", "-L", "1").must_be(0).out.count("──") == 3
    assert traindeck("obs", "tree", "cli-bucket", "-d").must_be(0).out.count("──") == 3
    traindeck("obs", "tree", "obs://cli-bucket/none/").must_be(4)
    traindeck("obs", "tree", "no-such-bucket-here").must_be(4)


def test_a_name_with_as_many_parts_as_a_name_can_have(traindeck: Traindeck, lab: dict[str, str]) -> None:
    client = s3(lab)
    client.create_bucket(Bucket="cli-bucket")
    client.put_object(Bucket="cli-bucket", Key="a/" * 511 + "b", Body=b"")
    client.close()
    rows = traindeck("obs", "tree", "cli-bucket", "--json").must_be(0).rows
    assert [row["level"] for row in rows] == list(range(1, 513))


def test_a_level_wider_than_what_is_asked_ahead(traindeck: Traindeck, lab: dict[str, str]) -> None:
    client = s3(lab)
    client.create_bucket(Bucket="cli-bucket")
    keys = [f"{folder:02}/{name}" for folder in range(50) for name in "ab"]
    for key in keys:
        client.put_object(Bucket="cli-bucket", Key=key, Body=b"")
    client.close()
    rows = traindeck("obs", "tree", "cli-bucket", "--json").must_be(0).rows
    assert [row["path"][len("obs://cli-bucket/") :] for row in rows if not row["folder"]] == keys


def test_the_same_samples_from_everywhere_to_everywhere(traindeck: Traindeck, data: Path) -> None:
    told = traindeck("obs", "mini", "data", "--per-class", "5", "--json").must_be(0).document
    made = tree(data.with_name("data_mini"))
    assert (told["samples"], told["kept"], told["files"]) == (81, 11, 16) == (81, 11, len(made))
    assert told["classes"]["train/cat"] == {"samples": 40, "kept": 5}
    assert all(DATA[name] == content for name, content in made.items())
    cats = {Path(name).stem for name in made if "cat" in name}
    assert {Path(name).stem for name in made if "狗" in name} == cats, "a sample is one across folders"

    for source, target in (("obs://cli-bucket/data", "fetched"), ("data", "obs://cli-bucket/sent/")):
        traindeck("obs", "mini", source, target, "--per-class", "5").must_be(0)
    traindeck("obs", "mini", "obs://cli-bucket/data/", "--per-class", "5").must_be(0)
    for place, folder in (("obs://cli-bucket/sent/", "a"), ("obs://cli-bucket/data_mini/", "b")):
        traindeck("obs", "cp", place, folder).must_be(0)
        assert tree(data.with_name(folder)) == made
    assert tree(data.with_name("fetched")) == made
    other = traindeck("obs", "mini", "data", "other", "--per-class", "5", "--seed", "二").must_be(0)
    assert "11" in other.out and tree(data.with_name("other")) != made


def test_a_share_keeps_one_of_each_class_at_least(traindeck: Traindeck, data: Path) -> None:
    for words, low, high in ((("--share", "25%"), 2, 25), (("--share", "0.0001"), 1, 1), (("--share", "100%"), 40, 40)):
        told = traindeck("obs", "mini", "data", "-n", *words, "--json").must_be(0).document
        assert all(low <= told["classes"][name]["kept"] <= high for name in ("train/cat", "train/狗"))
        assert told["classes"][""]["kept"] == 1
    assert not data.with_name("data_mini").exists()


def test_it_goes_on_where_it_was_and_never_mixes(traindeck: Traindeck, data: Path) -> None:
    traindeck("obs", "mini", "data", "--per-class", "5").must_be(0)
    made = tree(data.with_name("data_mini"))
    first = data.with_name("data_mini").joinpath(next(iter(made)))
    first.unlink()
    part_of(first).write_bytes(b"what a kill left")
    traindeck("obs", "mini", "data", "--per-class", "5").must_be(0)
    assert tree(data.with_name("data_mini")) == made
    told = traindeck("obs", "mini", "data", "--per-class", "4").must_be(1)
    assert "already contains other files" in told.said
    assert tree(data.with_name("data_mini")) == made
    traindeck("obs", "mini", "obs://cli-bucket/data/", "--per-class", "3").must_be(0)
    traindeck("obs", "mini", "obs://cli-bucket/data/", "--per-class", "2").must_be(1)


def test_what_makes_no_dataset(traindeck: Traindeck, data: Path) -> None:
    data.with_name("empty").mkdir()
    for *words, code in (
        ("data", 2),
        ("data", "--per-class", "0", 2),
        ("data", "--share", "0", 2),
        ("data", "--share", "3", 2),
        ("data", "--share", "5%", "--per-class", "1", 2),
        ("data", "data/mini", "--per-class", "1", 2),
        ("/", "--per-class", "1", 2),
        ("obs://cli-bucket", "--per-class", "1", 2),
        ("-", "--per-class", "1", 2),
        ("none", "--per-class", "1", 4),
        ("empty", "--per-class", "1", 4),
        ("obs://cli-bucket/none", "--per-class", "1", 4),
        ("data/labels.csv", "--per-class", "1", 1),
    ):
        answer = traindeck("obs", "mini", *words).must_be(code)
        assert answer.said.strip() and answer.out == ""
