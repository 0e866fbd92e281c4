"""Which file goes into which archive, and what its bytes are: as the standard library writes them."""

from __future__ import annotations

import io
import random
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traindeck.domain.transfers.packing import (
    Cutter,
    Member,
    MemberSpan,
    ShardLayout,
    advises_packing,
    archive_bytes,
    header,
    header_bytes,
    is_safe_path,
    likely_shards,
    read,
    sample_of,
    shard_name,
    shard_number,
    written,
)

KIB = 1024

ODD = [
    ("a/b.txt", 5, 1_700_000_000),
    ("数据/" + "x" * 300, 0, 5),
    ("y" * 100, 1, 0),
    ("y" * 101, 1, 0),
    ("new\nline é=5", 8**11, -5),
    ("d/", 0, 1),
    ("z", 8**12, 8**11),
    ("图" * 85, 77, 3),
]


@pytest.mark.parametrize(("path", "size", "modified"), ODD)
def test_headers_are_those_of_the_standard_library(path: str, size: int, modified: int) -> None:
    info = tarfile.TarInfo(path.rstrip("/"))
    info.size, info.mtime = size, modified
    if path.endswith("/"):
        info.type, info.mode = tarfile.DIRTYPE, 0o755
    assert header(path, size, modified) == info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")
    assert header_bytes(path, size, modified) == len(header(path, size, modified))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=200))
def test_any_name_that_is_text_comes_back(path: str) -> None:
    if not is_safe_path(path) or path.endswith("/"):
        return
    block = header(path, 0, 7) + bytes(1024)
    with tarfile.open(fileobj=io.BytesIO(block)) as archive:
        assert archive.getnames() == [path]
    assert header_bytes(path, 0, 7) == len(header(path, 0, 7))


def member(path: str, size: int = 10) -> Member:
    return Member(path, size, 1_700_000_000_123_456_789)


def cut(paths: list[str], *, size: int = 10, shard_bytes: int = 1 << 30, files: int = 1000) -> list[list[str]]:
    cutter = Cutter(shard_bytes, files)
    shards = [shard for path in sorted(paths) for shard in cutter.add(member(path, size))]
    return [[one.path for one in shard] for shard in shards + cutter.rest()]


def test_files_are_cut_in_their_order_by_number_and_by_size() -> None:
    names = [f"{number:03}" for number in range(10)]
    assert cut(names, files=4) == [names[:4], names[4:8], names[8:]]
    # A member is 1 KiB here: a header and a block. Twenty blocks of the end are always there.
    sizes = cut(names, shard_bytes=archive_bytes(5 * KIB))
    assert [len(shard) for shard in sizes] == [9, 1]
    assert cut([]) == []
    assert cut(["one"], size=1 << 40) == [["one"]], "a file larger than a shard has one of its own"


def test_files_of_a_sample_stay_together() -> None:
    names = [f"s{number}.{kind}" for number in range(6) for kind in ("cls", "jpg", "seg.png")]
    assert [len(shard) for shard in cut(names, files=5)] == [3] * 6
    assert [len(shard) for shard in cut(names, files=7)] == [6] * 3
    assert cut(["a.jpg", "a.json", "b.jpg"], files=1) == [["a.jpg"], ["a.json"], ["b.jpg"]], "larger than a shard"
    # Between the two sorts a folder that looks like a part of the sample.
    assert cut(["a.c", "a.d/x", "a.e", "b"]) == [["a.c", "a.e", "a.d/x", "b"]]
    assert [sample_of(path) for path in ("d/a.b.c", "a", ".hidden", "d.e/a")] == ["d/a", "a", ".hidden", "d.e/a"]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", ".x", ".y", "/z", ".x/q"]), st.integers(0, 9))),
    st.integers(1, 5),
    st.integers(70, 200),
)
def test_every_file_is_in_one_shard_within_the_limits(parts: list[tuple[str, str, int]], files: int, kib: int) -> None:
    paths = sorted({f"{stem}{number}{rest}" for stem, rest, number in parts})
    shards = cut(paths, size=9 * KIB, files=files, shard_bytes=kib * KIB)
    assert sorted(path for shard in shards for path in shard) == paths
    for shard in shards:
        assert 1 <= len(shard) <= files
        assert len(shard) == 1 or ShardLayout([member(path, 9 * KIB) for path in shard]).size_bytes <= kib * KIB


def whole(layout: ShardLayout, content: dict[str, bytes], begin: int, end: int) -> bytes:
    return b"".join(
        piece
        if isinstance(piece, bytes)
        else content[layout.members[piece.number].path][piece.offset : piece.offset + piece.size_bytes]
        for piece in layout.pieces(begin, end)
    )


def test_any_stretch_of_a_shard_is_that_of_the_whole() -> None:
    chance = random.Random(3)
    content = {
        f"{number}/数据 {number}.bin": chance.randbytes(chance.choice([0, 1, 511, 512, 5000])) for number in range(20)
    }
    layout = ShardLayout([member(path, len(data)) for path, data in content.items()])
    all_of_it = whole(layout, content, 0, layout.size_bytes)
    assert len(all_of_it) == layout.size_bytes
    assert layout.size_bytes % 10_240 == 0
    with tarfile.open(fileobj=io.BytesIO(all_of_it)) as archive:
        assert {info.name: archive.extractfile(info).read() for info in archive} == content
    for _ in range(300):
        begin = chance.randrange(layout.size_bytes)
        end = min(layout.size_bytes, begin + chance.choice([1, 100, 512, 3000, 50_000]))
        assert whole(layout, content, begin, end) == all_of_it[begin:end]
        spans = [piece for piece in layout.pieces(begin, end) if isinstance(piece, MemberSpan)]
        assert [span for span, _ in layout.spans(begin, end)] == spans
    for number, (_, data) in enumerate(content.items()):
        assert all_of_it[layout.offset(number) :][: len(data)] == data


def test_the_list_of_a_shard_comes_back_from_the_journal() -> None:
    members = [member("数据\n.bin"), Member("b", 0, -1, 2**63, "etag")]
    assert read(written(members)) == members


def test_names_of_shards_and_unsafe_names() -> None:
    assert shard_number(shard_name(12)) == 12
    assert shard_number("shard-12.tar") is None
    unsafe = ["/abs", "../up", "a/../b", "a//b", ".", "", "a/."]
    assert [path for path in [*unsafe, "a/b", "..a", "d/"] if not is_safe_path(path)] == unsafe


def test_the_advice_is_for_many_small_files() -> None:
    assert advises_packing(5_000, 5_000 * 99_999)
    assert not advises_packing(4_999, 10)
    assert not advises_packing(5_000, 5_000 * 100_000)
    assert likely_shards(40_000, 40_000 * 10_000) == 2
    assert likely_shards(1, 0) == 1
