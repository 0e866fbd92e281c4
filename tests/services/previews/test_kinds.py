"""What the parsers find in good files of every kind."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickle
import struct
import tarfile
import zipfile
from collections import OrderedDict
from pathlib import PurePosixPath

import pytest

from support.preview_feeding import preview
from support.preview_files import (
    Shape,
    mindspore,
    npy,
    png,
    safetensors,
    tarred,
    torch_old,
    torch_zip,
    zipped,
)
from traindeck.domain.previews import (
    ArchivePage,
    BytesPage,
    MemberKind,
    NotShown,
    PicturePage,
    PreviewPage,
    TablePage,
    TensorsPage,
    TextPage,
)


def only(name: str, content: bytes) -> PreviewPage:
    pages = preview(name, content).pages
    assert len(pages) == 1
    assert not pages[0].has_more
    return pages[0]


def text_of(name: str, content: bytes) -> str:
    page = only(name, content)
    assert isinstance(page, TextPage)
    return page.text


def tensors(name: str, content: bytes) -> TensorsPage:
    page = only(name, content)
    assert isinstance(page, TensorsPage)
    return page


def shapes(page: TensorsPage) -> dict[str, tuple[str, tuple[int, ...], int | None]]:
    return {tensor.name: (tensor.dtype, tensor.shape, tensor.size_bytes) for tensor in page.tensors}


@pytest.mark.parametrize(
    ("encoding", "mark", "title"),
    [
        ("utf-8", b"", "UTF-8"),
        ("utf-8", b"\xef\xbb\xbf", "UTF-8 BOM"),
        ("utf-16-le", b"\xff\xfe", "UTF-16-LE BOM"),
        ("utf-16-be", b"\xfe\xff", "UTF-16-BE BOM"),
        ("utf-32-le", b"\xff\xfe\0\0", "UTF-32-LE BOM"),
        ("gb18030", b"", "GB18030"),
    ],
)
def test_text_is_read_in_the_encoding_it_is_in(encoding: str, mark: bytes, title: str) -> None:
    words = "学习率 0.01\n第二行 épsilon\n"
    page = only("log.txt", mark + words.encode(encoding))
    assert isinstance(page, TextPage)
    assert (page.text, page.encoding) == (words, title)


def test_text_without_any_mark_may_be_utf_16_or_latin() -> None:
    assert text_of("a.txt", "epoch 1\r\nloss 2\r\n".encode("utf-16-le")) == "epoch 1\nloss 2\n"
    assert text_of("a.txt", "na\xefve caf\xe9 \xff".encode("latin-1")) == "naïve café ÿ"
    assert text_of("a.log", b"\x1b[31mred\x1b[0m\n") == "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}[0m\n"


def test_long_text_comes_in_pages_that_cut_no_letter() -> None:
    words = "".join(f"第 {number} 行\n" for number in range(60_000))
    pages = preview("a.txt", words.encode()).pages
    assert len(pages) > 2
    assert "".join(page.text for page in pages if isinstance(page, TextPage)) == words
    assert [page.has_more for page in pages] == [True] * (len(pages) - 1) + [False]


def test_a_line_without_end_is_broken_for_the_screen() -> None:
    assert max(map(len, text_of("a.json", b"[" + b"1," * 50_000).splitlines())) == 4000


def test_a_huge_text_stops_somewhere_and_says_so() -> None:
    pages = preview("a.txt", b"0123456789abcde\n" * (20 << 16), pages=1000).pages
    assert sum(len(page.text) for page in pages if isinstance(page, TextPage)) == 16 << 20
    assert "download" in str(pages[-1].notes[0])


def test_csv_keeps_quoted_ends_of_lines_and_finds_what_parts_the_cells() -> None:
    page = only("a.csv", b'name;note\r\n"Li; Wei";"two\r\nlines"\r\nZhang;"a ""quote"""\r\n')
    assert isinstance(page, TablePage)
    assert page.columns == ("name", "note")
    assert page.rows == (("Li; Wei", "two⏎lines"), ("Zhang", 'a "quote"'))
    assert only("a.tsv", b"1\t2\n3\t4\n") == TablePage(("1", "2"), (("1", "2"), ("3", "4")))
    page = only("a.csv", b"x,y\n1,2,3\n4\n")
    assert isinstance(page, TablePage)
    assert page.columns == ("x", "y", "3")


