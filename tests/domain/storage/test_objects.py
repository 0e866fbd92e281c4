"""Places in OBS, in every spelling people use."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import ObjectPath, is_bucket_name, size_words

buckets = st.from_regex(r"[a-z0-9][a-z0-9-]{1,20}[a-z0-9]", fullmatch=True)
keys = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/\\ "), max_size=20)


@given(buckets, st.lists(keys.filter(bool), max_size=4), st.booleans())
def test_every_spelling_is_one_place(bucket: str, parts: list[str], folder: bool) -> None:
    key = "/".join(parts) + ("/" if folder and parts else "")
    place = ObjectPath(bucket, key)
    quoted = quote(key)
    host = "obs.cn-north-4.myhuaweicloud.com"
    for spelling in (
        f"obs://{bucket}/{key}", f"s3://{bucket}/{key}", f"s3a://{bucket}/{key}", f"obs:/{bucket}/{key}",
        f"/{bucket}/{key}", f"{bucket}/{key}", f"  OBS://{bucket}/{key} ", f'"obs://{bucket}/{key}"',
        f"“ obs://{bucket}/{key} ”", f"<obs://{bucket}/{key}>",
        f"https://{bucket}.{host}/{quoted}", f"https://{bucket}.{host}:443/{quoted}", f"{bucket}.{host}/{quoted}",
        f"https://{host}/{bucket}/{quoted}", f"HTTP://{host.upper()}/{bucket}/{quoted}?AccessKeyId=x&Signature=y%3D",
        f"https://{bucket}.obs-website.cn-north-4.myhuaweicloud.com/{quoted}",
        f"http://127.0.0.1:9000/{bucket}/{quoted}", f"http://[::1]:9000/{bucket}/{quoted}",
        f"http://localhost:9000/{bucket}/{quoted}", f"https://s3.campus.example/{bucket}/{quoted}",
        f"https://{bucket}.obs.campus.example/{quoted}",
        f"https://console.huaweicloud.com/console/?region=cn-north-4#/obs/manage/{bucket}/object/list"
        f"?prefix={quote(key, safe='')}",
        f"https://storage.huaweicloud.com/obs/#/obs/manage/{bucket}/object/list?prefix={quote(key, safe='')}",
    ):  # fmt: skip
        assert ObjectPath.parse(spelling) == place, spelling
    assert ObjectPath.parse(str(place)) == place
    assert ObjectPath.parse(place.api_form) == place


def test_a_percent_sign_means_something_only_in_an_address() -> None:
    assert ObjectPath.parse("obs://bucket/100%25.txt").key == "100%25.txt"
    assert ObjectPath.parse("https://bucket.obs.cn-east-3.myhuaweicloud.com/100%2525%20a+b.txt").key == "100%25 a+b.txt"


def test_a_bucket_with_dots_is_told_from_the_host() -> None:
    address = "https://my.obs.data.obs.cn-north-4.myhuaweicloud.com/k"
    assert ObjectPath.parse(address) == ObjectPath("my.obs.data", "k")


@given(buckets, keys.filter(bool), keys.filter(bool))
def test_join_and_parent_undo_each_other(bucket: str, folder: str, name: str) -> None:
    above = ObjectPath(bucket, folder + "/")
    below = above.join(name)
    assert below.parent == above
    assert below.name == name
    assert above.parent == ObjectPath(bucket)


@pytest.mark.parametrize("spelling", [
    "", "obs://", "obs://UPPER/x", "obs://a/x", "192.168.0.1/x", "obs://a..b/x", "''", "https://example.org/b/x",
    "https://[broken", "https://console.huaweicloud.com/console/#/obs/manager/buckets", "https://obs.campus.example/",
])  # fmt: skip
def test_what_is_no_place_is_refused_with_a_hint(spelling: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        ObjectPath.parse(spelling)
    assert "obs://bucket/folder/" in refused.value.sentence()


def test_of_what_was_pasted_by_mistake_the_beginning_is_told() -> None:
    with pytest.raises(InvalidInput) as refused:
        ObjectPath.parse("print('training')\n" * 500)
    assert len(refused.value.sentence()) < 600 and "…” is not an OBS path." in refused.value.sentence()


def test_a_key_of_more_than_1024_bytes_is_refused() -> None:
    assert ObjectPath.parse("obs://bucket/" + "é" * 512).key
    with pytest.raises(InvalidInput):
        ObjectPath.parse("obs://bucket/" + "é" * 512 + "x")


@pytest.mark.parametrize("name", ["ab", "a" * 64, "-ab", "ab-", "a.-b", "a-.b", "a..b", "10.0.0.1", "Ab c", "a_b"])
def test_names_that_are_no_buckets(name: str) -> None:
    assert not is_bucket_name(name)


@pytest.mark.parametrize(
    ("size", "words"), [(None, "–"), (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (84_321, "84.3 kB"),
                        (999_499, "999 kB"), (999_600, "1 MB"), (2_147_483_648, "2.15 GB")]
)  # fmt: skip
def test_sizes_are_short_and_unknown_stays_unknown(size: int | None, words: str) -> None:
    assert size_words(size) == words
