"""Layouts of datasets that are known by the names of their files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from traindeck.domain.previews import is_picture_name
from traindeck.domain.texts import Text, text


class Layout(Enum):
    """The values are for programs."""

    CIFAR_PYTHON = "cifar-python"
    CIFAR_BINARY = "cifar-binary"
    MNIST = "mnist-idx"
    VOC = "voc"
    COCO = "coco"
    IMAGE_FOLDER = "imagefolder"
    MINDSPORE = "mindspore-train-eval"
    MINDRECORD = "mindrecord"
    TFRECORD = "tfrecord"
    SHARDS = "tar-shards"

    @property
    def title(self) -> Text:
        return _TITLES[self]


_TITLES = {
    Layout.CIFAR_PYTHON: text("CIFAR (Python pickles)"),
    Layout.CIFAR_BINARY: text("CIFAR (binary)"),
    Layout.MNIST: text("MNIST (IDX files)"),
    Layout.VOC: text("Pascal VOC"),
    Layout.COCO: text("COCO"),
    Layout.IMAGE_FOLDER: text("ImageFolder (a folder per class)"),
    Layout.MINDSPORE: text("MindSpore tutorials (train/ and eval/)"),
    Layout.MINDRECORD: text("MindRecord"),
    Layout.TFRECORD: text("TFRecord"),
    Layout.SHARDS: text("tar shards with an index"),
}

_SPLIT = re.compile(r"(?:train(?:ing)?|eval|val(?:id|idation)?|dev|test(?:ing)?)(?:_?\d{4})?", re.IGNORECASE)
"""What folders are called for what they are used for; COCO and VOC add a year."""

_CIFAR_PYTHON = re.compile(
    r"(?:.*/)?(?:data_batch_\d+|test_batch|batches\.meta)|(?:.*/)?cifar-100-python/(?:train|test|meta)"
)
_CIFAR_BINARY = re.compile(r"(?:.*/)?(?:data_batch_\d+|test_batch|train|test)\.bin")
_CIFAR_SURE = re.compile(r"(?:.*/)?(?:data_batch_\d+|test_batch)\.bin|(?:.*/)?(?:fine_label_names\.txt)")
_MNIST = re.compile(r"(?:.*/)?[\w-]*(?:images|labels)[-.]idx[13]-ubyte(?:\.gz)?")
_TFRECORD = re.compile(r".*\.tfrecords?(?:-\d+-of-\d+)?(?:\.gz)?", re.IGNORECASE)
_MINDRECORD = re.compile(r".*\.mindrecord\d*", re.IGNORECASE)
_COCO = re.compile(r"(?:.*/)?annotations/[\w-]+\.json", re.IGNORECASE)
_SHARD = re.compile(r"(?:.*/)?[\w-]*\d{4}\.tar")


def is_tfrecord_name(name: str) -> bool:
    return _TFRECORD.fullmatch(name) is not None


def is_mindrecord_name(name: str) -> bool:
    return _MINDRECORD.fullmatch(name) is not None


def is_cifar_binary_name(name: str) -> bool:
    return _CIFAR_BINARY.fullmatch(name) is not None


def is_mnist_name(name: str) -> bool:
    return _MNIST.fullmatch(name) is not None


@dataclass(slots=True)
class LayoutSketch:
    """Is shown every name, and says what they look like; a million names cost no more than a few."""

    files: int = 0
    pictures: int = 0
    in_classes: int = 0
    splits: Counter[str] = field(default_factory=Counter)
    _seen: Counter[Layout] = field(default_factory=Counter)
    _class_folders: set[str] = field(default_factory=set)
    _top: set[str] = field(default_factory=set)
    _voc: set[str] = field(default_factory=set)
    _has_index: bool = False
    _has_sure_cifar: bool = False

    def see(self, name: str) -> None:
        self.files += 1
        folder, _, last = name.rpartition("/")
        parts = folder.split("/") if folder else []
        if split := next(filter(_SPLIT.fullmatch, parts), ""):
            self.splits[split] += 1
        if parts:
            self._top.add(parts[0].lower())
        if is_picture_name(last):
            self._see_picture(folder, parts)
        elif layout := self._by_name(name, last):
            self._seen[layout] += 1
        for part in parts:
            if part in _VOC_FOLDERS:
                self._voc.add(part)

    def _see_picture(self, folder: str, parts: list[str]) -> None:
        self.pictures += 1
        if not parts or parts[-1].lower() in _NO_CLASSES or _SPLIT.fullmatch(parts[-1]):
            return
        self.in_classes += 1
        if len(self._class_folders) < _MOST_CLASS_FOLDERS:
            self._class_folders.add(folder)

    def _by_name(self, name: str, last: str) -> Layout | None:
        if last == "index.jsonl":
            self._has_index = True
            return None
        self._has_sure_cifar |= _CIFAR_SURE.fullmatch(name) is not None
        return next((layout for pattern, layout in _BY_NAME if pattern.fullmatch(name)), None)

    def layouts(self) -> list[Layout]:
        """The surest first."""
        found = [layout for layout in _ORDER if self._seen[layout]]
        if Layout.CIFAR_BINARY in found and not self._has_sure_cifar:
            found.remove(Layout.CIFAR_BINARY)
        if Layout.SHARDS in found and not self._has_index:
            found.remove(Layout.SHARDS)
        if {"Annotations", "JPEGImages"} <= self._voc:
            found.append(Layout.VOC)
        elif (
            Layout.COCO not in found
            and self.pictures
            and self.in_classes * 10 >= self.pictures * 9
            and len(self._class_folders) > 1
        ):
            found.append(Layout.IMAGE_FOLDER)
        if {"train", "eval"} <= self._top:
            found.append(Layout.MINDSPORE)
        return found


_BY_NAME = (
    (_CIFAR_PYTHON, Layout.CIFAR_PYTHON),
    (_CIFAR_BINARY, Layout.CIFAR_BINARY),
    (_MNIST, Layout.MNIST),
    (_TFRECORD, Layout.TFRECORD),
    (_MINDRECORD, Layout.MINDRECORD),
    (_COCO, Layout.COCO),
    (_SHARD, Layout.SHARDS),
)
_ORDER = [layout for _, layout in _BY_NAME]
_VOC_FOLDERS = {"Annotations", "JPEGImages", "ImageSets"}
_NO_CLASSES = {"images", "image", "imgs", "jpegimages", "pictures", "segmentationclass", "segmentationobject", "masks"}
_MOST_CLASS_FOLDERS = 2


def layout_words(layouts: Iterable[Layout]) -> list[str]:
    """For programs."""
    return [layout.value for layout in layouts]
