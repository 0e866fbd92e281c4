"""Small datasets by their indexes, from everywhere to everywhere; reports; and loaders that read packed shards."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import dataset_files as made
from support.cli_commands import Traindeck, tree
from support.lab_app import wait_for


@pytest.fixture
def coco(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> Path:
    root = made.coco(tmp_path / "coco")
    made.write(root, {"README.md": "about"})
    traindeck("obs", "mb", "cli-bucket").must_be(0)
    traindeck("obs", "cp", "coco", "obs://cli-bucket/coco/").must_be(0)
    return root


def test_the_cut_index_goes_wherever_its_files_go(traindeck: Traindeck, coco: Path) -> None:
    told = traindeck("obs", "mini", "coco", "--per-class", "2", "--json").must_be(0).document
    made_here = tree(coco.with_name("coco_mini"))
    assert told["kept"] == 12 and told["indexes"] == told["written"] and len(made_here) == told["files"] == 15
    for split in ("train2017", "val2017"):
        index = json.loads(made_here[f"annotations/instances_{split}.json"])
        assert {f"{split}/{one['file_name']}" for one in index["images"]} == {
            name for name in made_here if name.startswith(split)
        }
    traindeck("obs", "mini", "coco", "obs://cli-bucket/sent/", "--per-class", "2").must_be(0)
    traindeck("obs", "mini", "obs://cli-bucket/coco", "fetched", "--per-class", "2").must_be(0)
    for _ in range(2):  # what is whole goes on to be that
        traindeck("obs", "mini", "obs://cli-bucket/coco/", "--per-class", "2").must_be(0)
    for place, folder in (("obs://cli-bucket/sent/", "a"), ("obs://cli-bucket/coco_mini/", "b")):
        traindeck("obs", "cp", place, folder).must_be(0)
        assert tree(coco.with_name(folder)) == made_here
    assert tree(coco.with_name("fetched")) == made_here
    said = traindeck("obs", "mini", "coco", "-n", "--per-class", "1").must_be(0).out
    assert "Layout: COCO" in said and "Classes from: annotations/instances_train2017.json" in said
    traindeck("obs", "mini", "coco", "x", "--per-class", "1", "--index", "none.csv").must_be(4)
    traindeck("obs", "mini", "coco", "x", "--per-class", "1", "--folders", "--index", "a").must_be(2)


def test_reports_of_both_sides_agree(traindeck: Traindeck, coco: Path) -> None:
    made.write(coco, {"val2017/half.png": made.png(1)[:40], "val2017/same.png": made.png(100), "README.md": ""})
    traindeck("obs", "cp", "coco", "obs://cli-bucket/coco/").must_be(0)
    here = traindeck("obs", "find", "coco", "--report", "--json").must_be(0).document
    there = traindeck("obs", "find", "obs://cli-bucket/coco", "--report", "--json").must_be(0).document
    read = traindeck("obs", "find", "obs://cli-bucket/coco", "--report", "--contents", "--json").must_be(0).document
    assert here["files"] == there["files"] == 29 and here["empty"]["names"] == ["README.md"] == there["empty"]["names"]
    assert here["layouts"] == ["coco"] == there["layouts"]
    same = [["val2017/000000000100.png", "val2017/same.png"]]
    assert here["duplicates"]["first"] == same == there["duplicates"]["first"] == read["duplicates"]["first"]
    assert there["broken"] is None and there["pictures"] is None, "nobody asked for the contents"
    for one in (here, read):
        assert [found["name"] for found in one["broken"]["files"]] == ["val2017/half.png"]
        assert one["pictures"] == {"looked_at": 26, "there": 26} and one["classes"] == here["classes"]
    said = traindeck("obs", "find", "obs://cli-bucket/coco", "--report").must_be(0).out
    assert "? Broken pictures: unknown, no contents were read." in said and "× 1 file is empty." in said
    traindeck("obs", "find", "coco", "--report", "word").must_be(2)
    traindeck("obs", "find", "none", "--report").must_be(4)
    (coco.parent / "empty").mkdir()
    assert "no files" in traindeck("obs", "find", "empty", "--report").must_be(4).said
    assert "is a file, not a folder" in traindeck("obs", "find", "coco/README.md", "--report").must_be(1).said
    one = traindeck("obs", "find", "coco/annotations", "--report", "--names", "--json").must_be(0).document
    assert one["files"] == 2 and one["duplicates"] is None and one["pictures"] is None
    traindeck("obs", "find", "obs://cli-bucket/none", "--report").must_be(4)


# Reading shards in training


@pytest.fixture
def frameworks(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """As much of PyTorch and of MindSpore as the loaders lean on: a base class, who works, and what was made."""
    state: dict[str, Any] = {"worker": None}
    data = types.ModuleType("torch.utils.data")
    data.IterableDataset = type("IterableDataset", (), {})  # type: ignore[attr-defined]
    data.get_worker_info = lambda: state["worker"]  # type: ignore[attr-defined]
    dataset = types.ModuleType("mindspore.dataset")
    dataset.GeneratorDataset = lambda *words, **named: (words, named)  # type: ignore[attr-defined]
    for name in ("torch", "torch.utils", "mindspore"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, data.__name__, data)
    monkeypatch.setitem(sys.modules, dataset.__name__, dataset)
    for name in ("RANK", "WORLD_SIZE", "RANK_ID", "RANK_SIZE"):
        monkeypatch.delenv(name, raising=False)
    yield state


@pytest.fixture
def packed(traindeck: Traindeck, tmp_path: Path) -> dict[str, bytes]:
    files: dict[str, bytes | str] = {}
    for number in range(40):
        place = f"train/{'cat' if number % 2 else '狗'}/{number:02}"
        files |= {f"{place}.png": made.png(number), f"{place}.seg.txt": str(number)}
    made.write(tmp_path / "data", files)
    limit = ("--files-per-shard", "30")
    traindeck("obs", "pack", "data", "shards", *limit, "--loader", "pytorch").must_be(0)
    assert len(list((tmp_path / "shards").glob("*.tar"))) == 3
    return tree(tmp_path / "data")


def test_the_pytorch_loader_reads_every_sample_once(
    packed: dict[str, bytes], frameworks: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = runpy.run_path(str(tmp_path / "pytorch_shards.py"))["Shards"]
    dataset = shards(str(tmp_path / "shards"))
    samples = list(dataset)
    assert len(samples) == len(dataset) == 40 and dataset.classes == ["cat", "狗"]
    for sample in samples:
        key = sample["__key__"]
        assert (sample["png"], sample["seg.txt"]) == (packed[f"{key}.png"], packed[f"{key}.seg.txt"])
        assert dataset.classes[sample["__class__"]] in key
    first = [one["__key__"] for one in samples]
    assert [one["__key__"] for one in dataset] == first != sorted(first), "shuffled, the same way each time"
    dataset.set_epoch(1)
    assert [one["__key__"] for one in dataset] != first

    seen: list[list[str]] = []
    monkeypatch.setenv("WORLD_SIZE", "3")
    for rank in range(3):
        monkeypatch.setenv("RANK", str(rank))
        mine: list[str] = []
        for worker in range(2):
            frameworks["worker"] = types.SimpleNamespace(id=worker, num_workers=2)
            mine += [one["__key__"] for one in dataset]
        seen.append(mine)
    assert [len(mine) for mine in seen] == [13, 13, 13] and len({*seen[0], *seen[1], *seen[2]}) == 39
    assert len(dataset) == 13


def test_the_mindspore_loader_reads_every_sample_once(
    packed: dict[str, bytes], frameworks: dict[str, Any], traindeck: Traindeck, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    told = traindeck("obs", "pack", "data", "again", "--loader", "mindspore", "--json").must_be(0).rows
    loader = runpy.run_path(told[-1]["loader"])
    monkeypatch.setenv("RANK_SIZE", "8")
    monkeypatch.setenv("RANK_ID", "3")
    (source, columns), share = loader["shards_dataset"](str(tmp_path / "again"), "png")
    assert columns == ["png", "label"] and (share["num_shards"], share["shard_id"]) == (8, 3)
    read = {bytes(content.tobytes()): int(label) for content, label in (source[n] for n in range(len(source)))}
    expected = {content: int("狗" in name) for name, content in packed.items() if name.endswith(".png")}
    assert read == expected and source[0][0].dtype == np.uint8


def test_a_loader_that_was_changed_is_replaced_after_a_yes_alone(
    packed: dict[str, bytes], traindeck: Traindeck, tmp_path: Path
) -> None:
    loader = Path("pytorch_shards.py")
    ours = loader.read_bytes()
    pack = ("obs", "pack", "data", "more", "--loader", "pytorch")
    loader.write_text("mine")
    refused = traindeck(*pack).must_be(2)
    assert "already exists" in refused.said and "--yes" in refused.said and loader.read_text() == "mine"
    assert not (tmp_path / "more").exists(), "asked before the work"
    traindeck(*pack, "--yes").must_be(0)
    assert loader.read_bytes() == ours
    before = loader.stat().st_mtime_ns
    traindeck("obs", "pack", "data", "others", "--loader", "pytorch").must_be(0)
    assert loader.stat().st_mtime_ns == before, "what is there already is not written again"


def test_a_copy_that_is_killed_goes_on_and_nothing_half_is_taken_for_whole(
    traindeck: Traindeck, tmp_path: Path
) -> None:
    files: dict[str, bytes | str] = {f"c/{number:04}.bin": bytes([number % 256]) * 40_000 for number in range(1200)}
    made.write(tmp_path / "data", files)
    target = tmp_path / "data_mini"
    command = [sys.executable, "-m", "traindeck", "obs", "mini", "data", "--share", "100%"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: target.is_dir() and len(list((target / "c").glob("*.bin"))) > 50)
        process.kill()
    there = sorted((target / "c").glob("*.bin"))
    assert len(there) < 1200
    assert all(place.read_bytes() == files[f"c/{place.name}"] for place in there), "what has its name is whole"
    first = there[0].stat().st_ino
    traindeck("obs", "mini", "data", "--share", "100%").must_be(0)
    assert tree(target) == files and there[0].stat().st_ino == first, "what was there was not copied again"
    assert all(place.suffix == ".bin" for place in (target / "c").iterdir())