def test_csv_of_many_pages_has_every_row_once() -> None:
    content = "id,words\n" + "".join(f'{number},"a\nb, {number}"\n' for number in range(60_000))
    pages = [page for page in preview("a.csv", content.encode()).pages if isinstance(page, TablePage)]
    assert len(pages) > 2
    rows = [row for page in pages for row in page.rows]
    assert rows == [(str(number), f"a⏎b, {number}") for number in range(60_000)]
    assert {page.columns for page in pages} == {("id", "words")}


def test_an_open_quote_does_not_swallow_the_rest() -> None:
    page = only("a.csv", b'a,b\n1,"2\n3,4\n5,6\n')
    assert isinstance(page, TablePage)
    assert page.rows[-1] == ("5", "6")
    long = preview("a.csv", b'a,b\n1,"2\n' + b"3,4\n" * 200_000).pages
    assert sum(len(page.rows) for page in long if isinstance(page, TablePage)) >= 100_000
    assert any(page.notes for page in long)


def test_json_lines_become_columns_by_their_keys() -> None:
    page = only("a.jsonl", '{"a": 1, "b": "字"}\nnot json\n[1, 2]\n{"b": null, "c": {"d": [1]}}\n'.encode())
    assert isinstance(page, TablePage)
    assert page.columns == ("a", "b", "", "c")
    assert page.rows == (("1", "字"), ("", "", "not json"), ("", "", "[1, 2]"), ("", "null", "", '{"d": [1]}'))
    assert "not JSON" in str(page.notes[0])


