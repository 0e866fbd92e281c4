"""No endpoint has a password, a query or a fragment: refused where accounts are made, taken out of old settings."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from support.cli_commands import Answer, Traindeck
from support.places import closed_port
from support.servers.secret_service import SecretService
from traindeck.domain.accounts.profiles import cleaned_endpoint

PASSWORD = "hunter2-of-the-endpoint"
AK, SK = "ACCESSKEY1234567890X", "secret+of/endpoints=0123456789abcdefghijk"
BAD = [
    f"https://u:{PASSWORD}@host.example",
    f"https://{PASSWORD}@host.example/",
    f"http://u:{PASSWORD}/x@host.example",
    f"https://host.example?token={PASSWORD}",
    f"https://host.example/#{PASSWORD}",
    f"u:{PASSWORD}@host.example",
    f"ftp://u:{PASSWORD}@host.example",
    f"https://[u:{PASSWORD}@::1",
]
OPTIONS = ("--obs-endpoint", "--modelarts-endpoint", "--iam-endpoint")


def says_nothing(*answers: Answer) -> None:
    for answer in answers:
        assert PASSWORD not in answer.out + answer.said


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("url", BAD)
def test_a_new_account_cannot_have_it(
    traindeck: Traindeck, tmp_path: Path, keyring: SecretService, option: str, url: str
) -> None:
    lines = f"{AK}\n{SK}\n".encode()
    words = ("profile", "add", "mine", "--region", "r1", option, url)
    refused = traindeck(*words, given=lines, environment=keyring.environment).must_be(2)
    says_nothing(refused)
    assert "must not contain" in refused.said
    settings = tmp_path / "home" / "settings.json"
    assert not settings.exists() or PASSWORD not in settings.read_text(encoding="utf-8")


@pytest.mark.parametrize("url", ["https://host.example:x", "https:", "https://ho st", "https://[::1", "host.example"])
def test_what_is_no_endpoint_is_named(traindeck: Traindeck, keyring: SecretService, url: str) -> None:
    words = ("profile", "add", "mine", "--region", "r1", "--obs-endpoint", url)
    refused = traindeck(*words, given=f"{AK}\n{SK}\n".encode(), environment=keyring.environment).must_be(2)
    assert f"“{url}” is not an endpoint." in refused.said


@pytest.mark.parametrize("name", ["OBS", "MODELARTS", "IAM"])
@pytest.mark.parametrize("url", BAD)
def test_the_account_of_the_environment_cannot_have_it(traindeck: Traindeck, name: str, url: str) -> None:
    variable = f"TRAINDECK_{name}_ENDPOINT"
    environment = {"HUAWEICLOUD_SDK_AK": AK, "HUAWEICLOUD_SDK_SK": SK, variable: url}
    answers = [
        traindeck(*words, environment=environment)
        for words in (
            ("obs", "ls", "--profile", "environment"),
            ("profile", "list"),
            ("diag", "--profile", "environment"),
        )
    ]
    says_nothing(*answers)
    assert answers[0].must_be(2) and variable in answers[0].said


def test_other_programs_files_cannot_bring_it(traindeck: Traindeck, tmp_path: Path, keyring: SecretService) -> None:
    file = tmp_path / "rclone.conf"
    parts = [
        f"[r{number}]\ntype = s3\naccess_key_id = {AK}\nsecret_access_key = {SK}\nendpoint = {url}\n"
        for number, url in enumerate(BAD)
    ]
    file.write_text("".join(parts), encoding="utf-8")
    obsutil = tmp_path / "obsutilconfig"
    obsutil.write_text(f"endpoint={BAD[0]}\nak={AK}\nsk={SK}\n", encoding="utf-8")
    for tool, place, count in (("rclone", file, len(BAD)), ("obsutil", obsutil, 1)):
        words = ("config", "import", tool, "--file", place)
        shown = traindeck(*words, "--dry-run", "--json", environment=keyring.environment)
        added = traindeck(*words, "--yes", environment=keyring.environment)
        says_nothing(shown, added)
        assert f"{shown.out}{shown.said}{added.said}".count("must not contain") >= count
    listed = traindeck("profile", "list", "--json", environment=keyring.environment).must_be(0)
    assert [profile["name"] for profile in listed.document] == ["lab"]


@pytest.mark.parametrize("sign", "#?/:@&")
@pytest.mark.parametrize("end", ["", "#x", "?a=b"])
def test_no_part_of_a_password_stays_in_an_endpoint(sign: str, end: str) -> None:
    for scheme in ("https://", ""):
        assert cleaned_endpoint(f"{scheme}u:pa{sign}ss@host.example:443{end}") == f"{scheme}host.example:443"
    assert cleaned_endpoint(f"https://host.example:443{end}") == "https://host.example:443"


def test_old_settings_are_cleaned_and_that_is_said_once(
    traindeck: Traindeck, tmp_path: Path, keyring: SecretService
) -> None:
    port = closed_port()
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    old = {
        "name": "old", "provider": "modelarts", "region": "r1", "signature": "v4", "path_style": True,
        "obs_endpoint": f"http://u:{PASSWORD}@127.0.0.1:{port}", "iam_endpoint": f"http://127.0.0.1:{port}?k={PASSWORD}",
        "modelarts_endpoint": f"http://127.0.0.1:{port}#{PASSWORD}", "project_id": "", "ca_file": "",
    }  # fmt: skip
    settings = home / "settings.json"
    settings.write_text(json.dumps({"schema": 1, "profiles": [old], "later": 7}), encoding="utf-8")
    first = traindeck("profile", "list", "--json", environment=keyring.environment).must_be(0)
    assert "old" in first.said and "Change that password" in first.said
    kept = json.loads(settings.read_text(encoding="utf-8"))
    assert kept["profiles"][0]["obs_endpoint"] == kept["profiles"][0]["iam_endpoint"] == f"http://127.0.0.1:{port}"
    assert kept["later"] == 7 and "cleaned" not in kept
    second = traindeck("profile", "list", "--json", environment=keyring.environment).must_be(0)
    assert not second.said
    keys = {"HUAWEICLOUD_SDK_AK": AK, "HUAWEICLOUD_SDK_SK": SK}
    asked = traindeck("obs", "ls", "--profile", "old", environment=keyring.environment | keys)
    report = tmp_path / "report.zip"
    bundle = traindeck("diag", "--profile", "old", "--bundle", report, environment=keyring.environment)
    says_nothing(first, second, asked, bundle)
    with zipfile.ZipFile(report) as archive:
        assert not [name for name in archive.namelist() if PASSWORD.encode() in archive.read(name)]
