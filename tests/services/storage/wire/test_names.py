"""Every name a service can hold goes out and comes back as it was."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.examples import some_of
from support.servers.lab_process import LabProcess
from support.stores.stores import Store, lab_store, new_bucket
from traindeck.domain.accounts.profiles import Signature
from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.data_ports import BytesBody
from traindeck.services.storage.documents import element, is_writable
from traindeck.services.storage.wire.requests import Request, metadata_headers, metadata_in, target

# Anything but halves of a pair, which no UTF-8 holds.
CHARACTERS = st.characters(exclude_categories=["Cs"])
KEYS = st.text(CHARACTERS, min_size=1, max_size=300).filter(lambda key: len(key.encode()) <= 1024)
SLOW = some_of(300)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.mark.parametrize("signature", [Signature.OBS, Signature.V4])
def test_names_survive_sending_listing_copying_and_removing(
    lab: LabProcess, runner: asyncio.Runner, signature: Signature
) -> None:
    store: Store = lab_store(lab, signature)
    bucket = new_bucket(store).bucket

    @SLOW
    @given(KEYS)
    @example("..")
    @example("../up//down/./here/")
    @example("//")
    @example("100%25%2f+ ?versionId=1&x#y")
    @example("\r\n\t\x01\x7f\ufffe")
    @example("𐀀é\u0301")
    @example("k" * 1024)
    def check(key: str) -> None:
        runner.run(round_trip(key))

    async def round_trip(key: str) -> None:
        path = ObjectPath(bucket, key)
        async with store.plane() as plane:
            stored = await plane.put(path, BytesBody(key.encode()))
            listed = (await plane.page(bucket)).rows
            assert [(row.key, row.etag) for row in listed] == [(key, stored.etag)]
            assert (await plane.page(bucket, key)).rows == listed
            copied = await plane.copy(path, ObjectPath(bucket, "copy"))
            assert copied.etag == stored.etag
            upload = await plane.begin_upload(path)
            assert [one.path async for page in plane.fragments(bucket) for one in page] == [path]
            await plane.abort_upload(path, upload)
            assert await plane.remove(bucket, [key, "copy"]) == []
            assert (await plane.page(bucket)).rows == []

    check()


@given(KEYS)
def test_the_target_means_the_same_key_again(key: str) -> None:
    line = target(Request("GET", ObjectPath("bucket", key), {"versionId": "a/b c"}), path_style=True)
    assert line.isascii() and not set(line) & set(" \r\n\t#")
    path, _, query = line.partition("?")
    assert unquote(path.removeprefix("/bucket/")) == key
    assert query == "versionId=a%2Fb%20c"


@given(st.text(CHARACTERS))
def test_documents_hold_what_they_say_they_can(content: str) -> None:
    if is_writable(content):
        assert ET.fromstring(element("Key", content)).text in (content, content or None)
    else:
        with pytest.raises(ET.ParseError):
            ET.fromstring(element("Key", content))


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True), st.text(CHARACTERS)))
def test_metadata_comes_back(metadata: dict[str, str]) -> None:
    headers = metadata_headers("x-obs-", metadata)
    assert all(value.isascii() and value.isprintable() for value in headers.values())
    assert metadata_in("x-obs-", headers) == metadata


async def test_a_name_that_is_no_text_is_refused_before_anything_is_sent(lab_obs: Store, bucket: str) -> None:
    async with lab_obs.plane() as plane:
        with pytest.raises(InvalidInput, match="Unicode"):
            await plane.put(ObjectPath(bucket, "half \udc80"), BytesBody(b"x"))
        with pytest.raises(InvalidInput, match="bucket, not an object"):
            await plane.put(ObjectPath(bucket), BytesBody(b"x"))
        with pytest.raises(InvalidInput, match=r"1,024"):
            await plane.put(ObjectPath(bucket, "k" * 1025), BytesBody(b"x"))
