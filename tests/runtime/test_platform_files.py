"""Files are replaced whole, also where somebody is reading the old one."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindeck.runtime import files as platform_files
from traindeck.runtime.files import write_whole


class SharingViolation(PermissionError):
    """As Windows refuses to replace a file that is open elsewhere."""

    winerror = 32


def test_a_file_read_elsewhere_is_replaced_a_moment_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = [SharingViolation(13, "in use"), SharingViolation(13, "in use")]
    replace = Path.replace

    def refusing(part: Path, target: Path) -> Path:
        if refusals:
            raise refusals.pop()
        return replace(part, target)

    monkeypatch.setattr(Path, "replace", refusing)
    (tmp_path / "settings.json").write_bytes(b"old")
    write_whole(tmp_path / "settings.json", b"new")
    assert (tmp_path / "settings.json").read_bytes() == b"new"
    refusals += [SharingViolation(13, "in use")] * 1000
    monkeypatch.setattr(platform_files, "_BUSY_S", 0.05)
    with pytest.raises(PermissionError):
        write_whole(tmp_path / "settings.json", b"newer")
    refusals[:] = [PermissionError(13, "no right")]  # type: ignore[list-item]
    with pytest.raises(PermissionError):
        write_whole(tmp_path / "settings.json", b"newer")
    assert not refusals and (tmp_path / "settings.json").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["settings.json"]
