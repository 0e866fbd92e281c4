"""What was open is open again, also after a kill -9."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.servers.window_process import WindowProcess

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kill -9 and what it leaves behind are POSIX")


def kept(home: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads((home / "window.json").read_bytes())
    except FileNotFoundError:
        return {}
    return content


def test_a_killed_window_comes_back_as_it_was(home: Path) -> None:
    with WindowProcess(home, "leave_open") as window:
        left = window.told("left")
        window.until(lambda: "left-in-the-middle" in json.dumps(kept(home).get("draft")))
        window.until(lambda: "half a ta" in str(kept(home).get("draft.text")))
        window.until(lambda: kept(home).get("tabs", {}).get("current") == 2)
        # Noted a moment after it was scrolled there.
        window.until(lambda: left["tops"]["objects"] in str(kept(home)["tabs"]))
        window.until(lambda: kept(home).get("docks") == left["docks"] and "columns.objects.4" in kept(home))
        window.until(lambda: set(left["tops"]) - {"objects"} <= {name.partition(".")[2] for name in kept(home)})
        window.kill()
    with WindowProcess(home, "find_open", json.dumps(left["tops"])) as window:
        found = window.told("found")
        names = ("tabs", "place", "name", "parameters", "unsaved", "typed", "hidden", "recent", "selected", "tops")
        assert [found[name] for name in names] == [left[name] for name in names]
        assert found["place"] == "obs://second/" and found["unsaved"] and "half a ta" in found["typed"]
        assert window.ended() == 0
        window.must_be_quiet()
