"""The thread that draws the window leaves the disk to others."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from end_to_end.disk_watch import disk_watched
from support.servers.window_process import WindowProcess
from traindeck.runtime.files import write_whole
from traindeck.services.logs.log_files import LogFile
from traindeck.store.database import open_database


def test_the_window_is_used_without_the_disk(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "first.txt").write_text("first", "utf-8")
    with WindowProcess(home, "use_without_the_disk", str(folder)) as window:
        assert window.told("asked the disk")["who"] == []


def test_the_watch_sees_what_our_code_does_in_this_thread_alone(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log")
    with disk_watched() as found:
        worker = threading.Thread(target=file.size)
        worker.start()
        worker.join()
        tmp_path.stat()  # by the test itself
    assert found == []
    with disk_watched() as found:
        file.size()
    assert len(found) == 1 and found[0].startswith("stat: services/logs/log_files.py:")
    with disk_watched() as found:
        write_whole(tmp_path / "x", b"x")
    assert any(line.startswith("open:") for line in found)
    with disk_watched() as found, closing(open_database(tmp_path / "records.db")) as db:
        assert isinstance(db, sqlite3.Connection)
    assert any("execute" in line for line in found)
