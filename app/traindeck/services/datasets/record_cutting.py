"""Files with many samples in one, read, cut to those that are kept, and packed as they were."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection
from dataclasses import dataclass

from traindeck.domain.datasets.choice import ClassShare, SampleShare
from traindeck.domain.datasets.layouts import is_mnist_name, is_tfrecord_name
from traindeck.domain.datasets.record_files import (
    CutRecords,
    cut_cifar,
    cut_mnist,
    cut_tfrecord,
    images_name_of,
)
from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.datasets.places import DatasetPlace

MOST_RECORD_BYTES = 512 << 20
_MOST_KEPT_BYTES = 2 << 30
"""In memory until they are written."""


@dataclass(frozen=True, slots=True)
class MadeFile:
    """Written anew: an index without what was left out, or a file of records with fewer of them."""

    name: str
    content: bytes


class RecordCutting:
    """Of one dataset; `run` it once."""

    def __init__(self, place: DatasetPlace, disk: BlockingCalls, wanted: SampleShare, names: Collection[str]) -> None:
        self._place = place
        self._disk = disk
        self._wanted = wanted
        self._names = set(names)
        self.written: list[MadeFile] = []
        self.classes: dict[str, ClassShare] = {}
        self.notes: list[Text] = []

    async def run(self) -> None:
        uncut: list[str] = []
        with_labels = {images_name_of(name) for name in self._names if is_mnist_name(name) and "labels" in name}
        for name in sorted(self._names):
            if name in with_labels:
                continue  # comes with its labels
            cut = await self._cut(name)
            if cut is None:
                uncut.append(name)
            else:
                self._count(name, *cut)
        if uncut and not self.written:
            raise _other_content(uncut[0])
        if uncut:
            self.notes.append(
                count_text(
                    "{count} file with records could not be read and was left out, such as {name}.",
                    "{count} files with records could not be read and were left out, such as {name}.",
                    len(uncut),
                    name=uncut[0],
                )
            )

    def _count(self, name: str, counted: CutRecords, files: list[MadeFile]) -> None:
        self.written += files
        if sum(len(one.content) for one in self.written) > _MOST_KEPT_BYTES:
            raise InvalidInput(
                text("The records to keep take up more than {most}.", most=size_words(_MOST_KEPT_BYTES)),
                text("Keep fewer of them."),
            )
        for label, count in counted.there.items():
            share = self.classes.setdefault(f"{name}: {label}" if label else name, ClassShare())
            share.samples += count
            share.kept += counted.kept[label]

    async def _cut(self, name: str) -> tuple[CutRecords, list[MadeFile]] | None:
        content = await self._unpacked(name)
        if is_mnist_name(name):
            images_name = images_name_of(name)
            if images_name == name or images_name not in self._names:
                return None
            images = await self._unpacked(images_name)
            cut = await self._disk.run(lambda _: cut_mnist(name, content, images, self._wanted))
            if cut is None:
                return None
            pairs = ((name, cut[0].content), (images_name, cut[1]))
            return cut[0], [MadeFile(one, _packed(one, found)) for one, found in pairs]
        work = cut_tfrecord if is_tfrecord_name(name) else cut_cifar
        records = await self._disk.run(lambda _: work(name, content, self._wanted))
        return None if records is None else (records, [MadeFile(name, _packed(name, records.content))])

    async def _unpacked(self, name: str) -> bytes:
        content = await self._place.read(name, MOST_RECORD_BYTES)
        return await self._disk.run(lambda _: _unzipped(name, content)) if name.endswith(".gz") else content


def _other_content(name: str, detail: str = "") -> InvalidInput:
    return InvalidInput(
        text("“{name}” is not what its name says, or is cut off.", name=name),
        text("Check the file, and download it again if necessary."),
        detail,
    )


def _unzipped(name: str, content: bytes) -> bytes:
    packed = zlib.decompressobj(wbits=31)
    try:
        found = packed.decompress(content, MOST_RECORD_BYTES)
    except zlib.error as error:
        raise _other_content(name, str(error)) from error
    return b"" if packed.unconsumed_tail else found  # no file of records has nothing in it


def _packed(name: str, content: bytes) -> bytes:
    # The same small dataset each time: no clock in it.
    return gzip.compress(content, mtime=0) if name.endswith(".gz") else content
