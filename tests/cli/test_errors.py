"""What can go wrong on a user's machine: a sentence, an exit code, never a traceback.

That no answer holds a traceback is asserted for every command by the fixture `traindeck`.
"""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from support.places import closed_port, inside_mount
from support.servers.secret_service import SecretService
from traindeck.runtime import language

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "resources" / "sample" / "digits"
AK, SK = "ACCESSKEY1234567890X", "secretkeythatnobodymaysee1234567890abcdef"


def endpoints(lab: dict[str, str]) -> list[str]:
    return [
        "--obs-endpoint", lab["obs"], "--modelarts-endpoint", lab["modelarts"], "--iam-endpoint", lab["iam"],
        "--path-style", "--project-id", lab["project_id"],
    ]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The sample project with its bucket not made yet."""
    folder = tmp_path / "项目 one"
    shutil.copytree(SAMPLE, folder)
    return folder


def test_a_wrong_secret_key_is_said_to_be_one(
    traindeck: Traindeck, lab: dict[str, str], keyring: SecretService
) -> None:
    with_keys = keyring.environment
    lines = f"{lab['access_key']}\n{SK}\n".encode()
    added = traindeck(
        "profile", "add", "wrong", "--region", "lab", *endpoints(lab), given=lines, environment=with_keys
    ).must_be(0)  # fmt: skip
    assert SK not in added.out + added.said
    listed = traindeck("obs", "ls", "--profile", "wrong", environment=with_keys).must_be(3)
    assert "secret" in listed.said.lower()
    checked = traindeck("profile", "check", "wrong", "--json", environment=with_keys).must_be(3)
    assert False in [check["passed"] for check in checked.document["checks"]]
    engines = traindeck("engines", "--profile", "wrong", "--json", environment=with_keys).must_be(3)
    assert engines.error["kind"] == "credentials"
    assert engines.error["retryable"] is False
    for answer in (listed, checked, engines):
        assert SK not in answer.out + answer.said


def test_a_service_that_is_not_there_is_worth_another_try(traindeck: Traindeck, keyring: SecretService) -> None:
    nowhere = f"http://127.0.0.1:{closed_port()}"
    gone = dict.fromkeys(("obs", "modelarts", "iam"), nowhere) | {"project_id": "0" * 32}
    added = traindeck(
        "profile", "add", "gone", "--region", "cn-north-4", *endpoints(gone),
        given=f"{AK}\n{SK}\n".encode(), environment=keyring.environment,
    )  # fmt: skip
    added.must_be(0)
    for words in (["obs", "ls"], ["engines"]):
        answer = traindeck(*words, "--profile", "gone", "--json", environment=keyring.environment).must_be(5)
        assert answer.error["retryable"] is True
        assert answer.error["title"] in answer.said
        assert answer.error["hint"]


def test_a_lab_that_cannot_start_says_why(traindeck: Traindeck, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "lab").write_text("in the way", encoding="utf-8")
    answer = traindeck("obs", "ls").must_be(1)
    assert "The Lab could not be started." in answer.said
    assert str(tmp_path / "home" / "lab") in answer.said


def test_a_taken_port_is_named(traindeck: Traindeck, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        answer = traindeck("lab", "serve", "--port", port, "--json").must_be(1)
    assert f"port {port}" in answer.error["title"]
    assert "--port" in answer.error["hint"]


def test_a_second_lab_on_one_root_points_to_the_first(traindeck: Traindeck, own_lab: dict[str, str]) -> None:
    answer = traindeck("lab", "serve").must_be(1)
    assert "already running" in answer.said


def test_without_a_keyring_nothing_is_kept_in_plain_text(traindeck: Traindeck, tmp_path: Path) -> None:
    traindeck("job", "ls").must_be(0)  # so that there are files at all
    answer = traindeck("profile", "add", "p", "--region", "cn-north-4", given=f"{AK}\n{SK}\n".encode()).must_be(3)
    assert "keyring" in answer.said
    assert "HUAWEICLOUD_SDK_AK" in answer.said and "--profile environment" in answer.said
    assert "session only" not in answer.said, "a command is over before that is of use"
    assert SK not in answer.out + answer.said
    kept = [path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert kept
    assert not any(SK.encode() in content for content in kept)
    assert [profile["name"] for profile in traindeck("profile", "list", "--json").must_be(0).document] == ["lab"]


COMMANDS = [["profile", "list"], ["job", "ls"], ["obs", "ls"], ["lab", "serve"], ["profile", "use", "lab"]]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_home_that_cannot_be_one_is_named(traindeck: Traindeck, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "file").write_text("No folder", encoding="utf-8")
    home = tmp_path / "file" / "home"
    answer = traindeck(*words, environment={"TRAINDECK_HOME": str(home)}).must_be(1)
    assert str(tmp_path / "file") in answer.said


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_read_only_home_is_named(traindeck: Traindeck, tmp_path: Path, words: list[str]) -> None:
    before = inside_mount(tmp_path / "ro", "ro")
    home = tmp_path / "ro" / "home"
    answer = traindeck(*words, before=before, environment={"TRAINDECK_HOME": str(home)}).must_be(1)
    assert str(home) in answer.said


# The settings are so small that they find room on any disk that still takes another file.
@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["job", "ls"], "size=64k"),
        (["profile", "use", "lab"], "size=64k,nr_inodes=4"),
        (["lab", "serve"], "size=64k"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_full_disk_is_said_to_be_full(traindeck: Traindeck, tmp_path: Path, words: list[str], options: str) -> None:
    before = inside_mount(tmp_path / "small", options)
    answer = traindeck(*words, before=before, environment={"TRAINDECK_HOME": str(tmp_path / "small" / "home")})
    answer.must_be(1)
    assert "full" in answer.said or "No space" in answer.said
    assert "Free" in answer.said


def test_a_full_disk_at_the_target_of_a_copy_leaves_no_part_of_it(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    big = tmp_path / "big"
    big.write_bytes(os.urandom(200_000))
    traindeck("obs", "mb", "obs://full-disk").must_be(0)
    traindeck("obs", "cp", big, "obs://full-disk/").must_be(0)
    before = inside_mount(tmp_path / "small", "size=64k")
    look = 'small="$1"; shift; "$@"; code=$?; ls "$small" >&2; exit $code'
    answer = traindeck(
        "obs", "cp", "obs://full-disk/big", tmp_path / "small" / "big.bin",
        before=(*before, "sh", "-c", look, "sh", str(tmp_path / "small")),
    ).must_be(1)  # fmt: skip
    assert "full" in answer.said
    assert "big.bin" not in answer.said.splitlines(), "a whole-looking file that is not whole"


def test_a_missing_boot_file_is_named_before_anything_is_sent(
    traindeck: Traindeck, project: Path, lab: dict[str, str]
) -> None:
    (project / "train.py").unlink()
    answer = traindeck("job", "submit", project / "job.toml")
    assert answer.code in (1, 2, 4)
    assert "train.py" in answer.said
    assert traindeck("job", "ls", "--json").must_be(0).document == []


def test_a_mistake_in_the_job_file_has_its_line(traindeck: Traindeck, project: Path) -> None:
    file = project / "job.toml"
    source = file.read_text(encoding="utf-8").replace("nodes = 1", "noodes = 1")
    file.write_text(source, encoding="utf-8")
    line = source.splitlines().index(next(line for line in source.splitlines() if line.startswith("noodes"))) + 1
    answer = traindeck("job", "submit", file, "--json").must_be(2)
    assert f"Line {line}" in answer.error["title"]
    assert "nodes" in answer.error["hint"]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["job", "show", "nothing"], 4, "No run matches “nothing”."),
        (["job", "logs", "last"], 4, "No runs yet."),
        (["job", "submit", "none.toml"], 4, "none.toml"),
        (["job", "logs", "last", "--grep", "("], 2, "not a regular expression"),
        (["profile", "use", "nobody"], 4, "The account “nobody” does not exist."),
        (["profile", "check", "nobody"], 4, "The account “nobody” does not exist."),
        (["profile", "remove", "lab"], 2, "cannot be removed"),
        (["profile", "add", "p", "--region", "cn-north-4"], 2, "The keys are missing."),
        (["profile", "add", "p", "--region", "cn-north-4", "--env"], 2, "The environment variables contain no keys."),
        (["profile", "add", "p", "--region", "cn-north-4", "--csv", "no.csv"], 4, "no.csv"),
        (["obs", "ls", "--profile", "nobody"], 4, "The account “nobody” does not exist."),
        (["obs", "ls", "obs://A"], 2, "is not an OBS path"),
        (["obs", "mb", "obs://bucket/folder/"], 2, "is a folder, not a bucket"),
        (["obs", "cp", "a", "b"], 2, "Source and destination are both on this computer."),
        (["obs", "cp", "-", "obs://bucket/"], 2, "needs a name"),
        (["obs", "cp", "a", "b", "obs://bucket/name"], 2, "End the destination with “/”: obs://bucket/name/"),
        (["obs", "cp", "obs://b-1/a", "obs://b-1/b", "-"], 2, "Only one object"),
        (["obs", "rm", "obs://bucket/folder/"], 2, "Add --recursive"),
        (["engines", "--nonsense"], 2, "unrecognized arguments: --nonsense"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_mistake_has_a_sentence_and_a_code(traindeck: Traindeck, words: list[str], code: int, sentence: str) -> None:
    answer = traindeck(*words).must_be(code)
    assert sentence in answer.said
    assert answer.out == ""


def test_an_error_with_json_is_one_document_on_standard_output(traindeck: Traindeck) -> None:
    answer = traindeck("job", "show", "nothing", "--json").must_be(4)
    assert set(answer.error) == {"title", "hint", "kind", "retryable", "detail"}
    assert answer.error["kind"] == "not_found"
    usage = traindeck("job", "--json", "nonsense").must_be(2)
    assert usage.error["kind"] == "usage"


def test_settings_that_are_damaged_are_named_and_left_alone(traindeck: Traindeck, tmp_path: Path) -> None:
    settings = tmp_path / "home" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{", encoding="utf-8")
    answer = traindeck("profile", "list").must_be(1)
    assert str(settings) in answer.said
    assert settings.read_text(encoding="utf-8") == "{"


def test_the_technical_part_is_there_for_who_asks(traindeck: Traindeck, tmp_path: Path) -> None:
    settings = tmp_path / "home" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{", encoding="utf-8")
    quiet, loud = traindeck("profile", "list"), traindeck("profile", "list", "--verbose")
    assert "Expecting property name" not in quiet.said
    assert "Expecting property name" in loud.said


def test_errors_are_said_in_chinese_where_a_translation_exists(traindeck: Traindeck) -> None:
    wanted = language.catalogue("zh_CN").gettext("No runs yet.")
    assert wanted != "No runs yet."
    assert wanted in traindeck("job", "show", "last", "--language", "zh_CN").must_be(4).said
    assert wanted in traindeck("job", "show", "last", environment={"LANG": "zh_CN.UTF-8"}).must_be(4).said


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_home_that_is_a_file_is_said_to_be_one(traindeck: Traindeck, tmp_path: Path, below: str) -> None:
    file = tmp_path / "taken"
    file.write_text("", encoding="utf-8")
    answer = traindeck("job", "ls", environment={"TRAINDECK_HOME": str(file / below)}).must_be(1)
    assert f"“{file}” is a file, not a folder." in answer.said
