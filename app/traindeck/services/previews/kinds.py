"""Which kind of file an object is, by its first bytes and its name, and who shows it."""

from __future__ import annotations

from traindeck.domain.previews import BytesPage, PreviewPage, TextPage
from traindeck.domain.texts import Text, text
from traindeck.services.previews import (
    arrays,
    mindspore_files,
    packed,
    pictures,
    tar_files,
    texts,
    torch_pickles,
    zip_files,
)
from traindeck.services.previews.steps import HEAD_BYTES, ByteSource, Enough, Reading, Steps

_DUMPED = 4096
_ROW = 16
_TABLE_END = bytes.fromhex("57fb808b247547db")
"""How the index of a TensorFlow checkpoint ends."""

_KNOWN = (
    (b"\x89HDF\r\n\x1a\n", "HDF5"),
    (b"GGUF", "GGUF"),
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Arrow"),
    (b"SQLite format 3\0", "SQLite"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (b"%PDF-", "PDF"),
    (b"\x7fELF", "ELF"),
    (b"MZ", "Windows"),
    (b"OggS", "Ogg"),
    (b"fLaC", "FLAC"),
    (b"ID3", "MP3"),
    (b"RIFF", "RIFF (WAV, AVI)"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"\xca\xfe\xba\xbe", "Java class"),
)
_BY_NAME = {
    ".tfrecord": "TFRecord",
    ".tfrecords": "TFRecord",
    ".onnx": "ONNX",
    ".om": "Ascend OM",
    ".mindir": "MindIR",
    ".pb": "TensorFlow graph",
    ".h5": "HDF5",
    ".hdf5": "HDF5",
    ".pkl": "Python pickle",
    ".pickle": "Python pickle",
    ".mindrecord": "MindRecord",
}


def preview_steps(name: str, size_bytes: int) -> Steps:
    """The preview of an object of this name and size."""
    source = ByteSource(size_bytes)
    if not size_bytes:
        yield TextPage("", notes=(text("The object is empty."),))
        return
    head = yield from source.take(0, HEAD_BYTES)
    form = packed.packing_of(head)
    if form:
        yield from _unpacked(source, form, name)
    else:
        yield from _content(source, name, head)


def _unpacked(source: ByteSource, form: str, name: str) -> Steps:
    inside = packed.UnpackedSource(source, form)
    try:
        head = yield from inside.take(0, HEAD_BYTES)
    except Enough:
        head = b""
    inner_name = name.rpartition(".")[0]
    if name.lower().endswith((".tgz", ".tbz2", ".txz")) or tar_files.is_tar_header(head[: tar_files.BLOCK]):
        yield from tar_files.tar_steps(inside, form)
        return
    encoding = texts.encoding_of(head, is_whole=len(head) < HEAD_BYTES) if head else None
    if encoding is not None:
        yield from _text(inside, inner_name, encoding)
        return
    begin = yield from source.take(0, _DUMPED)
    yield _dumped(text("Packed with {form}", form=form), begin)


def _content(source: ByteSource, name: str, head: bytes) -> Steps:
    size, ending = source.size_bytes or 0, _ending(name)
    if picture := pictures.format_of(head):
        yield from pictures.picture_steps(source, picture, head)
    elif head.startswith(arrays.MAGIC):
        yield from arrays.npy_steps(source)
    elif head.startswith((b"PK\3\4", b"PK\5\6")):
        yield from zip_files.zip_steps(source, name)
    elif head.startswith(torch_pickles.OLD_MAGIC):
        yield from torch_pickles.old_checkpoint_steps(source)
    elif tar_files.is_tar_header(head[: tar_files.BLOCK]):
        yield from tar_files.tar_steps(source)
    elif ending == ".safetensors" or arrays.is_safetensors(head, size):
        yield from arrays.safetensors_steps(source)
    elif ending == ".ckpt" and mindspore_files.looks_like_checkpoint(head):
        yield from mindspore_files.mindspore_steps(source)
    elif (what := (yield from _recognised(source, name, head))) is not None:
        yield _dumped(what, head)
    elif (encoding := texts.encoding_of(head, is_whole=len(head) == size)) is not None:
        yield from _text(source, name, encoding)
    else:
        yield _dumped(text("Unknown kind of file"), head)


def _text(source: ByteSource, name: str, encoding: texts.Encoding) -> Steps:
    ending = _ending(name)
    if ending in (".csv", ".tsv"):
        yield from texts.CsvTable(source, encoding, is_tsv=ending == ".tsv").steps()
    elif ending in (".jsonl", ".ndjson"):
        yield from texts.JsonLinesTable(source, encoding).steps()
    else:
        yield from texts.text_steps(source, encoding)


def _recognised(source: ByteSource, name: str, head: bytes) -> Reading[Text | None]:
    """Kinds that are named and no more."""
    size = source.size_bytes or 0
    for magic, title in _KNOWN:
        if head.startswith(magic) and (len(magic) > 2 or b"\0" in head[:64]):
            return text("{title} file", title=title)
    if b"tfevents" in name.encode() and b"brain.Event" in head[:64]:
        return text("TensorBoard events")
    title = _BY_NAME.get(_ending(name), "")
    if title and texts.encoding_of(head, is_whole=len(head) == size) is None:
        return text("{title} file", title=title)
    if _ending(name) == ".index" and size >= 48:
        tail = yield from source.take(size - 8, 8)
        if tail == _TABLE_END:
            return text("TensorFlow checkpoint (index)")
    return None


def _dumped(what: Text, head: bytes) -> PreviewPage:
    notes = (text("There is no preview for this kind of file. These are its first bytes."),)
    return BytesPage(what, dump_of(head[:_DUMPED]), notes=notes)


def dump_of(content: bytes) -> str:
    """Places, bytes, and the letters among them."""
    rows = []
    for at in range(0, len(content), _ROW):
        row = content[at : at + _ROW]
        codes = " ".join(row[place : place + 8].hex(" ") for place in (0, 8)).strip()
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"{at:08x}  {codes:<47}  {letters}")
    return "\n".join(rows)


def _ending(name: str) -> str:
    return "." + name.rpartition("/")[2].rpartition(".")[2].lower()
