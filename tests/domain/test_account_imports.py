"""What other programs' files say about accounts, also when nobody meant them well."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.planted import SECRET_KEY, found_in
from traindeck.domain.accounts.imports import (
    ForeignAccount,
    LeftOut,
    obsutil_accounts,
    profile_name,
    rclone_accounts,
    sections_of,
)
from traindeck.domain.accounts.profiles import Signature, is_profile_name
from traindeck.domain.errors import InvalidInput

AK = "ACCESSKEY1234567890X"
KEYS = f"access_key_id = {AK}\nsecret_access_key = {SECRET_KEY}\n"


def remote(name: str, **values: str) -> str:
    return f"[{name}]\ntype = s3\n{KEYS}" + "".join(f"{key} = {value}\n" for key, value in values.items())


def one(content: str) -> ForeignAccount:
    (found,) = rclone_accounts(content)
    assert isinstance(found, ForeignAccount), found
    return found


@pytest.mark.parametrize(
    ("values", "region", "url"),
    [
        (
            {"provider": "HuaweiOBS", "region": "cn-east-3", "endpoint": "obs.cn-east-3.myhuaweicloud.com"},
            "cn-east-3", "https://obs.cn-east-3.myhuaweicloud.com",
        ),
        ({"provider": "HuaweiOBS", "region": "cn-east-3"}, "cn-east-3", "https://obs.cn-east-3.myhuaweicloud.com"),
        ({"endpoint": "https://obs.cn-south-1.myhuaweicloud.com/"}, "cn-south-1", "https://obs.cn-south-1.myhuaweicloud.com"),
        ({"provider": "AWS", "region": "eu-west-2"}, "eu-west-2", "https://s3.eu-west-2.amazonaws.com"),
        ({"provider": "AWS", "region": "cn-north-1"}, "cn-north-1", "https://s3.cn-north-1.amazonaws.com.cn"),
        ({"provider": "Minio", "endpoint": "http://127.0.0.1:9000"}, "us-east-1", "http://127.0.0.1:9000"),
    ],
)  # fmt: skip
def test_a_remote_of_rclone_leads_where_it_leads_there(values: dict[str, str], region: str, url: str) -> None:
    found = one(remote("my remote", **values))
    assert (found.remote, found.profile.name) == ("my remote", "my-remote")
    assert (found.profile.region, found.profile.obs_url) == (region, url)
    assert found.credentials and found.credentials.secret_key.reveal() == SECRET_KEY
    assert not found_in(repr(found))


def test_how_it_is_spoken_to_comes_along() -> None:
    foreign = one(remote("a", provider="Minio", endpoint="s3.example.com"))
    assert foreign.profile.path_style and foreign.profile.signature is Signature.V4
    other = one(remote("a", provider="Other", endpoint="s3.example.com", force_path_style="false", v2_auth="true"))
    assert not other.profile.path_style and other.profile.signature is Signature.V2
    ours = one(remote("a", provider="HuaweiOBS", region="cn-north-4"))
    assert not ours.profile.path_style and ours.profile.signature is Signature.AUTO and not ours.profile.obs_endpoint


def test_what_is_no_account_for_us_is_named_with_its_reason() -> None:
    content = (
        "[drive]\ntype = drive\n[secret]\ntype = crypt\nremote = secret:\n[nothing]\n[temporary]\n"
        f"type = s3\nprovider = AWS\nsession_token = t\n{KEYS}[nowhere]\ntype = s3\nprovider = Other\n{KEYS}"
        f"[swapped]\ntype = s3\nprovider = AWS\naccess_key_id = {SECRET_KEY}\nsecret_access_key = {AK}\n"
    )
    found = list(rclone_accounts(content))
    assert all(isinstance(one, LeftOut) for one in found)
    reasons = {one.remote: str(one.reason) for one in found if isinstance(one, LeftOut)}
    assert "drive" in reasons["drive"] and "crypt" in reasons["secret"] and "temporary" in reasons["temporary"]
    assert "endpoint" in reasons["nowhere"] and "swapped" in reasons["swapped"] and "nothing" in reasons
    assert not found_in(str(reasons))


def test_keys_that_rclone_finds_elsewhere_are_said_to_be_missing() -> None:
    found = one("[here]\ntype = s3\nprovider = AWS\nenv_auth = true\n")
    assert found.credentials is None and "environment" in str(found.no_keys)


def test_an_encrypted_configuration_is_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidInput, match="encrypted") as caught:
        list(rclone_accounts("# Encrypted rclone configuration File\n\nRCLONE_ENCRYPT_V0:\nabc="))
    assert "rclone config encryption remove" in caught.value.sentence()


def test_obsutil_has_one_account_or_two_and_its_placeholders_are_none() -> None:
    fresh = "endpoint=http://your-endpoint\nak=*** Provide your Access Key ***\nsk=*** Provide your Secret Key ***\n"
    assert not list(obsutil_accounts(fresh, str))
    content = (
        f"endpoint=https://obs.cn-north-4.myhuaweicloud.com\nak={AK}\nsk={SECRET_KEY}\ntoken=\nproxyUrl=http://me:pw@there:8080\n"
        "endpointCrr=obs.cn-east-3.myhuaweicloud.com\nakCrr=x\nskCrr=y\n"
    )
    first, second = obsutil_accounts(content, lambda value: value if len(value) > 1 else None)
    assert isinstance(first, ForeignAccount) and isinstance(second, ForeignAccount)
    assert (first.profile.name, first.profile.region, first.profile.obs_endpoint) == ("obsutil", "cn-north-4", "")
    assert first.credentials and first.credentials.access_key == AK
    assert first.profile.proxy == "http://me@there:8080" and first.proxy_password
    assert (second.profile.name, second.profile.region) == ("obsutil-crr", "cn-east-3")
    assert second.credentials is None and "only obsutil has" in str(second.no_keys)
    (temporary,) = obsutil_accounts(f"endpoint=obs.example.com\nak={AK}\nsk={SECRET_KEY}\ntoken=abc", str)
    assert isinstance(temporary, LeftOut)


def test_values_mean_themselves() -> None:
    sections = sections_of("[a]\nx = %(y)s %d ${HOME}\ny=1=2\n[b\n= 3\nno value\n# [c]\n; z=1\n[a]\nz=%(z)s\n")
    assert sections == {"": {}, "a": {"x": "%(y)s %d ${HOME}", "y": "1=2", "": "3", "z": "%(z)s"}}


@given(st.text())
def test_no_text_is_too_strange(content: str) -> None:
    for content_of_one in (
        content,
        f"[{content}]\ntype=s3\nprovider={content}\nendpoint={content}\nregion={content}\n",
    ):
        try:
            found = list(rclone_accounts(content_of_one)) + list(obsutil_accounts(content_of_one, lambda _: None))
        except InvalidInput:
            continue
        for one in found:
            if isinstance(one, ForeignAccount):
                assert is_profile_name(one.profile.name)


@given(st.text())
def test_every_name_becomes_one_that_an_account_can_have(name: str) -> None:
    assert is_profile_name(profile_name(name))
