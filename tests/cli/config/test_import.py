"""Accounts come over from rclone and obsutil: shown first, their keys into the keyring alone."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from Crypto.Cipher import AES
from Crypto.Util.Padding import pad

from support.cli_commands import LIMIT_S, Answer, Traindeck
from support.planted import found_in
from support.servers.secret_service import SecretService
from support.servers.terminal import program_at_terminal

AK, SK = "ACCESSKEY1234567890X", "secret+of/another=program-0123456789abcd"


@pytest.fixture
def user(tmp_path: Path, keyring: SecretService, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Somebody with a home of his own, where other programs look."""
    monkeypatch.delenv("RCLONE_CONFIG", raising=False)
    home = tmp_path / "user"
    home.mkdir(exist_ok=True)
    roaming, configured = str(home / "AppData" / "Roaming"), str(home / ".config")
    return keyring.environment | {
        "HOME": str(home), "USERPROFILE": str(home), "APPDATA": roaming, "XDG_CONFIG_HOME": configured,
        "PATH": str(tmp_path / "no programs"),
    }  # fmt: skip


def rclone(user: dict[str, str], *words: str, **more: str) -> str:
    """The program itself writes its file."""
    program = Path(sysconfig.get_path("scripts")) / "rclone"
    environment = {**os.environ, **user, **more}
    done = subprocess.run([program, *words], capture_output=True, check=True, timeout=LIMIT_S, env=environment)
    return done.stdout.decode()


def make_remote(user: dict[str, str], name: str, url: str, **values: str) -> None:
    given = [f"{key}={value}" for key, value in values.items()]
    keys = f"access_key_id={AK}", f"secret_access_key={SK}"
    rclone(user, "config", "create", name, "s3", f"endpoint={url}", *keys, *given)


def says_no_secret(*answers: Answer) -> None:
    for answer in answers:
        assert not found_in(answer.out + answer.said, (SK,)) and AK not in answer.out + answer.said


def test_remotes_of_rclone_are_shown_added_known_again_replaced_and_named_anew(
    traindeck: Traindeck, user: dict[str, str], tmp_path: Path
) -> None:
    make_remote(user, "hw", "obs.cn-east-3.myhuaweicloud.com", provider="HuaweiOBS", region="cn-east-3")
    make_remote(user, "my store", "http://127.0.0.1:9000", provider="Minio")
    rclone(user, "config", "create", "disk", "alias", "remote=/")
    theirs = Path(rclone(user, "config", "file").splitlines()[-1])
    before = theirs.read_bytes()

    def take(*words: str) -> Answer:
        return traindeck("config", "import", *words, environment=user)

    shown = take("rclone", "--dry-run").must_be(0)
    assert "my-store" in shown.out and "http://127.0.0.1:9000" in shown.out and "ACCE…0X" in shown.out
    assert "Skipped “disk” of rclone. It is of the type “alias”" in shown.said
    unasked = take().must_be(2)
    assert "--yes" in unasked.said
    assert [row["name"] for row in traindeck("profile", "list", "--json").must_be(0).document] == ["lab"]

    taken = take("--yes", "--json").must_be(0)
    assert {row["name"]: (row["found"], row["added"]) for row in taken.document["accounts"]} == {
        "hw": ("new", True), "my-store": ("new", True),
    }  # fmt: skip
    assert [row["remote"] for row in taken.document["left_out"]] == ["disk"]
    assert theirs.read_bytes() == before
    kept = {row["name"]: row for row in traindeck("profile", "list", "--json").must_be(0).document}
    assert kept["hw"]["region"] == "cn-east-3" and kept["hw"]["obs_endpoint"] == ""
    assert kept["my-store"]["path_style"] is True and kept["my-store"]["signature"] == "v4"
    assert [row["found"] for row in take("--yes", "--json").must_be(0).document["accounts"]] == ["known", "known"]

    make_remote(user, "hw", "obs.cn-south-1.myhuaweicloud.com", provider="HuaweiOBS", region="cn-south-1")
    in_the_way = take("--yes").must_be(1)
    assert "name in use" in in_the_way.out and "--replace" in in_the_way.said
    anew = take("--yes", "--only", "hw", "--name", "hw=hw-south", "--json").must_be(0)
    assert [(row["name"], row["added"]) for row in anew.document["accounts"]] == [("hw-south", True)]
    replaced = take("--yes", "--replace").must_be(0)
    regions = {row["name"]: row["region"] for row in traindeck("profile", "list", "--json").must_be(0).document}
    assert regions["hw"] == regions["hw-south"] == "cn-south-1"
    take("--name", "nobody=x").must_be(4)
    says_no_secret(shown, unasked, taken, in_the_way, anew, replaced)
    for file in (tmp_path / "home").rglob("*"):
        assert not file.is_file() or SK.encode() not in file.read_bytes()
    # Only an account whose keys are in the keyring can keep them.
    keeping = ("--region", "cn-south-1", "--replace", "--keep-keys")
    traindeck("profile", "add", "hw", *keeping, environment=user).must_be(0)


