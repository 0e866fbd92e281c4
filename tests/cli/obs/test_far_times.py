"""A file or an object of an impossible time does not stop the folder it is in."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from support.servers.beside import beside
from support.servers.faults import FaultyProxy, Request
from traindeck.domain.transfers.records import Item
from traindeck.runtime.clock import LATEST
from traindeck.runtime.files import file_stamp
from traindeck.services.transfers.bodies import looks_same, seen
from traindeck.services.transfers.local_tree import kept_link

FAR_SECONDS = {
    "of 2262": 9_223_372_036, "of 2263": 9_300_000_000, "of 2400": 13_569_465_600, "of 1950": -631_152_000,
    "of 1901": -2_147_483_648, "of 1970": 0,
}  # fmt: skip
LISTED = {
    "9999": b"9999-12-31T23:59:59.999Z",
    "9999, west": b"9999-12-31T23:59:59.999-23:59",
    "0001": b"0001-01-01T00:00:00.000Z",
    "0001, east": b"0001-01-01T00:00:00.000+23:59",
    "1950": b"1950-01-01T00:00:00.000Z",
    "no zone": b"2263-01-01T00:00:00",
}
KEPT = ["99999999999999999999.5", "9" * 5000, "-62135596800.0", "253402300799.9", "-1", "nan", "1e400"]


def test_a_folder_of_impossible_times_goes_up_and_comes_back(
    traindeck: Traindeck, lab: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name, seconds in FAR_SECONDS.items():
        file = folder / name
        file.write_bytes(name.encode())
        os.utime(file, ns=(seconds * 10**9, seconds * 10**9))
    (folder / "plain").write_bytes(b"plain")
    traindeck("obs", "mb", "obs://far").must_be(0)
    traindeck("obs", "cp", folder, "obs://far/cp/").must_be(0)
    for _ in range(2):
        traindeck("obs", "sync", folder, "obs://far/sync/", "--keep-times", "-y").must_be(0)
    again = traindeck("obs", "sync", folder, "obs://far/sync/", "-n", "--json").must_be(0)
    assert "of 2400" not in again.out
    assert len(traindeck("obs", "ls", "-r", "obs://far/", "--json").must_be(0).rows) == 2 * (len(FAR_SECONDS) + 1)
    traindeck("obs", "cp", "obs://far/cp/", tmp_path / "down").must_be(0)
    traindeck("obs", "sync", "obs://far/sync/", tmp_path / "synced", "--keep-times", "-y").must_be(0)
    for place in (tmp_path / "down", tmp_path / "synced"):
        assert {file.name: file.read_bytes() for file in place.iterdir() if file.name[0] != "."} == {
            name: name.encode() for name in (*FAR_SECONDS, "plain")
        }
    assert 0 < (tmp_path / "synced" / "of 2400").stat().st_mtime <= LATEST.timestamp()
    for name in ("of 1950", "of 1970"):
        assert (tmp_path / "synced" / name).stat().st_mtime_ns == FAR_SECONDS[name] * 10**9


def test_an_inode_of_64_bits_is_kept_as_63() -> None:
    for inode in (1, 2**63 - 1, 2**63, 2**64 - 1):
        found = os.stat_result((0o100644, inode, 1, 1, 0, 0, 5, 0, 0, 0), {"st_mtime_ns": 2**63})
        assert 0 <= file_stamp(found)[2] < 2**63
        assert looks_same(found, seen(Item("k", "k", 0, 0, 0), found))


@pytest.mark.skipif(os.name == "nt", reason="needs the right to make links")
def test_a_link_of_an_impossible_time_is_kept_as_a_database_holds_it(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("there")
    far_ns = 13_569_465_600 * 10**9
    os.utime(link, ns=(far_ns, far_ns), follow_symlinks=False)
    assert kept_link(link, "link").modified_ns <= LATEST.timestamp() * 10**9


class Dated(FaultyProxy):
    """Before the Lab: each object of its listings is of this time, and says it was made from a file of that one."""

    def __init__(self, upstream: str, listed: bytes, kept: str = "") -> None:
        super().__init__(upstream)
        self._listed, self._kept = listed, kept.encode()

    async def _forward(self, request: Request) -> tuple[bytes, bytes]:
        head, body = await super()._forward(request)
        if b"<LastModified>" in body:
            body = re.sub(rb"<LastModified>[^<]*", b"<LastModified>" + self._listed, body)
            head = re.sub(rb"(?i)content-length: \d+", b"Content-Length: %d" % len(body), head)
        if self._kept:
            head = head.replace(b"\r\n\r\n", b"\r\nx-amz-meta-mtime: " + self._kept + b"\r\n\r\n")
        return head, body


def asking(traindeck: Traindeck, lab: dict[str, str], proxy: Dated) -> Traindeck:
    environment = {
        "HUAWEICLOUD_SDK_AK": lab["access_key"], "HUAWEICLOUD_SDK_SK": lab["secret_key"],
        "HUAWEICLOUD_SDK_REGION": lab["region"], "TRAINDECK_OBS_ENDPOINT": proxy.url,
        "TRAINDECK_PATH_STYLE": "1", "TRAINDECK_SIGNATURE": "v2",
    }  # fmt: skip
    return lambda *words: traindeck(*words, "--profile", "environment", environment=environment).must_be(0)


@pytest.mark.parametrize("listed", LISTED)
def test_an_object_of_an_impossible_time_is_listed_and_fetched(
    traindeck: Traindeck, lab: dict[str, str], tmp_path: Path, listed: str
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "a").write_bytes(b"a")
    (files / "b").write_bytes(b"b")
    with beside(Dated(lab["obs"], LISTED[listed])) as proxy:
        ask = asking(traindeck, lab, proxy)
        ask("obs", "mb", "obs://dated")
        ask("obs", "cp", files, "obs://dated/in/")
        assert len(ask("obs", "ls", "-r", "obs://dated/", "--json").rows) == 2
        for words in (("ls", "obs://dated/in/"), ("find", "obs://dated/", "a"), ("du", "obs://dated/"), ("ls",)):
            ask("obs", *words)
        ask("obs", "cp", "obs://dated/in/", tmp_path / "down")
        ask("obs", "sync", "obs://dated/in/", tmp_path / "down", "--keep-times", "-y")
    assert sorted(file.name for file in (tmp_path / "down").iterdir()) == ["a", "b"]


def test_a_file_that_an_object_says_to_be_of_an_impossible_time_comes_down(
    traindeck: Traindeck, lab: dict[str, str], tmp_path: Path
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "a").write_bytes(b"a")
    traindeck("obs", "mb", "obs://kept").must_be(0)
    traindeck("obs", "cp", files, "obs://kept/in/").must_be(0)
    for number, kept in enumerate(KEPT):
        with beside(Dated(lab["obs"], LISTED["9999"], kept)) as proxy:
            place = tmp_path / f"down {number}"
            for _ in range(2):
                asking(traindeck, lab, proxy)("obs", "sync", "obs://kept/in/", place, "--keep-times", "-y")
            assert (place / "a").read_bytes() == b"a" and (place / "a").stat().st_mtime <= LATEST.timestamp()