@pytest.mark.parametrize("packing", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_text_and_tables_are_looked_into(packing: object) -> None:
    assert callable(packing)
    assert text_of("log.txt.gz", packing(b"epoch 1\n")) == "epoch 1\n"
    rows = "a,b\n" + "".join(f"{number},{number}\n" for number in range(100_000))
    pages = preview("a.csv.gz", packing(rows.encode())).pages
    assert sum(len(page.rows) for page in pages if isinstance(page, TablePage)) == 100_000


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_array_tells_its_type_shape_and_first_values(version: int) -> None:
    content = npy("<f4", (2, 3), struct.pack("<6f", 0, 0.5, 1, 1.5, 2, 1e9), version=version)
    page = tensors("a.npy", content)
    assert shapes(page) == {"": ("float32", (2, 3), 24)}
    assert page.sample == "0, 0.5, 1, 1.5, 2, 1e+09"
    assert "C (row-major" in str(page.facts[2].value)


def test_arrays_of_other_values() -> None:
    assert tensors("a.npy", npy(">i2", (3,), struct.pack(">3h", 1, -2, 3), fortran=True)).sample == "1, -2, 3"
    assert tensors("a.npy", npy("<U2", (2,), "ab字\0".encode("utf-32-le"))).sample == "“ab”, “字”"
    assert tensors("a.npy", npy("|b1", (2,), b"\1\0")).sample == "True, False"
    assert tensors("a.npy", npy("<c8", (1,), struct.pack("<2f", 1, -2))).sample == "1-2j"
    page = tensors("a.npy", npy("|O", (2,), pickle.dumps([1, 2])))
    assert shapes(page) == {"": ("object", (2,), None)}
    records = npy([("x", "<f4"), ("y", "<i8", (2,))], (5,), bytes(100))
    assert tensors("a.npy", records).tensors[0].dtype == "{x: float32, y: int64}"
    assert "incomplete" in str(tensors("a.npy", npy("<f8", (1000, 1000), b"")).notes[0])


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_of_arrays_lists_each(method: int) -> None:
    content = zipped(
        {"x.npy": npy("<f8", (10, 4), bytes(320)), "y.npy": npy("<i8", (10,), bytes(80)), "bad.npy": b"?"}, method
    )
    assert shapes(tensors("train.npz", content)) == {
        "x": ("float64", (10, 4), 320), "y": ("int64", (10,), 80), "bad": ("?", (), 1),
    }  # fmt: skip


def test_an_archive_of_arrays_without_any_is_an_archive() -> None:
    assert isinstance(only("a.npz", zipped({"readme.txt": b"nothing here"})), ArchivePage)
    assert isinstance(only("a.npz", zipped({})), ArchivePage)


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("make", [torch_zip, torch_old])
def test_a_torch_checkpoint_lists_its_tensors(protocol: int, make: object) -> None:
    state = OrderedDict([("conv.weight", Shape(8, 3, 3, 3)), ("conv.bias", Shape(8)), ("step", Shape())])
    content = {"epoch": 7, "model": state, "groups": [{"lr": 0.1, "buffer": Shape(8)}], "name": "tiny"}
    made = torch_zip(content, protocol) if make is torch_zip else torch_old(content)
    page = tensors("best.pt", made)
    assert shapes(page) == {
        "model.conv.weight": ("float32", (8, 3, 3, 3), 864),
        "model.conv.bias": ("float32", (8,), 32),
        "model.step": ("float32", (), 4),
        "groups.0.buffer": ("float32", (8,), 32),
    }
    assert {fact.label: fact.value for fact in page.facts} == {"epoch": "7", "groups.0.lr": "0.1", "name": "tiny"}
    assert page.notes == ()


class Command:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("echo this must never run > /dev/stderr",)


def test_what_a_pickle_would_run_is_named_and_not_run(capfd: pytest.CaptureFixture[str]) -> None:
    page = tensors("evil.pth", torch_zip({"weight": Shape(2), "boom": Command(), "path": PurePosixPath("a")}))
    assert shapes(page) == {"weight": ("float32", (2,), 8)}
    assert f"{os.system.__module__}.system" in str(page.notes[0])
    assert capfd.readouterr().err == ""


def test_safetensors_are_read_from_their_header() -> None:
    page = tensors("m.safetensors", safetensors({"w": ("BF16", [4, 2], 16), "b": ("F32", [2], 8)}, format="pt"))
    assert shapes(page) == {"w": ("BF16", (4, 2), 16), "b": ("F32", (2,), 8)}
    assert (page.facts[0].label, page.facts[0].value) == ("format", "pt")
    many = safetensors({f"layer.{number}": ("F16", [1], 2) for number in range(5000)})
    assert len(tensors("m.bin", many).tensors) == 5000
    assert "incomplete" in str(tensors("m.safetensors", many[:-100]).notes[0])


@pytest.mark.parametrize("packed", [False, True])
def test_a_mindspore_checkpoint_is_stepped_through(packed: bool) -> None:
    parts = [("conv.w", "Float32", [8, 3], 96), ("big", "Float16", [4, 4], 20), ("big", "Float16", [4, 4], 12)]
    content = mindspore([*parts, ("step", "Int32", [], 4)], packed=packed) + b"crc_num" + bytes(10)
    assert shapes(tensors("net.ckpt", content)) == {
        "conv.w": ("Float32", (8, 3), 96), "big": ("Float16", (4, 4), 32), "step": ("Int32", (), 4),
    }  # fmt: skip


def test_a_large_mindspore_checkpoint_is_read_only_where_it_must_be() -> None:
    content = mindspore([(f"layer{number}", "Float32", [25_000], 100_000) for number in range(200)])
    fed = preview("net.ckpt", content, most_requests=200)
    assert sum(len(page.tensors) for page in fed.pages if isinstance(page, TensorsPage)) == 200
    assert len(fed.pages) > 1
    assert fed.read_bytes < 300_000 + 200 * 2000


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_a_tar_archive_is_listed_from_header_to_header(form: int) -> None:
    long = "deep/" * 30 + "名.txt" if form != tarfile.USTAR_FORMAT else "d" * 50 + "/" + "e" * 60 + "/f.txt"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        folder = tarfile.TarInfo("data")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, size in (("data/a.bin", 1_000_000), (long, 5)):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = size, 1_700_000_000
            archive.addfile(member, io.BytesIO(bytes(size)))
        link = tarfile.TarInfo("latest")
        link.type, link.linkname = tarfile.SYMTYPE, "data/a.bin"
        archive.addfile(link)
    fed = preview("x.tar", out.getvalue())
    page = fed.pages[0]
    assert isinstance(page, ArchivePage)
    assert [(member.name, member.size_bytes) for member in page.members] == [
        ("data/", 0), ("data/a.bin", 1_000_000), (long, 5), ("latest", 0),
    ]  # fmt: skip
    kinds = [member.kind for member in page.members]
    assert kinds == [MemberKind.FOLDER, MemberKind.FILE, MemberKind.FILE, MemberKind.LINK]
    assert page.members[3].target == "data/a.bin"
    assert page.members[1].modified is not None
    assert page.members[1].modified.timestamp() == 1_700_000_000
    assert fed.read_bytes < 300_000


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_a_packed_tar_archive_is_listed_by_unpacking_it(mode: str) -> None:
    content = tarred({f"{number:04}.bin": bytes(1000) for number in range(3000)}, mode)
    pages = [page for page in preview("shard.tgz", content).pages if isinstance(page, ArchivePage)]
    assert len(pages) == 2
    assert sum(len(page.members) for page in pages) == 3000


def test_a_packed_archive_that_is_long_to_unpack_comes_in_pages() -> None:
    content = tarred({f"{number:02}.bin": os.urandom(300_000) for number in range(20)}, "w:gz")
    pages = [page for page in preview("a.tar.gz", content, most_requests=5).pages if isinstance(page, ArchivePage)]
    assert len(pages) > 5
    assert [member.name for page in pages for member in page.members] == [f"{n:02}.bin" for n in range(20)]


def test_an_archive_that_is_long_to_walk_comes_in_pages() -> None:
    content = tarred({f"{number:04}.bin": bytes(2000) for number in range(1000)})
    pages = [page for page in preview("a.tar", content, most_requests=300).pages if isinstance(page, ArchivePage)]
    assert len(pages) > 2
    assert [member.name for page in pages for member in page.members] == [f"{n:04}.bin" for n in range(1000)]


def test_a_zip_archive_is_listed_from_its_end() -> None:
    members = {"data/": b"", "data/文.txt": b"x" * 10_000, "b.bin": os.urandom(500_000)}
    fed = preview("a.zip", zipped(members))
    page = fed.pages[0]
    assert isinstance(page, ArchivePage)
    sizes = {member.name: member.size_bytes for member in page.members}
    assert sizes == {"data/": 0, "data/文.txt": 10_000, "b.bin": 500_000}
    assert page.members[0].kind is MemberKind.FOLDER
    assert page.members[1].packed_bytes is not None
    assert page.members[1].packed_bytes < 1000
    assert fed.read_bytes < 400_000
    behind_a_program = preview("a.zip", b"PK\3\4" + b"#" * 1000 + zipped(members)).pages[0]
    assert isinstance(behind_a_program, ArchivePage)
    assert len(behind_a_program.members) == 3


def test_a_zip_archive_of_many_entries_comes_in_pages() -> None:
    content = zipped({f"{number:05}": b"" for number in range(70_000)}, zipfile.ZIP_STORED)  # zip64
    pages = [page for page in preview("a.zip", content, pages=100).pages if isinstance(page, ArchivePage)]
    assert [member.name for page in pages for member in page.members] == [f"{number:05}" for number in range(70_000)]
    assert [page.has_more for page in pages] == [True] * (len(pages) - 1) + [False]


def test_names_written_by_chinese_programs_are_read() -> None:
    name = "训练数据.txt".encode("gb18030")
    content = zipped({"x" * len(name): b"hello"}).replace(b"x" * len(name), name)
    page = only("a.zip", content)
    assert isinstance(page, ArchivePage)
    assert page.members[0].name == "训练数据.txt"


def test_pictures_are_measured_before_they_are_fetched() -> None:
    page = only("a.png", png(640, 480))
    assert isinstance(page, PicturePage)
    assert (page.format, page.width, page.height) == ("PNG", 640, 480)
    assert page.content == png(640, 480)
    assert isinstance(only("no-ending", b"GIF89a" + struct.pack("<HH", 3, 2) + bytes(20)), PicturePage)
    frame = b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", 30, 40)
    jpeg = b"\xff\xd8\xff\xe0\x00\x10" + bytes(14) + frame + bytes(40)
    page = only("a.jpg", jpeg)
    assert isinstance(page, PicturePage)
    assert (page.width, page.height) == (40, 30)
    webp = b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (99).to_bytes(3, "little") + (49).to_bytes(3, "little") + bytes(20)
    page = only("a", webp)
    assert isinstance(page, PicturePage)
    assert (page.width, page.height) == (100, 50)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.png", png(100_000, 100_000), "too much memory"),
        ("a.png", png(0, 10), "damaged"),
        ("a.jpg", b"\xff\xd8\xff\xe0\xff\xff" + bytes(500), "damaged"),
        ("a.png", png(10, 10) + bytes(21_000_000), "those up to"),
        ("a.npy", b"\x93NUMPY\2\0\xff\xff\xff\x7f{}", "damaged"),
        ("a.npy", b"\x93NUMPY\1\0\xff\x7f{}", "incomplete"),
        ("a.npy", npy("(" * 30 + ")" * 30, (), b""), "damaged"),
        ("a.zip", zipped({"a": b"b"})[:-10], "damaged"),
        ("a.safetensors", struct.pack("<Q", 1 << 60) + b'{"a"', "damaged"),
        ("a.safetensors", struct.pack("<Q", 20) + b'{"a": {"dtype": "F32', "damaged"),
        ("a.ckpt", mindspore([("w", "Float32", [8], 1000)])[:-900], "incomplete"),
        ("a.pt", torch_zip({"w": Shape(3)}).replace(b"\x80\x02}", b"\x80\x02\xff", 1), "damaged"),
        ("a.tar", tarred({"a": bytes(600), "b": b"c"}).replace(b"b\0\0\0", b"c\0\0\0", 1), "damaged"),
        ("a.tar.gz", gzip.compress(tarred({"a": bytes(100_000)}))[:100] + b"rubbish" * 99, "damaged"),
    ],
)
def test_what_cannot_be_shown_says_why(name: str, content: bytes, words: str) -> None:
    with pytest.raises(NotShown) as refused:
        preview(name, content)
    assert words in refused.value.sentence()


