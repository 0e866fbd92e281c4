"""Tests fill in dialogs that are visible: one that a program forgot to open would be filled in just as well."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
_FOUND = re.compile(r"\bfindChild(?:ren)?\(\s*(?:\w*Dialog|Question|ErrorReport|CommandPalette|ShortcutSheet)\b")

_SEEN = re.compile(r"isVisible|\bnot \S*findChild|\) is None")
"""It is asked, or that there is none is what is waited for."""


def test_no_test_finds_a_dialog_without_asking_whether_it_is_visible() -> None:
    unseen = [
        f"{path.relative_to(TESTS)}:{number}: {line.strip()}"
        for path in sorted(TESTS.rglob("*.py"))
        if path not in (Path(__file__), TESTS / "support" / "dialogs.py")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if _FOUND.search(line) and not _SEEN.search(line)
    ]
    assert not unseen, "take visible_dialog, or in a journey Hands.opened:\n" + "\n".join(unseen)
