"""Pictures, whole and broken, and small datasets of every layout."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

from traindeck.domain.datasets.record_files import masked_crc


def png(number: int, side: int = 8) -> bytes:
    """A picture like no other."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\0" + struct.pack(">I", number) * side
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(row[: side + 1] for _ in range(side)))
    note = chunk(b"tEXt", b"number\0" + str(number).encode())
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + note + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def write(root: Path, files: dict[str, bytes | str]) -> Path:
    for name, content in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def tfrecord(count: int) -> bytes:
    def frame(data: bytes) -> bytes:
        length = struct.pack("<Q", len(data))
        return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))

    return b"".join(frame(str(number).encode() * 5) for number in range(count))


def cifar_10(count: int) -> bytes:
    return b"".join(bytes([number % 10]) + bytes([number % 251]) * 3072 for number in range(count))


def idx(dims: tuple[int, ...], content: bytes) -> bytes:
    return struct.pack(f">HBB{len(dims)}I", 0, 8, len(dims), *dims) + content


def folder_per_class(root: Path, each: int = 10) -> Path:
    names = [f"{kind}/{number:02}.png" for kind in ("cat", "dog") for number in range(each)]
    return write(root, {name: png(number) for number, name in enumerate(names)})


def with_csv(root: Path) -> Path:
    files: dict[str, bytes | str] = {f"images/{number:02}.png": png(number) for number in range(20)}
    files |= {f"masks/{number:02}.txt": str(number) for number in range(20)}
    lines = [f"{number:02}.png,{'even' if number % 2 == 0 else 'odd'}\n" for number in range(20)]
    files["labels.csv"] = "filename,label\n" + "".join(lines) + "gone.png,odd\n"
    return write(root, files | {"README.md": "about", "images/extra.png": png(99)})


def coco(root: Path) -> Path:
    files: dict[str, bytes | str] = {}
    for split, start in (("train2017", 0), ("val2017", 100)):
        numbers = range(start, start + 12)
        images = [{"id": number, "file_name": f"{number:012}.png"} for number in numbers]
        shown = [{"id": number, "image_id": number, "category_id": number % 3} for number in numbers]
        whole = {"images": images, "annotations": shown, "categories": [{"id": n, "name": f"c{n}"} for n in range(3)]}
        files[f"annotations/instances_{split}.json"] = json.dumps(whole)
        files |= {f"{split}/{number:012}.png": png(number) for number in numbers}
    return write(root, files)


def voc(root: Path, *, with_lists: bool = True) -> Path:
    files: dict[str, bytes | str] = {}
    for number in range(12):
        kind = "cat" if number % 2 else "dog"
        files[f"JPEGImages/{number:06}.jpg"] = png(number)
        files[f"Annotations/{number:06}.xml"] = f"<annotation><object><name>{kind}</name></object></annotation>"
    files["ImageSets/Main/train.txt"] = "".join(f"{number:06}\n" for number in range(12))
    if with_lists:
        for kind in ("cat", "dog"):
            signs = [(number, 1 if (number % 2 == 1) == (kind == "cat") else -1) for number in range(12)]
            files[f"ImageSets/Main/{kind}_train.txt"] = "".join(f"{number:06} {sign:2}\n" for number, sign in signs)
    return write(root, files)
