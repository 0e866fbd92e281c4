"""`traindeck diag`: for any account or none, with a network or none; the report is listed before it is written."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from support.places import closed_port
from support.servers.terminal import terminal

KEYS = {"HUAWEICLOUD_SDK_AK": "ACCESSKEY1234567890X", "HUAWEICLOUD_SDK_SK": "secret+of/nobody=0123456789abcdefghijk"}


def test_the_lab_is_well_and_each_thing_has_its_verdict(traindeck: Traindeck, lab: dict[str, str]) -> None:
    traindeck("obs", "mb", "obs://bucket").must_be(0)
    told = traindeck("diag", "--json").must_be(0).document
    verdicts = {check["id"]: check["passed"] for check in told["checks"]}
    assert told["profile"] == "lab" and told["bundle"] == ""
    assert {"clock", "dns", "tls", "obs", "write", "upload", "disk", "home", "account"} <= {
        name for name, passed in verdicts.items() if passed
    }
    assert verdicts["keyring"] is None and verdicts["download"] is None
    assert not traindeck("obs", "ls", "obs://bucket", "--recursive", "--json").must_be(0).rows
    lines = traindeck("--language", "zh_CN", "diag").must_be(0).out.splitlines()
    assert len(lines) >= len(verdicts) and any("密钥环" in line for line in lines)


def test_a_dead_network_and_no_account_have_their_codes(traindeck: Traindeck) -> None:
    nowhere = f"http://127.0.0.1:{closed_port()}"
    addresses = {f"TRAINDECK_{name}_ENDPOINT": nowhere for name in ("OBS", "MODELARTS", "IAM")}
    dead = traindeck("diag", "--profile", "environment", environment=KEYS | addresses).must_be(5)
    assert "cannot be reached" in dead.out and "firewall" in dead.out
    assert KEYS["HUAWEICLOUD_SDK_SK"] not in dead.out + dead.said
    nobody = traindeck("diag", "--profile", "nobody").must_be(3)
    assert "The account “nobody” does not exist." in nobody.out


def test_a_report_is_listed_written_and_replaced_only_when_that_is_meant(
    traindeck: Traindeck, lab: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "report.zip"
    written = traindeck("diag", "--bundle", file, "--json").must_be(0)
    assert written.document["bundle"] == str(file) and "diagnosis.json" in written.said
    with zipfile.ZipFile(file) as archive:
        assert json.loads(archive.read("diagnosis.json"))["checks"]
    file.write_bytes(b"of somebody else")
    refused = traindeck("diag", "--bundle", file).must_be(2)
    assert "--yes" in refused.said and file.read_bytes() == b"of somebody else"
    assert not refused.out, "nobody waited for what could not be written"
    traindeck("diag", "--bundle", file, "--yes").must_be(0)
    assert zipfile.is_zipfile(file)
    traindeck("diag", "--bundle", tmp_path / "none" / "report.zip").must_be(4)
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are of the others")
def test_at_a_terminal_the_report_is_asked_for(tmp_path: Path, lab: dict[str, str]) -> None:
    with terminal(tmp_path, "diag", "--bundle", "report.zip") as seen:
        seen.read_until("[y/N]")
        assert "versions.txt" in seen.seen and not (tmp_path / "report.zip").exists()
        seen.type("n\n")
        assert seen.end() == 0
    assert not (tmp_path / "report.zip").exists()
