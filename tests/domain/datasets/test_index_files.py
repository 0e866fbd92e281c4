"""Indexes of datasets: what they say, and cutting them so that all else stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.datasets.index_files import IndexColumns, IndexRow, RowNames, read_index
from traindeck.domain.datasets.voc import VocIndex, class_of_list, classes_in, is_annotation_name, is_list_name


def rows(name: str, content: str, delimiter: str = ",", columns: IndexColumns | None = None) -> list[tuple[str, ...]]:
    found = read_index(name, content, delimiter, columns)
    return [(row.name, *row.classes) for row in found.rows] if found else []


@pytest.mark.parametrize(
    ("content", "delimiter", "expected"),
    [
        ("filename,label\na.jpg,cat\nb.jpg,dog\n", ",", [("a.jpg", "cat"), ("b.jpg", "dog")]),
        ("image_id,breed\n0001,beagle\n0002,pug\n", ",", [("0001", "beagle"), ("0002", "pug")]),
        ("a.jpg,cat\nb.jpg,dog\n", ",", [("a.jpg", "cat"), ("b.jpg", "dog")]),
        ("idx;path;score;class\r\n1;x/a.png;0.5;k\r\n", ";", [("x/a.png", "k")]),
        ('file,text,label\n"a,1.jpg","two\nlines",c\n', ",", [("a,1.jpg", "c")]),
        ("id,file_name\n1,a.jpg\n2,b.jpg\n", ",", [("a.jpg", "1"), ("b.jpg", "2")]),
        ("x,y\n1,2\n3,4\n", ",", []),
        ("label\ncat\n", ",", []),
        ("", ",", []),
        ("filename,label\n", ",", []),
        ("filename,label\na.jpg\n,\n\nb.jpg,dog,more\n", ",", [("a.jpg", ""), ("b.jpg", "dog")]),
    ],
)
def test_csv(content: str, delimiter: str, expected: list[tuple[str, ...]]) -> None:
    assert rows("labels.csv", content, delimiter) == expected


def test_the_columns_can_be_said() -> None:
    content = "a,b,c\nx.jpg,1,y.jpg\n"
    assert rows("i.csv", content, columns=IndexColumns("c", "b")) == [("y.jpg", "1")]
    assert rows("i.csv", content, columns=IndexColumns("nothing", "")) == []


def test_json_in_all_its_ways() -> None:
    listed = [{"file": "a.jpg", "label": "cat"}, {"file": "b.jpg", "label": ["dog", "car"]}]
    expected = [("a.jpg", "cat"), ("b.jpg", "dog", "car")]
    assert rows("i.json", json.dumps(listed)) == expected
    assert rows("i.json", json.dumps({"version": 1, "data": listed})) == expected
    assert rows("i.jsonl", "\n".join(map(json.dumps, listed))) == expected
    assert rows("i.json", json.dumps({"a.jpg": "cat", "b.jpg": 3})) == [("a.jpg", "cat"), ("b.jpg", "3")]
    for other in ("{", "3", "[]", "[1]", '{"lr": 0.1}', '["a.jpg"]', "[" * 100_000, '{"images": [], "annotations": 3}'):
        assert rows("i.json", other) == [] == rows("i.jsonl", other)


COCO: dict[str, Any] = {
    "info": {"year": 2017},
    "images": [{"id": 1, "file_name": "1.jpg"}, {"id": 2, "file_name": "2.jpg"}, {"id": 3, "file_name": "3.jpg"}],
    "annotations": [
        {"id": 10, "image_id": 1, "category_id": 7, "bbox": [0, 0, 1, 1]},
        {"id": 11, "image_id": 1, "category_id": 8},
        {"id": 12, "image_id": 2, "category_id": 8},
    ],
    "categories": [{"id": 7, "name": "cat"}, {"id": 8, "name": "狗"}],
}


def test_coco_is_cut_with_its_annotations() -> None:
    index = read_index("instances.json", json.dumps(COCO))
    assert index is not None
    assert [(row.name, row.classes) for row in index.rows] == [
        ("1.jpg", ("cat", "狗")), ("2.jpg", ("狗",)), ("3.jpg", ("",)),
    ]  # fmt: skip
    cut = json.loads(index.cut({1}))
    assert cut == COCO | {"images": COCO["images"][1:2], "annotations": COCO["annotations"][2:]}


@pytest.mark.parametrize(
    "broken",
    [
        {"images": [{"id": 1}]},
        {"images": [3]},
        {"images": [{"id": [], "file_name": "a.jpg"}], "annotations": [{"image_id": {}}, 3], "categories": [1]},
        {"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [{"image_id": 1, "category_id": []}]},
    ],
)
def test_a_coco_that_is_none_stops_nobody(broken: dict[str, object]) -> None:
    index = read_index("i.json", json.dumps({"annotations": [], **broken}))
    if index is not None:
        json.loads(index.cut({0}))


@given(
    st.lists(st.tuples(st.text(max_size=6), st.text(max_size=6)), min_size=1, max_size=20),
    st.sets(st.integers(0, 19)),
    st.sampled_from(["\n", "\r\n"]),
)
def test_the_lines_of_a_cut_csv_are_those_of_the_whole(pairs: list[tuple[str, str]], kept: set[int], end: str) -> None:
    def quoted(words: str) -> str:
        return '"' + words.replace('"', '""') + '"'

    lines = [f"{quoted(f'{number}{words}.jpg')},{quoted(label)}{end}" for number, (words, label) in enumerate(pairs)]
    head = f"filename,label{end}"
    index = read_index("i.csv", head + "".join(lines))
    assert index is not None and len(index.rows) == len(lines)
    assert index.cut(kept) == head + "".join(line for number, line in enumerate(lines) if number in kept)
    assert index.cut(set(range(len(lines)))) == head + "".join(lines)


@pytest.mark.parametrize(
    ("row", "name", "is_named"),
    [
        ("a.jpg", "a.jpg", True),
        ("a.jpg", "images/train/a.jpg", True),
        ("train/a.jpg", "train/a.jpg", True),
        ("train/a.jpg", "eval/a.jpg", None),
        ("./x\\a.jpg", "x/a.jpg", True),
        (r"C:\data\x\a.jpg", "x/a.jpg", True),
        ("/home/me/data/x/a.jpg", "all/x/a.jpg", True),
        ("obs://bucket/data/x/a.jpg", "x/a.jpg", True),
        ("0001", "images/0001.png", True),
        ("images/7.jpg", "labels/7.txt", False),
        ("cat/1.jpg", "bird/1.jpg", None),
        ("", "a.jpg", None),
        ("..", "..", None),
        ("../../a.jpg", "a.jpg", True),
    ],
)
def test_which_files_a_row_means(row: str, name: str, is_named: bool | None) -> None:
    """None: not this one; False: it only goes with the file that is meant."""
    found, named = RowNames([IndexRow(row)]).rows_of(name)
    assert (named if found else None) == is_named


def test_names_from_the_folder_of_the_index_on() -> None:
    assert RowNames([IndexRow("x/a.jpg")], "meta/").rows_of("meta/x/a.jpg") == ([0], True)


def test_voc_classes_come_from_the_lists_or_the_annotations() -> None:
    index = VocIndex({"ImageSets/Main/cat_train.txt": "1  1\n2 -1\n", "ImageSets/Main/train.txt": "1\n2\n3\n"})
    assert [(row.name, row.classes) for row in index.rows] == [("1", ("cat",)), ("2", ("",)), ("3", ("",))]
    assert index.cut(["2"]) == {"ImageSets/Main/cat_train.txt": "2 -1\n", "ImageSets/Main/train.txt": "2\n"}
    assert class_of_list("V/ImageSets/Main/tvmonitor_trainval.txt") == "tvmonitor"
    assert class_of_list("ImageSets/Main/trainval.txt") == ""
    assert is_list_name("VOC/ImageSets/Main/a.txt") and not is_list_name("ImageSets/a.txt")
    assert is_annotation_name("VOC/Annotations/1.xml")
    whole = b"<a><object><name>cat</name><part><name>head</name></part></object><object><name>dog</name></object></a>"
    assert classes_in(whole) == ("cat", "dog")
    for broken in (b"", b"<a>", b"\xff\xfe", b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'):
        assert classes_in(broken) is None
