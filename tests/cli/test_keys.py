"""Keys come from a file, the environment or lines, and say what is missing without saying what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindeck.cli import keys
from traindeck.domain.errors import InvalidInput, NotFound

AK, SK = "ACCESSKEY1234567890X", "secret/key+that=nobody.sees"


@pytest.mark.parametrize(
    "content",
    [
        f"User Name,Access Key Id,Secret Access Key\nann,{AK},{SK}\n".encode(),
        f'\ufeff"User Name","Access Key Id","Secret Access Key"\r\n"安","{AK}","{SK}"\r\n'.encode(),
        f"Access key ID,Secret access key\n{AK},{SK}".encode(),
        f"User Name,Access Key Id,Secret Access Key\n安,{AK},{SK}\n".encode("gbk"),
    ],
    ids=["plain", "quoted with a mark", "two columns", "Chinese Windows"],
)
def test_the_file_from_the_console_is_understood(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "credentials.csv"
    path.write_bytes(content)
    found = keys.from_csv(path)
    assert (found.access_key, found.secret_key.reveal(), found.token) == (AK, SK, None)


@pytest.mark.parametrize(
    "content", ["", "User Name,Access Key Id\nann,x\n", f"{AK},{SK}\n", "Access Key Id,Secret Access Key\nx"]
)
def test_another_file_is_refused_without_quoting_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        keys.from_csv(path)
    assert "is not a credentials.csv" in caught.value.sentence()
    assert SK not in caught.value.sentence() + caught.value.detail


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        keys.from_csv(tmp_path / "none.csv")


def test_a_third_line_is_the_token_of_temporary_keys() -> None:
    found = keys.from_lines([AK, SK, "token"])
    assert found.token is not None
    assert found.token.reveal() == "token"
    assert keys.from_lines([AK, SK, ""]).token is None


@pytest.mark.parametrize("lines", [[], [AK], ["", SK]])
def test_a_missing_line_is_named(lines: list[str]) -> None:
    with pytest.raises(InvalidInput, match="keys are missing"):
        keys.from_lines(lines)


def test_the_environment_serves_machines_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="environment holds no keys"):
        keys.from_environment()
    monkeypatch.setenv("HUAWEICLOUD_SDK_AK", AK)
    monkeypatch.setenv("HUAWEICLOUD_SDK_SK", SK)
    assert keys.from_environment().secret_key.reveal() == SK
