"""Keys become files that the system can hold, each its own, and nothing lands outside."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.transfers.local_names import (
    LocalNames,
    System,
    folded,
    local_part,
    part_name,
)

WINDOWS = System(is_windows=True, folds_case=True)
MAC = System(folds_case=True)
LINUX = System()
SYSTEMS = [WINDOWS, MAC, LINUX]

letters = st.characters(exclude_categories=["Cs"])
hard = st.sampled_from(["", ".", "..", "con", "CON.txt", "aux .c", "a.", "a ", "a:b", "C:", "A", "a", "ä", "a\u0308",
                        "%3A", "x" * 300, "空" * 120, "...", "a\\b", "lpt¹", "~", "a\x00b", "\n",
                        "nul.tar.gz"])  # fmt: skip
pieces = hard | st.text(letters, max_size=12)
keys = st.lists(pieces, min_size=1, max_size=5).map("/".join).filter(bool)


@given(st.lists(keys, max_size=30, unique=True), st.sampled_from(SYSTEMS))
def test_every_key_gets_a_file_of_its_own_inside_the_target(found: list[str], system: System) -> None:
    names = LocalNames(system)
    # No empty folders here: a marker and the folder it marks are one place.
    files = sorted(key for key in found if not key.endswith("/"))
    places = [names.place(key) for key in files]
    signs = [folded(place) if system.folds_case else place for place in places]
    assert len(set(signs)) == len(signs)
    for place in places:
        check_possible(place, system)
    for place in signs:
        assert not any(other.startswith(place + "/") for other in signs), "a file where a folder has to be"


def check_possible(place: str, system: System) -> None:
    parts = place.split("/")
    assert all(part and part not in (".", "..") for part in parts)
    assert not any(ord(letter) < 32 for letter in place)
    if not system.is_windows:
        assert not PurePosixPath(place).is_absolute()
        assert all(len(part.encode()) <= 255 for part in parts)
        return
    path = PureWindowsPath(place)
    assert not path.drive and not path.root and not path.is_reserved()
    for part in parts:
        assert len(part.encode("utf-16-le")) // 2 <= 255
        assert not set(part) & set('<>:"|?*\\')
        assert part[-1] not in ". "


@given(pieces.filter(lambda part: len(part) < 60 and "%" not in part and "/" not in part), st.sampled_from(SYSTEMS))
def test_a_mapped_name_shows_what_it_was(part: str, system: System) -> None:
    assert unquote(local_part(part, system)) in (part, part or "/")


@given(st.lists(keys, max_size=20, unique=True), st.sampled_from(SYSTEMS))
def test_the_same_listing_gives_the_same_names(found: list[str], system: System) -> None:
    one, other = LocalNames(system), LocalNames(system)
    assert [one.place(key) for key in sorted(found)] == [other.place(key) for key in sorted(found)]


@pytest.mark.parametrize(
    ("key", "place"),
    [("a/b.txt", "a/b.txt"), ("../../etc/passwd", "%2E%2E/%2E%2E/etc/passwd"), ("/etc/passwd", "%2F/etc/passwd"),
     ("a//b", "a/%2F/b"), ("C:/x", "C%3A/x"), ("con.txt", "%63on.txt"), ("a.", "a%2E"), ("d/", "d")],
)  # fmt: skip
def test_names_on_windows(key: str, place: str) -> None:
    assert LocalNames(WINDOWS).place(key) == place


def test_names_linux_holds_stay_as_they_are() -> None:
    for key in ("a:b", "con", "a.", "a ", "x<y>", "x" * 255, "深/度"):
        assert LocalNames(LINUX).place(key) == key


def test_case_and_composed_letters_are_kept_apart_where_the_system_does_not() -> None:
    names = LocalNames(MAC)
    first, second, third = (names.place(key) for key in ("A.txt", "a.txt", "b/x"))
    assert first == "A.txt"
    assert second.startswith("a~") and second.endswith(".txt")
    assert third == "b/x"
    assert LocalNames(LINUX).place("a.txt") == "a.txt"


def test_a_key_that_is_a_file_and_a_folder_becomes_both() -> None:
    names = LocalNames(LINUX)
    assert names.place("a") == "a"
    assert names.place("a.b") == "a.b"
    below = names.place("a/b")
    assert below.endswith("/b") and below.startswith("a~")
    assert names.place("a/c").rpartition("/")[0] == below.rpartition("/")[0]


def test_a_folder_with_content_is_kept_inside_itself() -> None:
    names = LocalNames(LINUX)
    assert names.inside("a/") == "a/%2F"
    assert names.place("a/b") == "a/b"


def test_what_is_not_whole_has_a_name_that_fits_and_says_so() -> None:
    assert part_name("a.bin", LINUX) == "a.bin.traindeck.part"
    assert len(part_name("空" * 85, LINUX).encode()) <= 255
