"""What errors advise helps: it names the thing that is missing, full or shut, and an option that is there."""

from __future__ import annotations

import re
from pathlib import Path

import catalogues
import pytest

from support.cli_commands import Traindeck, parsers
from support.places import inside_mount
from support.servers.beside import beside
from support.servers.secret_service import SecretService
from support.stores.written import Line, WrittenServer

AK, SK = "HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK"


@pytest.mark.parametrize(("there", "missing"), [(AK, SK), (SK, AK)])
@pytest.mark.parametrize(
    "words", [("obs", "ls", "--profile", "environment"), ("profile", "add", "p", "--region", "lab", "--env")]
)
def test_a_half_set_environment_names_the_missing_half(
    traindeck: Traindeck, words: tuple[str, ...], there: str, missing: str
) -> None:
    answer = traindeck(*words, environment={there: "SOMETHINGTHATISAKEY0"}).must_be(2)
    assert f"{missing} is missing" in answer.said and there in answer.said
    assert "SOMETHINGTHATISAKEY0" not in answer.said + answer.out
    listed = traindeck("profile", "list", "--json", environment={there: "SOMETHINGTHATISAKEY0"}).must_be(0)
    assert [row["name"] for row in listed.document] == ["lab"]


def test_an_environment_without_keys_names_both(traindeck: Traindeck) -> None:
    answer = traindeck("obs", "ls", "--profile", "environment").must_be(4)
    assert AK in answer.said and SK in answer.said
    assert "profile add" not in answer.said, "that name cannot be added"


def test_an_account_that_is_there_is_replaced_by_an_option(
    traindeck: Traindeck, lab: dict[str, str], keyring: SecretService
) -> None:
    add = ("profile", "add", "mine", "--region", "lab", "--obs-endpoint", lab["obs"])
    keys = f"{lab['access_key']}\n{lab['secret_key']}\n".encode()
    traindeck(*add, given=keys, environment=keyring.environment).must_be(0)
    again = traindeck(*add, given=keys, environment=keyring.environment).must_be(1)
    assert "--replace" in again.said
    traindeck(*add, "--replace", given=keys, environment=keyring.environment).must_be(0)


async def _without_fragments(line: Line) -> None:
    while "uploads" in await line.head():
        await line.answer(501, b"<Error><Code>NotImplemented</Code></Error>", Content_Type="application/xml")


def test_a_service_without_a_list_of_unfinished_uploads_is_said_to_be_one(traindeck: Traindeck) -> None:
    keys = {AK: "AKOFAFOREIGNSERVER00", SK: "SKOFAFOREIGNSERVER0000000000000000000000", "TRAINDECK_PATH_STYLE": "1"}
    with beside(WrittenServer(_without_fragments)) as server:
        environment = keys | {"TRAINDECK_OBS_ENDPOINT": server.url, "TRAINDECK_SIGNATURE": "v4"}
        answer = traindeck("obs", "fragments", "bucket", "--profile", "environment", environment=environment)
    assert "does not list fragments" in answer.must_be(1).said


@pytest.mark.usefixtures("permissions_hold")
def test_a_source_that_cannot_be_read_is_named(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    shut = tmp_path / "shut"
    shut.write_bytes(b"x")
    shut.chmod(0)
    traindeck("obs", "mb", "shut-bucket").must_be(0)
    answer = traindeck("obs", "cp", "shut", "obs://shut-bucket/").must_be(1)
    assert str(shut) in answer.said and "TRAINDECK_HOME" not in answer.said


def test_a_full_target_is_named_and_not_our_own_home(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    (tmp_path / "big").write_bytes(bytes(200_000))
    traindeck("obs", "mb", "full-disk").must_be(0)
    traindeck("obs", "cp", "big", "obs://full-disk/").must_be(0)
    target = tmp_path / "small" / "big.bin"
    answer = traindeck("obs", "cp", "obs://full-disk/big", target, before=inside_mount(tmp_path / "small", "size=64k"))
    assert str(target) in answer.must_be(1).said
    assert "Free up space on its disk" in answer.said and "TRAINDECK_HOME" not in answer.said


def test_a_home_that_is_shut_can_be_another(traindeck: Traindeck, tmp_path: Path) -> None:
    home = tmp_path / "ro" / "home"
    answer = traindeck(
        "job", "ls", before=inside_mount(tmp_path / "ro", "ro"), environment={"TRAINDECK_HOME": str(home)}
    ).must_be(1)
    assert str(home) in answer.said and "TRAINDECK_HOME" in answer.said


def test_details_that_are_kept_back_can_be_had(traindeck: Traindeck, lab: dict[str, str]) -> None:
    bad = traindeck("obs", "mb", "obs://details-bucket", "--class", "NONSENSE")
    assert ("-v shows the details." in bad.said) is ("details" in bad.said)


def test_every_option_that_is_advised_is_there() -> None:
    """Those of any command: which one is meant, the sentence says."""
    sentences = [form for sentence in catalogues.said() for form in sentence.forms]
    advised = {option for sentence in sentences for option in re.findall(r"(?<![\w-])--[a-z][a-z_-]+", sentence)}
    offered = {option for _, of in parsers() for option in re.findall(r"--[a-z][a-z_-]+", of.format_help())}
    own = {"--data_url", "--train_url", "--lr", "--logdir"}
    assert advised - offered == own, "examples of a script's own, and one of TensorBoard"