# Its checksums are of no meaning here, but the same at each collection: the workers compare theirs.
RECORD = struct.pack("<Q", 3) + b"\xe4C\xbc|" + b"\0\0\0" + bytes(range(0x90, 0xA4))


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(100), "HDF5"),
        ("train.tfrecord", RECORD, "TFRecord"),
        ("model.index", bytes(60) + bytes.fromhex("57fb808b247547db"), "TensorFlow checkpoint"),
        ("m.gguf", b"GGUF\3\0\0\0", "GGUF"),
        ("what", bytes(range(256)), "Unknown"),
    ],
)
def test_other_kinds_are_named_and_show_their_bytes(name: str, content: bytes, what: str) -> None:
    page = only(name, content)
    assert isinstance(page, BytesPage)
    assert what in str(page.what)
    assert page.dump.startswith("00000000  " + content[:8].hex(" "))


def test_an_empty_object_says_so() -> None:
    assert str(only("a.npy", b"").notes[0]) == "The object is empty."


def test_a_bomb_is_unpacked_no_further_than_a_page_needs() -> None:
    bomb = gzip.compress(bytes(64 << 20))
    fed = preview("a.gz", bomb)
    assert isinstance(fed.pages[0], BytesPage)
    nested = tarred({"big": bytes(100 << 20)}, "w:gz")
    pages = preview("a.tar.gz", nested).pages
    assert all(isinstance(page, ArchivePage) for page in pages)
    assert sum(len(page.members) for page in pages if isinstance(page, ArchivePage)) == 1
