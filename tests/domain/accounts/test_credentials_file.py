"""The console's file in the shapes it is met in, and everything else refused without a word of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.accounts.keys import Credentials, Secret, parse_credentials
from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.services.accounts.key_checks import MOST_BYTES, read_credentials

AK, SK = "AKEXAMPLE12345678901", "secret/key+that=nobody.sees0123456789abc"


@pytest.mark.parametrize(
    "content",
    [
        f"User Name,Access Key Id,Secret Access Key\nann,{AK},{SK}\n",
        f"User Name,Access Key Id,Secret Access Key\r\nann,{AK},{SK}\r\n",
        f'\ufeff"User Name","Access Key Id","Secret Access Key"\r\n"安, 学员","{AK}","{SK}"\r\n',
        f"Access key ID,Secret access key\n{AK},{SK}",
        f"access_key,secret_key\n{AK},{SK}\n",
        f"AK,SK\n  {AK} , {SK} \n\n",
        f"Secret Access Key,Created,Access Key Id,Note\n{SK},2024-01-01,{AK},mine\n",
        f"User Name;Access Key Id;Secret Access Key\nann;{AK};{SK}\n",
        f"User Name\tAccess Key Id\tSecret Access Key\nann\t{AK}\t{SK}\n",
        f"\n\nUser Name,Access Key Id,Secret Access Key\n\nann,{AK},{SK}\n",
        f"User Name,Access Key Id,Secret Access Key\nann,{AK},{SK}\nann,{AK},{SK}\n",
        f"用户名,访问密钥,密钥\n学员,{AK},{SK}\n",
        f"{AK},{SK}",
    ],
)
def test_the_keys_are_found(content: str) -> None:
    found = parse_credentials(content)
    assert (found.access_key, found.secret_key.reveal(), found.token) == (AK, SK, None)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\ufeff\n",
        "hello",
        "a,b\n1,2\n",
        "Access Key Id,Secret Access Key\n",
        f"Access Key Id,Secret Access Key\n{AK}",
        f"Access Key Id,Secret Access Key\n{AK},\n",
        f"Access Key Id,Secret Access Key\n{AK},{SK} {SK}\n",
        f"User Name,Access Key Id\nann,{AK}\n",
        f"user@example.com,{SK}\n",
        f"{SK},{AK} x\n",
        '"' + "x" * 200_000,
    ],
)
def test_any_other_file_is_refused_with_a_sentence_that_holds_nothing_of_it(content: str) -> None:
    with pytest.raises(InvalidInput, match=r"contains no (complete )?access key") as caught:
        parse_credentials(content)
    told = caught.value.sentence() + caught.value.detail
    assert SK not in told and AK not in told and not caught.value.__cause__


def test_two_different_keys_are_not_chosen_between() -> None:
    with pytest.raises(InvalidInput, match="more than one"):
        parse_credentials(f"Access Key Id,Secret Access Key\n{AK},{SK}\n{AK[::-1]},{SK}\n")


@given(st.text())
def test_no_text_makes_it_stumble(content: str) -> None:
    try:
        found = parse_credentials(content)
    except InvalidInput:
        return
    assert found.access_key and found.secret_key


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_a_spreadsheet_program_may_have_written_it_again(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "凭证.csv"
    path.write_bytes(f"User Name,Access Key Id,Secret Access Key\r\n学员安,{AK},{SK}\r\n".encode(encoding))
    assert read_credentials(path).secret_key.reveal() == SK


def test_a_file_that_is_too_long_is_not_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    path.write_bytes(f"Access Key Id,Secret Access Key\n{AK},{SK}\n".encode() + b"\n" * MOST_BYTES)
    with pytest.raises(InvalidInput, match=r"contains no (complete )?access key"):
        read_credentials(path)


def test_a_file_of_anything_is_refused_not_stumbled_over(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(bytes(range(256)) * 100)
    with pytest.raises(InvalidInput):
        read_credentials(path)
    with pytest.raises(NotFound):
        read_credentials(tmp_path / "none.csv")


MADE = ("HPUAEXAMPLE123456789", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYaB")


def test_swapped_keys_are_noticed_before_they_are_anything() -> None:
    access_key, secret_key = MADE
    assert Credentials(access_key, Secret(secret_key)).hint == "HPUA…89"
    with pytest.raises(InvalidInput, match="swapped") as caught:
        Credentials(secret_key, Secret(access_key))
    assert secret_key not in caught.value.sentence() and "wJal" not in caught.value.sentence()
    with pytest.raises(InvalidInput, match="swapped"):
        parse_credentials(f"Access Key Id,Secret Access Key\n{secret_key},{access_key}\n")


@pytest.mark.parametrize(
    "pair",
    [("minioadmin", "minioadmin"), ("A" * 20, "B" * 20), ("A" * 40, "B" * 20), ("lower" * 8, "has-a-dash-20-letters")],
)
def test_keys_of_other_makers_are_taken_as_they_are(pair: tuple[str, str]) -> None:
    assert Credentials(pair[0], Secret(pair[1])).access_key == pair[0]
