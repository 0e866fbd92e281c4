"""What a look at a dataset finds, and what it says it does not know."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QImage

from support import dataset_files as made
from traindeck.domain.datasets.layouts import Layout
from traindeck.domain.datasets.report import DatasetReport, Extent
from traindeck.domain.datasets.report_words import ReportLine, facts_of, findings_of
from traindeck.domain.texts import say
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.own_program import CHECKS_PICTURES, own_program
from traindeck.services.datasets import looking
from traindeck.services.datasets.looking import DatasetLook, Stage
from traindeck.services.datasets.picture_checks import NoChecks, PictureChecks
from traindeck.services.datasets.places import LocalPlace

COMMAND = [*own_program(), CHECKS_PICTURES]


async def report(
    root: Path, disk: BlockingCalls, *, contents: bool = True, at: Callable[..., object] = lambda *_: None
) -> DatasetReport:
    look = DatasetLook(LocalPlace(root, disk), disk, PictureChecks(COMMAND, disk), at, contents=contents)
    return await look.report("data")


def drawn(form: str) -> bytes:
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    for number in range(1200):
        image.setPixel(number % 40, number // 40, 0xFF000000 | number * 1237 % 0xFFFFFF)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    assert image.save(buffer, form)  # type: ignore[call-overload]
    return bytes(buffer.data().data())


async def test_broken_pictures_are_told_from_whole_ones(tmp_path: Path, disk: BlockingCalls) -> None:
    whole = {form: drawn(form) for form in ("JPEG", "PNG", "BMP", "WEBP")} | {"GIF": GIF}
    bomb = whole["PNG"][:16] + b"\xff\xff\xff\x00" * 2 + whole["PNG"][24:]
    async with PictureChecks(COMMAND, disk) as checks:
        for form, content in whole.items():
            assert await checks.trouble(content) is None, form
            for cut in (len(content) // 2, len(content) - 4):
                assert await checks.trouble(content[:cut]) is not None, (form, cut)
        assert "whatever its name says" in say(await checks.trouble(b"<html>") or "")
        with pytest.raises(NoChecks):
            await checks.trouble(bomb)
        assert await checks.trouble(whole["PNG"]) is None


GIF = bytes.fromhex(
    "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)  # fmt: skip


@pytest.mark.parametrize(
    ("does", "words", "patience_s"),
    [
        ("time.sleep(1000)", "took too long", 0.1),
        ("import os; os._exit(1)", "crashed", 60),
        ("print('[]')", "crashed", 60),
    ],
)
async def test_a_decoder_that_dies_or_hangs_ends_nothing_else(
    disk: BlockingCalls, does: str, words: str, patience_s: float
) -> None:
    # Python takes longer to start than this decoder may take over a picture.
    script = 'import sys, time; time.sleep(0.2); print(\'{"formats": ["png"]}\', flush=True); '
    script += f"sys.stdin.buffer.readline(); {does}"
    async with PictureChecks([sys.executable, "-c", script], disk, patience_s) as checks:
        for _ in range(2):
            assert words in say(await checks.trouble(made.png(1)) or "")


async def test_without_a_decoder_nothing_is_claimed(tmp_path: Path, disk: BlockingCalls) -> None:
    root = made.folder_per_class(tmp_path)
    for command in (["/nonexistent"], [sys.executable, "-c", ""]):
        look = DatasetLook(LocalPlace(root, disk), disk, PictureChecks(command, disk), lambda *_: None, contents=True)
        found = await look.report("data")
        assert found.contents is not None and found.contents.pictures == Extent(0, 20)
        words = [one.words for one in findings_of(found) if one.level is ReportLine.UNKNOWN]
        assert words == ["Broken pictures: unknown. Pictures cannot be decoded on this computer."]


async def test_everything_that_is_wrong_is_found(tmp_path: Path, disk: BlockingCalls) -> None:
    root = made.folder_per_class(tmp_path / "data")
    whole = (root / "cat/00.png").read_bytes()
    made.write(root, {
        "cat/half.png": whole[: len(whole) // 2], "cat/empty.png": b"", "dog/copy.png": whole, "dog/COPY.PNG": b"xy",
        "Cat/1.txt": "中文".encode("gb18030") * 9, "dog/utf8.txt": "中文", "dog/none.txt": b"\0\1\2\3" * 9,
    })  # fmt: skip
    (root / "link.png").symlink_to(root / "cat/00.png")
    stages: list[Stage] = []
    found = await report(root, disk, at=lambda stage, *_: stages.append(stage))
    assert found.layouts == (Layout.IMAGE_FOLDER,) and set(stages) == {Stage.NAMES, Stage.CONTENTS}
    assert found.empty.first == ["cat/empty.png"] and found.left_count == 1
    assert found.clashes.first == (("Cat/", "cat/"), ("dog/COPY.PNG", "dog/copy.png"))
    assert found.duplicates is not None and found.duplicates.first == (("cat/00.png", "dog/copy.png"),)
    assert found.duplicates.extent.is_whole
    contents = found.contents
    assert contents is not None and contents.pictures == Extent(23, 23)
    assert [one.name for one in contents.broken] == ["cat/half.png", "dog/COPY.PNG"]
    assert dict(contents.encodings) == {"UTF-8": 1, "GB18030": 1}
    assert [one.name for one in contents.other_encodings] == ["Cat/1.txt", "dog/none.txt"]
    assert found.classes["cat"].samples == 12
    levels = [one.level for one in findings_of(found)]
    assert levels.count(ReportLine.BAD) == 6 and ReportLine.UNKNOWN not in levels
    assert dict(facts_of(found))["Layout"] == "ImageFolder (a folder per class)"


async def test_names_alone_leave_the_rest_unknown(tmp_path: Path, disk: BlockingCalls) -> None:
    found = await report(made.folder_per_class(tmp_path), disk, contents=False)
    assert found.contents is None and found.duplicates is None
    unknown = [one.words for one in findings_of(found) if one.level is ReportLine.UNKNOWN]
    assert len(unknown) == 2 and all("unknown" in words for words in unknown)


async def test_of_more_than_is_looked_into_only_so_much_is_claimed(
    tmp_path: Path, disk: BlockingCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traindeck.domain.datasets.report.MOST_LOOKED_INTO", 5)
    found = await report(made.folder_per_class(tmp_path), disk)
    assert found.contents is not None and found.contents.pictures == Extent(5, 20)
    words = " ".join(one.words for one in findings_of(found) if one.level is ReportLine.UNKNOWN)
    assert "No broken pictures were found. Looked at: 5 of 20." in words and "No duplicates were found." in words


async def test_it_can_be_stopped_with_what_is_known(tmp_path: Path, disk: BlockingCalls) -> None:
    root = made.folder_per_class(tmp_path, each=40)
    looks: list[DatasetLook] = []

    def at(stage: Stage, done: int, _total: int) -> None:
        if stage is Stage.CONTENTS and done == 3:
            looks[0].stop()

    look = DatasetLook(LocalPlace(root, disk), disk, PictureChecks(COMMAND, disk), at, contents=True)
    looks.append(look)
    found = await look.report("data")
    assert found.is_stopped and found.total.files == 80
    assert found.contents is not None and 3 <= found.contents.pictures.looked_at < 80


async def test_classes_of_indexes_and_records_are_counted(tmp_path: Path, disk: BlockingCalls) -> None:
    found = await report(made.with_csv(tmp_path / "csv"), disk)
    assert {name: one.samples for name, one in found.classes.items()} == {"even": 10, "odd": 10}
    assert found.indexes == ("labels.csv",) and "gone.png" in " ".join(say(note) for note in found.notes)
    root = made.write(tmp_path / "records", {
        "a.tfrecord": made.tfrecord(7), "cut.tfrecord": made.tfrecord(7)[:-1], "x.mindrecord": b"x",
    })  # fmt: skip
    with closing(sqlite3.connect(root / "x.mindrecord.db")) as database:
        database.execute("CREATE TABLE INDEXES (ROW_ID INT)")
        database.executemany("INSERT INTO INDEXES VALUES (?)", [(number,) for number in range(11)])
        database.commit()
    found = await report(root, disk)
    assert found.contents is not None
    assert dict(found.contents.records) == {"a.tfrecord": 7, "cut.tfrecord": None, "x.mindrecord": 11}
    assert dict(facts_of(found))["Records"] == "18 in 2 files; unknown in 1 file"


async def test_many_small_files_are_advised_about(
    tmp_path: Path, disk: BlockingCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traindeck.domain.transfers.packing.ADVICE_FILES", 10)
    found = await report(made.folder_per_class(tmp_path), disk, contents=False)
    assert found.shards == 1 and any(one.level is ReportLine.ADVICE for one in findings_of(found))


async def test_contents_end_at_their_bound(
    tmp_path: Path, disk: BlockingCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "_MOST_READ", 200)
    found = await report(made.folder_per_class(tmp_path), disk)
    assert found.contents is not None and 0 < found.contents.pictures.looked_at < 20
