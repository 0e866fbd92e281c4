"""What a small dataset is made of, for every layout: which files stay as they are, and which are written anew."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from support import dataset_files as made
from traindeck.domain.datasets.choice import SampleShare
from traindeck.domain.datasets.index_files import IndexColumns
from traindeck.domain.datasets.record_files import cifar_classes, tfrecord_spans
from traindeck.domain.errors import AppError, InvalidInput, NotFound
from traindeck.domain.texts import say
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.datasets import record_cutting
from traindeck.services.datasets.mini_plan import MiniOptions, MiniPlan, MiniPlanner
from traindeck.services.datasets.places import LocalPlace

TWO = SampleShare(2)


async def planned(root: Path, disk: BlockingCalls, share: SampleShare = TWO, **options: object) -> MiniPlan:
    how = MiniOptions(share, **options)  # type: ignore[arg-type]
    return await MiniPlanner(LocalPlace(root, disk), disk, how, lambda _: None).plan()


def kept(plan: MiniPlan) -> dict[str, tuple[int, int]]:
    return {name: (one.kept, one.samples) for name, one in plan.classes.items()}


def content(plan: MiniPlan, name: str) -> str:
    return next(one.content for one in plan.made if one.name == name).decode()


async def test_folders(tmp_path: Path, disk: BlockingCalls) -> None:
    plan = await planned(made.folder_per_class(tmp_path), disk)
    assert kept(plan) == {"cat": (2, 10), "dog": (2, 10)}
    assert len(plan.names) == 4 and not plan.made


async def test_a_csv_and_what_goes_with_its_files(tmp_path: Path, disk: BlockingCalls) -> None:
    plan = await planned(made.with_csv(tmp_path), disk)
    assert kept(plan) == {"even": (2, 10), "odd": (2, 10)}
    stems = {Path(name).stem for name in plan.names if name.startswith("images/")}
    assert {Path(name).stem for name in plan.names if name.startswith("masks/")} == stems and len(stems) == 4
    lines = content(plan, "labels.csv").splitlines()
    assert lines[0] == "filename,label" and {line.partition(".")[0] for line in lines[1:]} == stems
    assert "README.md" in plan.names and "images/extra.png" not in plan.names and "labels.csv" not in plan.names
    words = " ".join(say(note) for note in plan.notes)
    assert "names 1 file that does not exist, such as “gone.png”" in words
    assert "1 file is not named in the index" in words


async def test_the_folders_where_the_user_says_so(tmp_path: Path, disk: BlockingCalls) -> None:
    plan = await planned(made.with_csv(tmp_path), disk, by_folder=True)
    assert kept(plan)["images"] == (2, 21) and not plan.made


async def test_an_index_of_other_files_is_none_unless_it_is_asked_for(tmp_path: Path, disk: BlockingCalls) -> None:
    root = made.folder_per_class(tmp_path)
    (root / "other.csv").write_text("filename,label\nx.png,a\ny.png,b\n")
    assert "cat" in (await planned(root, disk)).classes
    with pytest.raises(InvalidInput, match="None of the files"):
        await planned(root, disk, index="other.csv")
    with pytest.raises(NotFound, match="not in the folder"):
        await planned(root, disk, index="nothing.csv")
    (root / "odd.json").write_text("{")
    with pytest.raises(InvalidInput, match="was not understood"):
        await planned(root, disk, index="odd.json")


async def test_columns_encodings_and_ends_of_lines_stay(tmp_path: Path, disk: BlockingCalls) -> None:
    lines = [f"{number};图{number:02}.png;类{number % 2}\r\n" for number in range(8)]
    index = ("no;picture;kind\r\n" + "".join(lines)).encode("gb18030")
    files: dict[str, bytes | str] = {f"p/图{number:02}.png": made.png(number) for number in range(8)}
    made.write(tmp_path, files | {"p/l.csv": index})
    plan = await planned(tmp_path, disk, columns=IndexColumns("picture", "kind"))
    assert kept(plan) == {"类0": (2, 4), "类1": (2, 4)}
    written = plan.made[0].content.decode("gb18030")
    assert written.startswith("no;picture;kind\r\n") and set(written.splitlines(keepends=True)[1:]) <= set(lines)


async def test_coco_with_two_splits(tmp_path: Path, disk: BlockingCalls) -> None:
    plan = await planned(made.coco(tmp_path), disk)
    assert Counter(kept(plan).values()) == {(2, 4): 6}
    for split in ("train2017", "val2017"):
        whole = json.loads(content(plan, f"annotations/instances_{split}.json"))
        there = {name.rpartition("/")[2] for name in plan.names if name.startswith(split)}
        assert {one["file_name"] for one in whole["images"]} == there and len(there) == 6
        assert {one["image_id"] for one in whole["annotations"]} == {one["id"] for one in whole["images"]}
        assert len(whole["categories"]) == 3


@pytest.mark.parametrize("with_lists", [True, False])
async def test_voc_lists_are_cut(tmp_path: Path, disk: BlockingCalls, with_lists: bool) -> None:
    plan = await planned(made.voc(tmp_path, with_lists=with_lists), disk)
    assert kept(plan) == {"cat": (2, 6), "dog": (2, 6)}
    stems = {Path(name).stem for name in plan.names}
    assert len(plan.names) == 8 and set(content(plan, "ImageSets/Main/train.txt").split()) == stems
    if with_lists:
        assert len(content(plan, "ImageSets/Main/cat_train.txt").splitlines()) == 4


async def test_cifar_binary_as_the_tutorials_lay_it_out(tmp_path: Path, disk: BlockingCalls) -> None:
    files: dict[str, bytes | str] = {
        "train/data_batch_1.bin": made.cifar_10(40), "eval/test_batch.bin": made.cifar_10(20),
    }  # fmt: skip
    made.write(tmp_path, files | {"train/batches.meta.txt": b"airplane\n"})
    plan = await planned(tmp_path, disk)
    assert {one.name: len(cifar_classes(one.content, one.name) or ()) for one in plan.made} == {
        "train/data_batch_1.bin": 20, "eval/test_batch.bin": 20,
    }  # fmt: skip
    assert plan.names == ["train/batches.meta.txt"] and plan.totals.kept == 40


@pytest.mark.parametrize("ending", ["", ".gz"])
async def test_mnist(tmp_path: Path, disk: BlockingCalls, ending: str) -> None:
    pairs = {
        "train-labels-idx1-ubyte": made.idx((30,), bytes(n % 3 for n in range(30))),
        "train-images-idx3-ubyte": made.idx((30, 2, 2), bytes(n // 4 for n in range(120))),
    }
    packed = {name + ending: gzip.compress(data) if ending else data for name, data in pairs.items()}
    plan = await planned(made.write(tmp_path, {**packed}), disk)
    again = await planned(tmp_path, disk)
    assert [one.content for one in plan.made] == [one.content for one in again.made]
    unpacked = {one.name: gzip.decompress(one.content) if ending else one.content for one in plan.made}
    assert sorted(unpacked[f"train-labels-idx1-ubyte{ending}"][8:]) == [0, 0, 1, 1, 2, 2]
    assert len(unpacked[f"train-images-idx3-ubyte{ending}"]) == 16 + 6 * 4


async def test_a_share_of_tfrecords(tmp_path: Path, disk: BlockingCalls) -> None:
    made.write(tmp_path, {"a.tfrecord": made.tfrecord(40), "b.tfrecord": b"not one"})
    plan = await planned(tmp_path, disk, SampleShare(None, 0.25))
    assert [len(tfrecord_spans(one.content) or ()) for one in plan.made] == [10]
    assert "such as b.tfrecord" in say(plan.notes[0])
    with pytest.raises(InvalidInput, match="stored inside the records"):
        await planned(tmp_path, disk)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"x.mindrecord0": b"x", "x.mindrecord0.db": b"x"}, "MindRecord files cannot be cut"),
        ({"data_batch_1": b"x", "batches.meta": b"x"}, "pickles"),
        ({"data_batch_1.bin": b"x"}, "not what its name says"),
        ({"train-labels-idx1-ubyte.gz": b"x", "train-images-idx3-ubyte.gz": b"x"}, "not what its name says"),
    ],
)
async def test_what_cannot_be_cut_is_said(
    tmp_path: Path, disk: BlockingCalls, files: dict[str, bytes | str], words: str
) -> None:
    with pytest.raises(AppError, match=words):
        await planned(made.write(tmp_path, files), disk)


async def test_links_and_unreadable_files_are_told_and_left(tmp_path: Path, disk: BlockingCalls) -> None:
    root = made.folder_per_class(tmp_path / "data")
    (tmp_path / "secret.csv").write_text("filename,label\n00.png,x\n")
    (root / "labels.csv").symlink_to(tmp_path / "secret.csv")
    (root / "loop").symlink_to(root)
    plan = await planned(root, disk)
    assert sorted(entry.name for entry in plan.left) == ["labels.csv", "loop"]
    assert kept(plan) == {"cat": (2, 10), "dog": (2, 10)}


async def test_an_index_that_became_a_link_is_not_read(tmp_path: Path, disk: BlockingCalls) -> None:
    root = made.with_csv(tmp_path / "data")
    place = LocalPlace(root, disk)
    (tmp_path / "secret").write_text("secret")
    (root / "labels.csv").unlink()
    (root / "labels.csv").symlink_to(tmp_path / "secret")
    with pytest.raises(NotFound, match="is a link"):
        await place.read("labels.csv", 1000)
    with pytest.raises(NotFound, match="is a link"):
        await place.head("labels.csv", 10)
    with pytest.raises(InvalidInput, match="was not read"):
        await place.read("images/00.png", 10)


async def test_a_folder_with_hostile_names(tmp_path: Path, disk: BlockingCalls) -> None:
    names = ["\x1b[2J.png", " .png", "a\nb.png", "x" * 200 + ".png", "-rf.png", "%2e%2e.png", ".png"]
    made.write(tmp_path, {f"c/{name}": made.png(number) for number, name in enumerate(names)})
    plan = await planned(tmp_path, disk, SampleShare(100))
    assert sorted(plan.names) == sorted(f"c/{name}" for name in names)


async def test_one_file_of_records_among_pictures_is_a_sample_like_them(tmp_path: Path, disk: BlockingCalls) -> None:
    root = made.folder_per_class(tmp_path)
    made.write(root, {"dog/x.tfrecord": made.tfrecord(3)})
    plan = await planned(root, disk, SampleShare(None, 1.0))
    assert len(plan.names) == 21 and not plan.made
    few = made.write(tmp_path / "few", {"a.tfrecord": made.tfrecord(3), "b.tfrecord": made.tfrecord(3), "c.png": "x"})
    plan = await planned(few, disk, SampleShare(None, 0.5))
    assert [say(note) for note in plan.notes] == ["1 file that holds no records was left out."]


async def test_pictures_without_their_labels_are_told(tmp_path: Path, disk: BlockingCalls) -> None:
    made.write(tmp_path, {
        "train-labels-idx1-ubyte": made.idx((4,), bytes(4)), "train-images-idx3-ubyte": made.idx((4, 1, 1), bytes(4)),
        "t10k-images-idx3-ubyte": made.idx((4, 1, 1), bytes(4)),
    })  # fmt: skip
    plan = await planned(tmp_path, disk)
    assert [one.name for one in plan.made] == ["train-labels-idx1-ubyte", "train-images-idx3-ubyte"]
    assert "such as t10k-images-idx3-ubyte" in say(plan.notes[0])


async def test_more_records_than_fit_into_memory_are_refused(
    tmp_path: Path, disk: BlockingCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_cutting, "_MOST_KEPT_BYTES", 100)
    made.write(tmp_path, {"a.tfrecord": made.tfrecord(40)})
    with pytest.raises(InvalidInput, match="take up more than"):
        await planned(tmp_path, disk, SampleShare(None, 0.5))
