"""Each pattern takes the names that the real rclone takes, or is refused; never others."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.servers.foreign_programs import installed
from traindeck.domain.errors import InvalidInput
from traindeck.domain.transfers.name_filter import NameFilter

NAMES = (
    "!x", "+a", ",b", "-x", "1.jpg", "B.txt", "^a", "a", "a b.jpg", "a+b.jpg", "a,b", "a-b", "a.b.c", "a.jpg",
    "a.jpg}", "a/b/a.jpg", "a/c", "a]", "aab", "ab/aab", "aXaXaXaXc", "a{b", "b.txt", "d1", "d/1",
    "deep/a/b/c/train/x.jpg", "e^", "jpg", "old/train/a.jpg", "old/train.jpg", "test/x/train/z.jpg", "train/a.jpg",
    "train/a.txt", "train/deep/c.jpg", "train/deep/train/d.jpg", "train/n.txt", "train.jpg/x", "trains/x.jpg", "x",
    "x/a", "x/y/z", "xtrain/a.jpg", "é.txt", "数据/图 1.JPG", ".hidden/a", ".a.jpg", "a.jpeg", "A.JPG", "a..b", "~x",
    "$a", "a&b", "a|b", "(a)", "a#b", "%41",
)  # fmt: skip

USUAL = (
    "*", "**", "/*", "/**", "/**/", "**/", "*/", "*/*", "*/**", "**/*", "***", "****", "a***b", "/", "//", "?", "??",
    "/?", "*.jpg", "/*.jpg", "**.jpg", "/**.jpg", "**/*.jpg", "/**/*.jpg", "/**/a.jpg", "**/a.jpg", "*/a.jpg",
    "a.jpg", "/a.jpg", "*.{jpg,txt}", "*.{jpg}", "{a,b}*", "{a.jpg,train/*}", "{}", "{,a}", "a{,b}", "{a,b", "a,b}",
    "a.jpg}", "{a,{b,c}}", "a{b,{c,d}}", "{a,{b}", "{a,{{b}}}", "{b.txt,{{a}},c}", "{a}}", "{{{a}}}", "train",
    "/train", "train/", "/train/", "train/*", "/train/*", "train/**", "/train/**", "**/train/**", "/**/train/**",
    "**/train/", "*/train/**", "train/**/*.jpg", "train/**/", "train/**/c.jpg", "/train/**/*.jpg", "train**",
    "**train", "**train**", "tr*n/*", "tr?in/**", "deep/", "**/deep/**", "train.jpg", "train.jpg/", "x/", "x/**",
    "x*", "a/", "a/**", "[ab].*", "[ab]", "[^a]*", "[^a].jpg", "[!a]*", "[!x]", "[x!]", "x[^a]a", "[a-c]*", "[c-a]*",
    "[a--b]*", "[+--]*", "[--a]*", "[a-]*", "[-a]*", "[]a]", "[a]]", "[[]*", "[]", "[^]", "[", "a[", "[a", "a]",
    "a\\]", "\\[a", "[\\]]", "[\\d]*", "[[:digit:]]*", "[[:alpha:]]", "[^[:alpha:]]*", "[[:punct:]]*", "[[:wrong:]]",
    "[.]*", "[*]", "[?]", "[a|b]*", "[é]*", "[&&a]*", "[a~~b]*", "[||a]*", "[/]a", "x[/]y/z", "[a/]*", "[^/]*.jpg",
    "a^", "^a", "e^", "\\^a", "\\d", "\\d*", "\\D", "\\w*", "\\W*", "\\s", "*\\s*", "\\*", "\\?", "\\.a.jpg", "\\{",
    "a\\{b", "\\}", "a.jpg\\}", "\\\\", "\\", "a\\", "a\\.jpg", "\\C", "\\z", "\\b", "a\\b*", "\\pL*", "\\p{Lu}*",
    "\\x61*", "\\Qa.jpg\\E", "a\\/b/*", "\\+a", "\\-x", "{{regex}}", "{{.*\\.jpe?g}}", "{{a}}", "{{[ab]}}.*",
    "a{{.*}}", "{{train|old}}/**", "{{(?i)a\\.jpg}}", "{{a{2}}}b", "{{a{2}b}}", "{{}}", "{{a", "{{a}", "{{a}}}",
    "{{(a}}", "{{a)|(b}}", "{{.*}}/{{.*}}", "/{{.*}}", "{{\\d+}}.jpg", "{a,{{b}}}", "{{a,b}}", "{{[}]}}",
    "*{{\\.(jpg|txt)}}", "{{x}}/**", "{{.*/}}", "{{.**}}", "{{\\}}}", "a+b.jpg", "(a)", "(a", "a)", "a|b", "$a",
    "a.b.c", "a..b", "a#b", "a&b", "~x", "%41", "+a", "-x", ",b", "a b.jpg", ".*", ".?*", ".hidden/", ".hidden/**",
    "*a*a*a*a*b", "*X*X*X*X*c", "?*?*?", "**a", "**[^a]", "a**", "**/x/**", "/x/y/**", "x/**/z", "x/**z", "**/y/*",
    "*/y/*", "数据/", "数据/*", "数?/*", "*.JPG", "é*", "/é.txt", "A*", "B.txt", "**b**", "*b/", "/a/b/", "a//b",
    "./a.jpg", "../a", "/./a", "a/.", "a/../b",
)  # fmt: skip


class Rclone:
    """The program itself, asked over its own remote control: one process for hundreds of questions."""

    def __init__(self, address: str, folder: Path) -> None:
        self._connection = http.client.HTTPConnection(address)
        self._folder = str(folder)

    def names(self, pattern: str, *, is_included: bool) -> set[str] | None:
        """None: it refuses the pattern.

        With --include alone it also passes over folders that hold names that fit: “train/*” finds no “old/train/a” on a
        disk, but does with --fast-list. The last rule keeps it looking into every folder.
        """
        wanted = {"recurse": True, "filesOnly": True, "noModTime": True, "noMimeType": True}
        rules = [f"+ {pattern}", "- {{.*}}"] if is_included else [f"- {pattern}"]
        asked = {"fs": self._folder, "remote": "", "opt": wanted, "_filter": {"FilterRule": rules}}
        heads = {"Content-Type": "application/json"}
        self._connection.request("POST", "/operations/list", json.dumps(asked).encode(), heads)
        answer = self._connection.getresponse()
        content: dict[str, Any] = json.loads(answer.read())
        return {row["Path"] for row in content["list"]} if answer.status == 200 else None

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def rclone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rclone]:
    home = tmp_path_factory.mktemp("rclone")
    tree = home / "tree"
    for name in NAMES:
        place = tree / (f"{name}-" if any(other.startswith(f"{name}/") for other in NAMES) else name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    words = [
        installed("rclone"),
        "rcd",
        "--rc-no-auth",
        "--rc-addr",
        "127.0.0.1:0",
        "--config",
        str(home / "none.conf"),
    ]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        try:
            assert process.stderr is not None
            found = next(filter(None, (re.search(rb"http://([0-9.:]+)/", line) for line in process.stderr)))
            talking = Rclone(found[1].decode(), tree)
            yield talking
            talking.close()
        finally:
            process.kill()


@pytest.fixture(scope="module")
def names(rclone: Rclone) -> set[str]:
    found = rclone.names("**", is_included=True)
    assert found is not None and len(found) == len(NAMES)
    return found


def taken(names: set[str], pattern: str, *, is_included: bool) -> set[str] | None:
    try:
        only = NameFilter(((is_included, pattern),))
    except InvalidInput:
        return None
    # As a listing is gone through: what lies in a folder that is passed over is never asked for.
    return {name for name in names if only.takes(name) and all(map(only.may_hold, folders_above(name)))}


def folders_above(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:count]) + "/" for count in range(1, len(parts))]


# Refused here, taken by rclone: what it makes of them is hardly meant.
REFUSED = {"/", "//", "\\", "a\\", "[!a]*", "[!x]", "{{a)|(b}}", "[/]a", "x[/]y/z", "[a/]*", "[^/]*.jpg"}


@pytest.mark.parametrize("is_included", [True, False])
def test_patterns_take_what_rclone_takes_or_are_refused(rclone: Rclone, names: set[str], *, is_included: bool) -> None:
    wrong: dict[str, object] = {}
    for pattern in USUAL:
        is_refused = pattern in REFUSED or (is_included and pattern.endswith("/"))
        theirs = None if is_refused else rclone.names(pattern, is_included=is_included)
        ours = taken(names, pattern, is_included=is_included)
        if ours != theirs:
            wrong[pattern] = (ours, theirs) if ours is None or theirs is None else (ours - theirs, theirs - ours)
    assert not wrong, "\n".join(f"{pattern}: {both}" for pattern, both in wrong.items())