def test_an_encrypted_file_of_rclone_is_refused(traindeck: Traindeck, user: dict[str, str]) -> None:
    make_remote(user, "hw", "obs.cn-east-3.myhuaweicloud.com", provider="HuaweiOBS", region="cn-east-3")
    program = f"\"{sys.executable}\" -c print('password')"
    rclone(user, "config", "encryption", "set", "--password-command", program)
    refused = traindeck("config", "import", "--yes", environment=user).must_be(2)
    assert "encrypted" in refused.said and "rclone config encryption remove" in refused.said


def encrypted(value: str, key: bytes) -> str:
    cipher = AES.new(key, AES.MODE_CBC, b"mockaesiv0123456")
    return base64.b64encode(cipher.encrypt(pad(value.encode(), 16))).decode()


@pytest.mark.parametrize("key", [b"mockaeskey123456", None], ids=["built from source", "typed"])
def test_keys_that_obsutil_does_not_hide_come_along(
    traindeck: Traindeck, user: dict[str, str], key: bytes | None
) -> None:
    ak, sk = (encrypted(value, key) if key else value for value in (AK, SK))
    content = f"endpoint=https://obs.cn-north-4.myhuaweicloud.com\nak={ak}\nsk={sk}\ntoken=\nendpointCrr=http://your-endpoint\n"
    Path(user["HOME"], ".obsutilconfig").write_text(content, encoding="utf-8")
    taken = traindeck("config", "import", "obsutil", "--yes", "--json", environment=user).must_be(0)
    (row,) = taken.document["accounts"]
    assert (row["name"], row["region"], row["added"], row["key"]) == ("obsutil", "cn-north-4", True, "ACCE…0X")
    says_no_secret(taken)


def test_keys_that_only_obsutil_can_read_are_asked_for(traindeck: Traindeck, user: dict[str, str]) -> None:
    hidden = [encrypted(value, b"another key of16") for value in (AK, SK)]
    content = f"endpoint=https://obs.cn-north-4.myhuaweicloud.com\nak={hidden[0]}\nsk={hidden[1]}\n"
    Path(user["HOME"], ".obsutilconfig").write_text(content, encoding="utf-8")
    without = traindeck("config", "import", "--yes", environment=user).must_be(1)
    assert "a key that only obsutil has" in without.said and "two lines" in without.said
    assert hidden[0] not in without.said + without.out
    lines = f"{AK}\n{SK}\n".encode()
    taken = traindeck("config", "import", "--yes", given=lines, environment=user).must_be(0)
    assert "Added “obsutil”" in taken.said
    assert traindeck("profile", "list", "--json").must_be(0).document[1]["key_hint"] == "ACCE…0X"
    says_no_secret(without, taken)


def test_files_that_are_none_end_with_a_sentence(traindeck: Traindeck, user: dict[str, str], tmp_path: Path) -> None:
    def of(file: Path) -> Answer:
        return traindeck("config", "import", "rclone", "--yes", "--file", file, environment=user)

    nowhere = traindeck("config", "import", environment=user).must_be(4)
    assert ".obsutilconfig" in nowhere.said and "rclone.conf" in nowhere.said
    traindeck("config", "import", "--file", "x", environment=user).must_be(2)
    of(tmp_path / "none").must_be(4)
    file = tmp_path / "strange.conf"
    for content in (b"[a]\n" * 300_000, b"\0\1\2", bytes(range(1, 256))):
        file.write_bytes(content)
        answer = of(file)
        assert answer.code in (0, 2) and answer.said
    assert of(tmp_path).must_be(2).said
    file.write_text(
        f"[\x1b[31mred\x07]\ntype = \x1b[2J\n[{'n' * 99}]\ntype=s3\nendpoint=http://[::1\n", encoding="utf-8"
    )
    painted = of(file).must_be(0)
    assert "\x1b" not in painted.said + painted.out and "red" in painted.said
    if sys.platform != "win32":
        loop, pipe = tmp_path / "loop", tmp_path / "pipe"
        loop.symlink_to(loop)
        os.mkfifo(pipe)
        assert of(loop).must_be(1).said and of(pipe).must_be(2).said and of(Path("/dev/zero")).must_be(2).said


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are of the others")
def test_at_a_terminal_it_asks_before_anything_is_added(user: dict[str, str], tmp_path: Path) -> None:
    content = "endpoint=https://obs.cn-north-4.myhuaweicloud.com\nak=\nsk=\n"
    Path(user["HOME"], ".obsutilconfig").write_text(content, encoding="utf-8")
    words = (sys.executable, "-m", "traindeck", "config", "import", "obsutil")
    with program_at_terminal(tmp_path, *words, environment=os.environ | user) as seen:
        seen.read_until("[y/N]")
        assert "obs.cn-north-4.myhuaweicloud.com" in seen.seen
        seen.type("n\n")
        assert seen.end() == 0 and "No account was added." in seen.seen
    with program_at_terminal(tmp_path, *words, environment=os.environ | user) as seen:
        seen.read_until("[y/N]")
        seen.type("y\n")
        seen.read_until("(AK): ")
        seen.type(f"{AK}\n")
        seen.read_until("not shown: ")
        seen.type(f"{SK}\n")
        seen.read_until("Added “obsutil”")
        assert seen.end() == 0 and SK not in seen.seen
