"""What a small dataset is made of: which files are copied as they are, and which are written anew, cut to fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from traindeck.domain.datasets.choice import ClassShare, SampleChoice, SampleShare
from traindeck.domain.datasets.index_files import DatasetIndex, IndexColumns, IndexRow, RowNames, read_index
from traindeck.domain.datasets.layouts import (
    Layout,
    LayoutSketch,
    is_cifar_binary_name,
    is_mindrecord_name,
    is_mnist_name,
    is_tfrecord_name,
)
from traindeck.domain.datasets.voc import (
    MOST_ANNOTATION_BYTES,
    VocIndex,
    classes_in,
    is_annotation_name,
    is_list_name,
)
from traindeck.domain.errors import AppError, InvalidInput, NotFound
from traindeck.domain.previews import is_picture_name
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, count_text, text
from traindeck.domain.transfers.packing import sample_of
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.datasets.places import DatasetPlace
from traindeck.services.datasets.record_cutting import MadeFile, RecordCutting
from traindeck.services.previews.texts import delimiter_of, encoding_of
from traindeck.services.transfers.local_tree import LocalEntry

# That of COCO 2017 has 470 MB.
MOST_INDEX_BYTES = 512 << 20
_MOST_INDEXES = 50
_MOST_DEPTH = 3
_INDEX_ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
_HEAD = 64 * 1024
_BREATH = 10_000
_ALWAYS = re.compile(
    r"readme.*|licen[cs]e.*|classes\.txt|labels\.txt|label_?map\..*|.*\.names|data\.ya?ml|dataset_infos?\.json|"
    r"batches\.meta\.txt|(?:coarse|fine)_label_names\.txt",
    re.IGNORECASE,
)
"""What tells of the classes, or of the dataset as a whole, goes with every part of it."""

OnNames = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class MiniOptions:
    """`index`: use this one; `by_folder`: none, the folders are the classes; `counts_only`: nothing is to be made."""

    wanted: SampleShare
    index: str = ""
    by_folder: bool = False
    columns: IndexColumns = field(default_factory=IndexColumns)
    counts_only: bool = False


@dataclass(frozen=True, slots=True)
class MiniPlan:
    names: list[str]
    made: list[MadeFile]
    classes: dict[str, ClassShare]
    layouts: list[Layout]
    indexes: list[str]
    notes: list[Text]
    left: list[LocalEntry]
    """What could not be read, or is a link."""

    @property
    def totals(self) -> ClassShare:
        found = self.classes.values()
        files, size = len(self.names) + len(self.made), sum(len(one.content) for one in self.made)
        # What is written anew counts with what was kept of it, not with what it was.
        size += sum(one.size_bytes for one in found)
        return ClassShare(sum(one.samples for one in found), sum(one.kept for one in found), files, size)

    @property
    def all_names(self) -> list[str]:
        return [*self.names, *(one.name for one in self.made)]


class MiniPlanner:
    """Looks through the names once; a second time where an index says which of them are samples."""

    def __init__(self, place: DatasetPlace, disk: BlockingCalls, options: MiniOptions, seen: OnNames) -> None:
        self._place = place
        self._disk = disk
        self._options = options
        self._wanted = options.wanted
        self._tell = seen
        self._count = 0
        self._sketch = LayoutSketch()
        self._choice = SampleChoice(options.wanted)
        self._candidates: list[tuple[str, int]] = []
        self._records: dict[str, int] = {}
        self._always: dict[str, int] = {}
        self._voc_lists: list[str] = []
        self._annotations: list[str] = []
        self._mindrecords = 0
        self._notes: list[Text] = []

    async def plan(self) -> MiniPlan:
        left = await self._place.each(self._take)
        # What is in a folder that cannot be read might have been chosen: the same dataset cannot be made.
        if (gap := next((entry.problem for entry in left if entry.is_gap), None)) is not None:
            raise gap
        if not self._count:
            raise NotFound(text("The folder contains no files."), text("Specify the folder of a dataset."))
        layouts = self._sketch.layouts()
        made = partial(MiniPlan, layouts=layouts, notes=self._notes, left=left)
        if self._options.by_folder:
            return await self._by_folders(made)
        self._refuse_uncut(layouts)
        # A few files of records among pictures are samples like them.
        has_records = 2 * len(self._records) >= self._count - len(self._always)
        if self._options.index or not has_records:
            if not self._options.index and Layout.VOC in layouts:
                return await self._by_voc(made)
            if (indexes := await self._indexes()) and (plan := await self._by_indexes(made, indexes)) is not None:
                return plan
            return await self._by_folders(made)
        return await self._by_records(made)

    def _take(self, name: str, size_bytes: int, _etag: str) -> None:
        self._counted()
        self._sketch.see(name)
        self._choice.add(name, size_bytes)
        last = name.rpartition("/")[2]
        if is_record_name(name):
            self._records[name] = size_bytes
        elif is_mindrecord_name(name):
            self._mindrecords += 1
        elif is_list_name(name):
            self._voc_lists.append(name)
        elif is_annotation_name(name):
            self._annotations.append(name)
        if _ALWAYS.fullmatch(last) and len(self._always) < _MOST_INDEXES:
            self._always[name] = size_bytes
        elif is_index_candidate(name):
            self._candidates.append((name, size_bytes))

    def _counted(self) -> None:
        self._count += 1
        self._tell(self._count)

    def _refuse_uncut(self, layouts: Sequence[Layout]) -> None:
        if Layout.CIFAR_PYTHON in layouts and not self._records:
            raise InvalidInput(
                text("CIFAR's Python version holds its samples in pickles, which are not opened."),
                text("Use the binary version of the same dataset: its records can be counted and cut."),
            )
        if Layout.CIFAR_BINARY not in layouts:
            for name in [name for name in self._records if is_cifar_binary_name(name)]:
                del self._records[name]
        # Each has an index of its own beside it, `.db`.
        if self._mindrecords and self._mindrecords * 3 >= self._count:
            raise InvalidInput(
                count_text(
                    "MindRecord files cannot be cut ({count} file).",
                    "MindRecord files cannot be cut ({count} files).",
                    self._mindrecords,
                ),
                text("Make the small dataset from the files they were written from, and write it as MindRecord again."),
            )

    # By folders

    async def _by_folders(self, made: Callable[..., MiniPlan]) -> MiniPlan:
        choice = self._choice
        return await self._disk.run(lambda _: made(names=choice.names, made=[], classes=choice.classes, indexes=[]))

    # By files of records

    async def _by_records(self, made: Callable[..., MiniPlan]) -> MiniPlan:
        if (
            self._wanted.per_class is not None
            and not self._options.counts_only
            and any(map(is_tfrecord_name, self._records))
        ):
            raise InvalidInput(
                text("The classes of TFRecord files are stored inside the records and are not known."),
                text("Keep a share of the records instead."),
            )
        cutting = RecordCutting(self._place, self._disk, self._wanted, self._records)
        await cutting.run()
        self._notes += cutting.notes
        if others := self._count - len(self._records) - len(self._always):
            self._notes.append(
                count_text(
                    "{count} file that holds no records was left out.",
                    "{count} files that hold no records were left out.",
                    others,
                )
            )
        return made(names=sorted(self._always), made=cutting.written, classes=cutting.classes, indexes=[])

    # By the lists of Pascal VOC

    async def _by_voc(self, made: Callable[..., MiniPlan]) -> MiniPlan:
        index = VocIndex()
        for name in self._voc_lists:
            content = await self._place.read(name, MOST_INDEX_BYTES)
            index.lists[name] = content.decode("utf-8", "replace")
        if not index.has_class_lists:
            await self._read_annotations(index)
        rows = await self._disk.run(lambda _: index.rows)
        finder = await self._disk.run(lambda _: RowNames(rows))
        found = await self._files_of({"": finder}, _is_voc_main)

        def cut(_: CancelToken) -> MiniPlan:
            choice = SampleChoice(self._wanted)
            _offer(choice, "", rows, found[""], has_classes=True)
            kept = choice.names
            lists = index.cut(sample_of(name).rpartition("/")[2] for name in kept)
            return made(
                names=sorted({*kept, *self._always}),
                made=[MadeFile(name, content.encode()) for name, content in lists.items()],
                classes=choice.classes,
                indexes=sorted(self._voc_lists),
            )

        return await self._disk.run(cut)

    async def _read_annotations(self, index: VocIndex) -> None:
        unread = 0

        async def take(name: str, content: bytes | AppError) -> None:
            nonlocal unread
            self._counted()
            classes = classes_in(content) if isinstance(content, bytes) else None
            if classes is None:
                unread += 1
            else:
                index.annotated[sample_of(name).rpartition("/")[2]] = classes

        await self._place.read_some(self._annotations, MOST_ANNOTATION_BYTES, take)
        if unread:
            self._notes.append(
                count_text("{count} annotation could not be read.", "{count} annotations could not be read.", unread)
            )

    # By index files

    async def _indexes(self) -> dict[str, tuple[DatasetIndex, str]]:
        """By name: what was read, and the encoding it is written in."""
        asked = self._options.index
        names = [name for name, _ in self._candidates]
        if asked and asked not in names:
            raise NotFound(
                text("The index “{name}” is not in the folder.", name=asked),
                text("Specify its path below the folder of the dataset; it must be a CSV, JSON or JSON Lines file."),
            )
        found: dict[str, tuple[DatasetIndex, str]] = {}
        if len(names) > _MOST_INDEXES and not asked:
            return found  # so many are no indexes but what belongs to single samples
        for name, size_bytes in self._candidates:
            if asked and name != asked:
                continue
            if size_bytes > MOST_INDEX_BYTES and not asked:
                self._notes.append(
                    text("“{name}” has {size} and was not read as an index.", name=name, size=size_words(size_bytes))
                )
                continue
            content = await self._place.read(name, MOST_INDEX_BYTES)
            read = await self._disk.run(partial(self._read, name, content))
            if read is not None:
                found[name] = read
            elif asked:
                raise InvalidInput(
                    text("“{name}” was not understood as an index of files.", name=name),
                    text("It needs columns such as “filename” and “label”. Check it, or use the folders as classes."),
                )
        return found

    def _read(self, name: str, content: bytes, _: CancelToken) -> tuple[DatasetIndex, str] | None:
        encoding = encoding_of(content[:_HEAD], is_whole=len(content) <= _HEAD)
        if encoding is None:
            return None
        codec = "utf-8-sig" if encoding.mark and encoding.name == "utf-8" else encoding.name
        try:
            words = content.decode(codec)
        except UnicodeDecodeError:
            return None
        delimiter = delimiter_of(words[:_HEAD].splitlines(keepends=True))
        index = read_index(name, words, delimiter, self._options.columns)
        return None if index is None else (index, codec)

    async def _by_indexes(
        self, made: Callable[..., MiniPlan], indexes: Mapping[str, tuple[DatasetIndex, str]]
    ) -> MiniPlan | None:
        folders = {name: name[: name.rfind("/") + 1] for name in indexes}
        finders = await self._disk.run(
            lambda _: {name: RowNames(index.rows, folders[name]) for name, (index, _) in indexes.items()}
        )
        found = await self._files_of(finders, lambda _name, is_named: is_named, but=set(indexes))
        used = [name for name in sorted(indexes) if self._is_meant(name, indexes[name][0], found[name])]
        if not used:
            return None
        return await self._disk.run(lambda _: self._cut_indexes(made, indexes, used, found))

    def _cut_indexes(
        self,
        made: Callable[..., MiniPlan],
        indexes: Mapping[str, tuple[DatasetIndex, str]],
        used: Sequence[str],
        found: Mapping[str, _Files],
    ) -> MiniPlan:
        names: set[str] = set(self._always)
        written: list[MadeFile] = []
        classes: dict[str, ClassShare] = {}
        for name in used:
            index, codec = indexes[name]
            choice, there = SampleChoice(self._wanted), found[name]
            label = f"{name}: " if len(used) > 1 else ""
            _offer(choice, label, index.rows, there, has_classes=index.has_classes)
            kept = set(choice.names)
            rows = {row for row, files in there.items() if any(is_main and one in kept for one, _, is_main in files)}
            written.append(MadeFile(name, index.cut(rows).encode(codec)))
            names |= kept
            classes |= choice.classes
            self._note_missing(name, index, there)
        others = self._count_of_others(used, found)
        if others:
            self._notes.append(
                count_text(
                    "{count} file is not named in the index.",
                    "{count} files are not named in the index.",
                    others,
                )
            )
        kept_names = sorted(names - {one.name for one in written})
        return made(names=kept_names, made=written, classes=classes, indexes=used)

    def _count_of_others(self, used: Sequence[str], found: Mapping[str, _Files]) -> int:
        named = {one for name in used for files in found[name].values() for one, _, _ in files}
        return max(0, self._sketch.files - len(named | set(used) | set(self._always)))

    def _is_meant(self, name: str, index: DatasetIndex, found: _Files) -> bool:
        there = sum(any(is_main for _, _, is_main in files) for files in found.values())
        if self._options.index and not there:
            raise InvalidInput(
                text("None of the files that “{name}” names is in the folder.", name=name),
                text("Specify the folder that the index belongs to, or use the folders as classes."),
            )
        return bool(self._options.index) or (there > 0 and there * 2 >= len(index.rows))

    def _note_missing(self, name: str, index: DatasetIndex, found: _Files) -> None:
        there = {row for row, files in found.items() if any(is_main for _, _, is_main in files)}
        if missing := len(index.rows) - len(there):
            example = next(row.name for number, row in enumerate(index.rows) if number not in there)
            self._notes.append(
                count_text(
                    "“{index}” names {count} file that does not exist, such as “{name}”.",
                    "“{index}” names {count} files that do not exist, such as “{name}”.",
                    missing,
                    index=name,
                    name=example,
                )
            )

    async def _files_of(
        self, finders: Mapping[str, RowNames], is_main: Callable[[str, bool], bool], but: set[str] | None = None
    ) -> dict[str, _Files]:
        """The files of each row of each index: the names are listed once more."""
        found: dict[str, _Files] = {name: {} for name in finders}
        self._count = 0

        def take(name: str, size_bytes: int, _etag: str) -> None:
            self._counted()
            if but and name in but:
                return
            for index, finder in finders.items():
                rows, is_named = finder.rows_of(name)
                for row in rows:
                    found[index].setdefault(row, []).append((name, size_bytes, is_main(name, is_named)))

        await self._place.each(take)
        return found


_Files = dict[int, list[tuple[str, int, bool]]]
"""Of rows by their numbers: name, size, and whether it is the very file that the row names."""


def _offer(choice: SampleChoice, label: str, rows: Sequence[IndexRow], found: _Files, *, has_classes: bool) -> None:
    for number, files in found.items():
        main = next((name for name, _, is_main in files if is_main), None)
        if main is None:
            continue
        classes = rows[number].classes if has_classes else (main.rpartition("/")[0],)
        for one in classes:
            # By the name in the dataset: two indexes that name the same file keep the same.
            choice.offer(label + one, sample_of(main), [(name, size) for name, size, _ in files])


def is_index_candidate(name: str) -> bool:
    """Whether it may be an index, by its name and place."""
    return name.lower().endswith(_INDEX_ENDINGS) and name.count("/") < _MOST_DEPTH


def is_record_name(name: str) -> bool:
    return is_tfrecord_name(name) or is_cifar_binary_name(name) or is_mnist_name(name)


def _is_voc_main(name: str, _is_named: bool) -> bool:
    return is_picture_name(name)
