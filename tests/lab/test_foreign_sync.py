"""Folders kept equal to a bucket by the programs that do so: there, again, back, and compared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.servers.foreign_programs import AWSCLI, RCLONES, S5CMD, AwsCli, Rclone, S5cmd
from support.servers.lab_process import LabProcess
from support.stores.foreign_cases import name_of
from support.stores.foreign_clients import Kind, Refused

FILES = {
    "plain.txt": b"plain",
    "empty": b"",
    "dir/blank here ä-学习.txt": b"inner",
    "dir/sub/+&=,;'@$(x)": b"deeper",
    "dir/sub/100%25": b"percent",
    "large": os.urandom(9 * 1024 * 1024),
}


def written(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def read(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", [AWSCLI, *RCLONES, S5CMD], ids=name_of)
def test_a_folder_is_kept_equal(kind: Kind, lab: LabProcess, bucket: str, tmp_path: Path) -> None:
    here, back = tmp_path / "here", tmp_path / "back"
    back.mkdir()
    written(here, FILES)
    with kind.on(lab, tmp_path / "home") as client:
        assert isinstance(client, (AwsCli, Rclone, S5cmd))
        there = client.address(bucket, "copy")
        client.sync(here, there)
        assert sorted(client.listed(bucket, "copy/")) == sorted(f"copy/{name}" for name in FILES)
        client.sync(there, back)
        assert read(back) == FILES
        (here / "plain.txt").write_bytes(b"changed, and longer")
        (here / "empty").unlink()
        written(here, {"dir/new": b"new"})
        client.sync(here, there)
        client.sync(there, back)
        assert read(back) == read(here)
        assert "dir/new" in read(back)


@pytest.mark.parametrize("kind", RCLONES, ids=name_of)
def test_a_difference_is_found(kind: Kind, lab: LabProcess, bucket: str, tmp_path: Path) -> None:
    here = tmp_path / "here"
    written(here, FILES)
    with kind.on(lab, tmp_path / "home") as client:
        assert isinstance(client, Rclone)
        there = client.address(bucket, "copy")
        client.sync(here, there)
        client.check(here, there)
        (here / "plain.txt").write_bytes(b"PLAIN")
        with pytest.raises(Refused, match=r"1 differences"):
            client.check(here, there)
