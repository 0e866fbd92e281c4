"""Layouts that are known by their names."""

from __future__ import annotations

import pytest

from traindeck.domain.datasets.layouts import Layout, LayoutSketch

PICTURES = [f"{kind}/{number}.jpg" for kind in ("cat", "dog") for number in range(5)]
LAYOUTS: list[tuple[list[str], list[Layout]]] = [
    (
        ["cifar-10-batches-py/data_batch_1", "cifar-10-batches-py/test_batch", "cifar-10-batches-py/batches.meta"],
        [Layout.CIFAR_PYTHON],
    ),
    (["cifar-100-python/train", "cifar-100-python/meta"], [Layout.CIFAR_PYTHON]),
    (["data_batch_1.bin", "test_batch.bin", "batches.meta.txt"], [Layout.CIFAR_BINARY]),
    (
        ["train/data_batch_1.bin", "train/data_batch_2.bin", "eval/test_batch.bin"],
        [Layout.CIFAR_BINARY, Layout.MINDSPORE],
    ),
    (["cifar-100-binary/train.bin", "cifar-100-binary/fine_label_names.txt"], [Layout.CIFAR_BINARY]),
    (["train.bin", "model.bin"], []),  # any program has such files
    (["MNIST/raw/train-images-idx3-ubyte", "MNIST/raw/t10k-labels-idx1-ubyte.gz"], [Layout.MNIST]),
    (["train-images.idx3-ubyte", "train-labels.idx1-ubyte"], [Layout.MNIST]),
    (PICTURES, [Layout.IMAGE_FOLDER]),
    (
        [f"train/{one}" for one in PICTURES] + [f"eval/{one}" for one in PICTURES],
        [Layout.IMAGE_FOLDER, Layout.MINDSPORE],
    ),
    ([f"{number}.jpg" for number in range(9)], []),
    (["train/1.jpg", "val/2.jpg"], []),
    (["VOC2007/Annotations/1.xml", "VOC2007/JPEGImages/1.jpg", "VOC2007/ImageSets/Main/train.txt"], [Layout.VOC]),
    (["annotations/instances_val2017.json", "val2017/000000000139.jpg"], [Layout.COCO]),
    (["imagenet.mindrecord0", "imagenet.mindrecord0.db"], [Layout.MINDRECORD]),
    (["train.tfrecord", "eval.tfrecord-00000-of-00010"], [Layout.TFRECORD]),
    (["shard-000000.tar", "index.jsonl"], [Layout.SHARDS]),
    (["photos-2024.tar"], []),
    (["a/../b", "\x1b[2J/x.jpg", "x" * 1000, "/", ""], []),
]


@pytest.mark.parametrize(("names", "layouts"), LAYOUTS)
def test_layouts_are_named_when_seen(names: list[str], layouts: list[Layout]) -> None:
    sketch = LayoutSketch()
    for name in names:
        sketch.see(name)
    assert sketch.layouts() == layouts


def test_splits_are_counted() -> None:
    sketch = LayoutSketch()
    for name in ("train/a/1.jpg", "train/a/2.jpg", "data/Eval/b.jpg", "c.jpg"):
        sketch.see(name)
    assert dict(sketch.splits) == {"train": 2, "Eval": 1}
