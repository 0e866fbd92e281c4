"""Whatever is in a file: a preview shows something or says why not, and nothing else happens."""

from __future__ import annotations

import gzip
import pickletools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import some_of
from support.preview_feeding import preview
from support.preview_files import (
    Shape,
    mindspore,
    npy,
    png,
    safetensors,
    tarred,
    torch_old,
    torch_pickle,
    torch_zip,
    zipped,
)
from traindeck.domain.previews import NotShown

_ENTRIES = {"a/b.txt": b"words" * 50, "c" * 150: b"", "d": bytes(3000)}
FILES = {
    "a.npy": npy("<f4", (2, 3), bytes(24)),
    "a.npz": zipped({"x.npy": npy("<f4", (2, 3), bytes(24)), "y.npy": npy("<i8", (2,), bytes(16))}),
    "a.zip": zipped(_ENTRIES),
    "a.tar": tarred(_ENTRIES),
    "a.tgz": tarred(_ENTRIES, "w:gz"),
    "a.tar.xz": tarred(_ENTRIES, "w:xz"),
    "a.pt": torch_zip({"epoch": 1, "model": {"w": Shape(3, 4), "b": Shape(4)}}),
    "b.pt": torch_zip({"epoch": 1, "model": {"w": Shape(3, 4), "b": [Shape(4)]}}, 4),
    "old.pt": torch_old({"epoch": 1, "model": {"w": Shape(3, 4)}}),
    "a.ckpt": mindspore([("w", "Float32", [3, 4], 48), ("b", "Float32", [4], 16)]),
    "a.safetensors": safetensors({"w": ("F32", [3, 4], 48), "b": ("F16", [4], 8)}, format="pt"),
    "a.png": png(30, 40),
    "a.jpg": b"\xff\xd8\xff\xe0\x00\x10" + bytes(14) + b"\xff\xc2\x00\x11\x08\0\x30\0\x40" + bytes(30),
    "a.webp": b"RIFF\0\0\0\0WEBPVP8X" + bytes(30),
    "a.csv": 'a,b\n"x, y",2\n"two\nlines",字\n'.encode() * 20,
    "a.jsonl": b'{"a": [1, 2], "b": null}\n{"c": "d"}\n' * 20,
    "a.txt": "words 字\r\n".encode("utf-16") * 20,
    "a.csv.gz": gzip.compress(b"a,b\n1,2\n" * 100),
}


def shown_or_said(name: str, content: bytes) -> None:
    try:
        fed = preview(name, content, pages=20)
    except NotShown as error:
        assert error.sentence()
        return
    assert fed.pages
    assert fed.read_bytes <= 20 * len(content) + (1 << 16)


@pytest.mark.parametrize("name", FILES)
def test_whole_files_are_shown(name: str) -> None:
    assert preview(name, FILES[name]).pages


@given(st.sampled_from(sorted(FILES)), st.data())
@some_of(600)
def test_damaged_files(name: str, data: st.DataObject) -> None:
    content = bytearray(FILES[name])
    places = st.integers(0, len(content) - 1)
    for at, byte in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=8)):
        content[at] = byte
    if data.draw(st.booleans()):
        at = data.draw(places)
        run = data.draw(st.sampled_from([b"\xff" * 8, b"\0" * 8, b"\x80" * 10, b"(" * 50, b'"' * 3]))
        content[at : at + len(run)] = run
    cut = data.draw(st.one_of(st.just(len(content)), places))
    shown_or_said(name, bytes(content[:cut]))


@given(st.sampled_from(sorted(FILES)), st.binary(max_size=2000))
@some_of(300)
def test_something_else_under_this_name(name: str, content: bytes) -> None:
    shown_or_said(name, content)


@given(st.sampled_from(sorted(FILES)), st.integers(1, 80), st.binary(max_size=400))
@some_of(300)
def test_a_good_beginning_and_a_bad_end(name: str, kept: int, rest: bytes) -> None:
    shown_or_said(name, FILES[name][:kept] + rest)


_CODES = [opcode.code.encode("latin-1") for opcode in pickletools.opcodes]


@given(st.lists(st.one_of(st.sampled_from(_CODES), st.binary(max_size=6)), max_size=60))
@some_of(600)
def test_pickles_made_of_anything(codes: list[bytes]) -> None:
    pickle = b"\x80\x02" + b"".join(codes) + b"."
    shown_or_said("a.pt", zipped({"archive/data.pkl": pickle}))


def test_a_pickle_that_doubles_itself_is_not_unfolded() -> None:
    # Each list holds the one before twice: a few bytes that stand for 2**200 tensors.
    layers = b"".join(b"]q%c(h%ch%ce" % (at, at - 1, at - 1) for at in range(2, 200) if at != 10)
    first = torch_pickle([Shape(2)])[2:-1]
    content = b"\x80\x02" + first + b"q\x01" + layers.replace(b"h\x0ah\x0a", b"h\x09h\x09") + b"."
    shown_or_said("a.pt", zipped({"archive/data.pkl": content}))


def test_an_odd_escape_in_a_pickle() -> None:
    shown_or_said("a.pt", zipped({"archive/data.pkl": b"S'\\g'\n."}))


def test_a_header_that_is_deep_or_endless() -> None:
    shown_or_said("a.npy", npy("x", (), b"").replace(b"'x'", b"(" * 5000))
    shown_or_said("a.jsonl", b"[" * 200_000 + b"\n" + b"9" * 100_000)
    shown_or_said("a.csv", b'"' + b"," * 500_000)
    deep = b'{"a": ' + b"[" * 100_000
    shown_or_said("a.safetensors", len(deep).to_bytes(8, "little") + deep)
