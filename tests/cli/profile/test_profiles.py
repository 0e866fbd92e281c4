"""Accounts from the command line, with a real keyring and the real Lab behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli_commands import Answer, Traindeck
from support.servers.secret_service import SecretService


def endpoints(lab: dict[str, str]) -> list[str]:
    return [
        "--obs-endpoint", lab["obs"], "--modelarts-endpoint", lab["modelarts"], "--iam-endpoint", lab["iam"],
        "--path-style", "--project-id", lab["project_id"],
    ]  # fmt: skip


def test_an_account_is_added_checked_used_and_removed_and_its_secret_is_in_the_keyring_alone(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], keyring: SecretService
) -> None:
    environment = keyring.environment
    secret = lab["secret_key"]
    lines = f"{lab['access_key']}\r\n{secret}\r\n".encode()
    added = traindeck(
        "profile", "add", "mine", "--region", "lab", *endpoints(lab), "--json", given=lines, environment=environment
    ).must_be(0)
    assert added.document["name"] == "mine"
    assert added.document["current"] is False
    assert "The keys are stored in Secret Service." in added.said
    again = traindeck(
        "profile", "add", "mine", "--region", "lab", *endpoints(lab), given=lines, environment=environment
    ).must_be(1)
    assert "already" in again.said

    checked = traindeck("profile", "check", "mine", "--json", environment=environment).must_be(0)
    assert checked.document["valid"] is True
    verdicts = {check["id"]: check["passed"] for check in checked.document["checks"]}
    # There is no bucket yet: whether it may be written to is not known, and not green.
    assert verdicts == {"clock": True, "obs": True, "project": True, "modelarts": True, "write": None}
    traindeck("profile", "use", "mine", environment=environment).must_be(0)
    listed = traindeck("profile", "list", "--json", environment=environment).must_be(0)
    assert {profile["name"]: profile["current"] for profile in listed.document} == {"lab": False, "mine": True}
    made = traindeck("obs", "mb", "obs://by-mine", environment=environment).must_be(0)
    seen = traindeck("obs", "ls", "--profile", "lab", "--json", environment=environment).must_be(0)
    assert [row["bucket"] for row in seen.rows] == ["by-mine"]
    told = traindeck("profile", "check", environment=environment).must_be(0)
    assert "The credential is valid." in told.said and "Can write to obs://by-mine/" in told.out
    assert not traindeck("obs", "ls", "obs://by-mine", "--json", environment=environment).must_be(0).rows

    for answer in (added, again, checked, listed, made):
        assert secret not in answer.out + answer.said
    own_files = [path for path in (tmp_path / "home").rglob("*") if path.is_file() and "lab" not in path.parts]
    assert own_files
    assert not [path for path in own_files if secret.encode() in path.read_bytes()]

    unsaid = traindeck("profile", "remove", "mine", environment=environment).must_be(2)
    assert "“mine” and its keys" in unsaid.said and "--yes" in unsaid.said
    assert "mine" in traindeck("profile", "list", environment=environment).must_be(0).out
    removed = traindeck("profile", "remove", "mine", "--yes", environment=environment).must_be(0)
    assert "No account is selected now" in removed.said
    assert "mine" not in traindeck("profile", "list", environment=environment).must_be(0).out
    traindeck("obs", "ls", "--profile", "mine", environment=environment).must_be(4)


def test_keys_come_from_the_file_of_the_console_or_the_environment(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], keyring: SecretService
) -> None:
    file = tmp_path / "credentials.csv"
    content = f"User Name,Access Key Id,Secret Access Key\nann,{lab['access_key']},{lab['secret_key']}\n"
    file.write_text(content, encoding="utf-8")
    traindeck(
        "profile", "add", "from-file", "--region", "lab", *endpoints(lab), "--csv", file,
        environment=keyring.environment,
    ).must_be(0)  # fmt: skip
    keys = {"HUAWEICLOUD_SDK_AK": lab["access_key"], "HUAWEICLOUD_SDK_SK": lab["secret_key"]}
    for name, option in (("named", ["--env"]), ("nothing-else-given", [])):
        traindeck(
            "profile", "add", name, "--region", "lab", *endpoints(lab), *option,
            environment=keyring.environment | keys,
        ).must_be(0)  # fmt: skip
    for name in ("from-file", "named", "nothing-else-given"):
        traindeck("obs", "ls", "--profile", name, environment=keyring.environment).must_be(0)


def test_the_account_of_the_environment_is_there_while_it_is_set(traindeck: Traindeck) -> None:
    keys = {"HUAWEICLOUD_SDK_AK": "AKOFTHEENVIRONMENT", "HUAWEICLOUD_SDK_SK": "not-a-real-one"}
    listed = traindeck("profile", "list", "--json", environment=keys).must_be(0).document
    assert [(row["name"], row["region"]) for row in listed] == [("lab", "lab"), ("environment", "cn-north-4")]
    traindeck("obs", "ls", "--profile", "environment").must_be(4)
    # Nobody answers at that address: the keys were found, and the way to the service was tried.
    nowhere = {**keys, "HTTPS_PROXY": "http://127.0.0.1:9", "HUAWEICLOUD_SDK_REGION": "cn-nowhere-1"}
    away = traindeck("engines", "--profile", "environment", environment=nowhere).must_be(5)
    assert "keyring" not in away.said and "not-a-real-one" not in away.said
    wrong = traindeck("engines", "--profile", "environment", environment={**keys, "HUAWEICLOUD_SDK_REGION": "a b"})
    assert "a b" in wrong.must_be(2).said
    traindeck("profile", "remove", "environment", "--yes", environment=keys).must_be(2)
    taken = traindeck("profile", "add", "environment", "--region", "cn-north-4", given=b"AK\nSK\n").must_be(2)
    assert "cannot be used as an account name" in taken.said


def test_a_profile_can_be_removed_where_no_keyring_answers(
    traindeck: Traindeck, lab: dict[str, str], keyring: SecretService
) -> None:
    lines = f"{lab['access_key']}\n{lab['secret_key']}\n".encode()
    traindeck(
        "profile", "add", "mine", "--region", "lab", *endpoints(lab), given=lines, environment=keyring.environment
    ).must_be(0)
    removed = traindeck("profile", "remove", "mine", "--yes").must_be(0)
    assert "may still be in it" in removed.said and "and its keys" not in removed.out
    assert "mine" not in traindeck("profile", "list").must_be(0).out


WITHOUT_PROFILE = (
    ("obs", "ls"), ("obs", "sync", ".", "obs://b-1/"), ("obs", "cp", "file", "obs://b-1/"), ("obs", "rm", "-r", "-y", "obs://b-1/"),
    ("engines",), ("flavors",), ("profile", "check"), ("job", "submit", "cloud.toml"),
)  # fmt: skip


@pytest.mark.parametrize("was_current", [True, False])
def test_a_script_without_its_account_never_reaches_the_lab(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], keyring: SecretService, was_current: bool
) -> None:
    def run(*words: str) -> Answer:
        return traindeck(*words, environment=keyring.environment)

    lines = f"{lab['access_key']}\n{lab['secret_key']}\n".encode()
    for name in ("mine", "other"):
        traindeck(
            "profile", "add", name, "--region", "lab", *endpoints(lab), given=lines, environment=keyring.environment
        ).must_be(0)
    run("profile", "use", "mine" if was_current else "other").must_be(0)
    run("obs", "mb", "obs://b-1", "--profile", "lab").must_be(0)
    (tmp_path / "file").write_text("for nobody", encoding="utf-8")
    (tmp_path / "train.py").touch()
    (tmp_path / "cloud.toml").write_text(
        '[job]\nname = "n"\ntarget = "modelarts"\n[code]\nfolder = "."\nboot = "train.py"\n'
        '[engine]\nname = "E"\nversion = "v"\n[resources]\nflavor = "f"\nstop_after = "1h"\n'
        '[outputs]\ntrain_url = "obs://b-1/out/"\n',
        encoding="utf-8",
    )
    run("profile", "remove", "mine", "--yes").must_be(0)
    current = [row["name"] for row in run("profile", "list", "--json").must_be(0).document if row["current"]]
    if not was_current:
        assert current == ["other"]
        run("obs", "ls").must_be(0)
        return
    assert current == []
    for words in WITHOUT_PROFILE:
        refused = run(*words).must_be(2)
        assert "No account is selected" in refused.said and "--profile" in refused.said, words
    assert not run("obs", "ls", "obs://b-1/", "--profile", "lab", "--json").must_be(0).rows
    assert run("job", "ls", "--json").must_be(0).document == []
    # An unset variable of a script is no choice either.
    assert "empty" in run("obs", "ls", "--profile", "").must_be(2).said
    run("profile", "use", "other").must_be(0)
    run("obs", "ls").must_be(0)
