"""The fast reading of a listing gives what the thorough one gives, whatever a service writes."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.storage.objects import ObjectRow
from traindeck.services.storage.bounded_xml import flat, unfit
from traindeck.services.storage.documents import TAGS_OF_PAGES, page_of

KEYS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
PLAIN_KEYS = KEYS.filter(lambda key: key.isprintable())
OWNER = "<Owner><ID>o</ID><DisplayName>n</DisplayName></Owner>"


def listing(rows: str, *, encoded: bool = False, more: str = "", namespace: str = "") -> str:
    encoding = "<EncodingType>url</EncodingType>" if encoded else ""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult{namespace}><Name>b</Name>{encoding}'
        f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{more}{rows}</ListBucketResult>"
    )


def written(key: str, shape: str) -> str:
    modified, etag, size = "<LastModified>2026-11-18T14:00:00.000Z</LastModified>", "&quot;e&quot;", "<Size>7</Size>"
    storage_class = f"<StorageClass>{'STANDARD_IA' if shape == 's3' else 'WARM'}</StorageClass>"
    parts = {
        "obs": [modified, f"<ETag>{etag}</ETag>", size, OWNER, storage_class],
        "s3": [modified, '<ETag>"e"</ETag>', size, storage_class, OWNER],
        "typed": [modified, f"<ETag>{etag}</ETag>", size, OWNER, storage_class, "<Type>Normal</Type>"],
        "odd": [storage_class, size, f"<ETag>{etag}</ETag>", modified, "<New>1</New>"],
    }[shape]
    return "<Contents>" + "\n ".join([f"<Key>{key}</Key>", *parts]) + "</Contents>"


SHAPES = st.lists(st.tuples(KEYS, st.sampled_from(["obs", "s3", "typed", "odd"])), max_size=5)


def expected(keys: list[str]) -> list[ObjectRow]:
    return [ObjectRow(key, 7, datetime(2026, 11, 18, 14, tzinfo=UTC), "e", "WARM") for key in keys]


@given(SHAPES, st.sampled_from([quote, quote_plus]))
def test_encoded_pages(rows: list[tuple[str, str]], encode: object) -> None:
    xml = "".join(written(encode(key, safe=""), shape) for key, shape in rows)  # type: ignore[operator]
    page = page_of(listing(xml, encoded=True).encode())
    assert page.rows == expected([key for key, _ in rows])
    assert page.next_marker == "" and page.folders == []


@given(st.lists(st.tuples(PLAIN_KEYS, st.sampled_from(["obs", "s3", "odd"])), max_size=5))
def test_pages_that_are_not_encoded(rows: list[tuple[str, str]]) -> None:
    xml = listing("".join(written(escape(key), shape) for key, shape in rows), namespace=' xmlns="http://s3/doc/"')
    assert page_of(xml).rows == expected([key for key, _ in rows])


def test_folders_and_where_the_next_page_begins() -> None:
    folder = "<CommonPrefixes><Prefix>a+b%2F</Prefix></CommonPrefixes>"
    between = written("a", "obs") + folder + written("z%2B", "obs")
    for rows in (between, written("a", "obs") + written("z%2B", "obs") + folder):
        page = page_of(listing(rows, encoded=True, more="<NextMarker>m%20+</NextMarker>"))
        assert (page.folders, page.next_marker) == (["a b/"], "m  ")
        assert [row.key for row in page.rows] == ["a", "z+"]
    # Without a delimiter other services leave the marker out.
    assert page_of(listing(between, encoded=True, more="<MaxKeys>3</MaxKeys>")).next_marker == "z+"
    assert page_of(listing(folder, encoded=True, more="<MaxKeys>1</MaxKeys>")).next_marker == "a b/"


@pytest.mark.parametrize(
    "xml", ["", "<html>sign in</html>", "<ListBucketResult>", "<ListBucketResult><Contents></ListBucketResult>", "{}"]
)
def test_what_is_no_listing_is_not_an_empty_one(xml: str) -> None:
    with pytest.raises((ValueError, ET.ParseError)):
        page_of(xml)


HOSTILE = {
    "owners that never end": "<Contents><Key>a</Key><LastModified>m</LastModified><ETag>e</ETag><Size>1</Size>"
    + "<Owner></Owner>" * 900,
    "owners in every row": (
        "<Contents><Key>a</Key><LastModified>m</LastModified><ETag>e</ETag><Size>1</Size>"
        "<Owner></Owner><Owner></Owner>" * 400
    ),
    "one tag after the other": "<Contents><Key>" * 5000,
    "one long tag": "<Contents a='" + "x" * 300_000 + "'/>",
    "levels": "<Owner>" * 20_000 + "</Owner>" * 20_000,
    "attributes": "<Owner " + " ".join(f'a{number}=""' for number in range(9_000)) + "/>",
    "attributes of many": ("<Owner " + " ".join(f'a{number}=""' for number in range(9_000)) + "/>") * 8,
    "entities": "&a;" * 20_000,
    "blanks": "<Contents>" + " " * 100_000 + "</Contents>",
    "a page of another": "<Contents>\n</Contents>" * 90_000,
}
WITHIN_BOUNDS = ("attributes", "blanks", "a page of another")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_done_with_at_once(name: str) -> None:
    began = time.thread_time()
    try:
        page_of(listing(HOSTILE[name]))
        is_refused = False
    except ValueError:
        is_refused = True
    assert time.thread_time() - began < 2
    assert is_refused == (name not in WITHIN_BOUNDS)


@pytest.mark.parametrize(
    "declared", ['<!DOCTYPE a [<!ENTITY b "c">]>', "<!doctype a>", '<!DOCTYPE a SYSTEM "file:///etc/passwd">']
)
def test_a_page_declares_nothing(declared: str) -> None:
    page = listing(written("k", "obs")).replace("<ListBucketResult>", f"{declared}<ListBucketResult>")
    with pytest.raises(ValueError):
        page_of(page)


def test_a_page_of_equal_rows_is_read_without_a_tree() -> None:
    rows = "".join(written(f"k{number}", "obs").replace("\n ", "") for number in range(9))
    found = flat(listing(rows), TAGS_OF_PAGES)
    assert found is not None and found.count(found[found.index("k0") + 1]) == 9
    assert page_of(listing(rows)).rows == expected([f"k{number}" for number in range(9)])


@pytest.mark.parametrize("key", [" k", "k", "Key", "\tk", "]]>", "&amp;", "a" * 300_000])
@pytest.mark.parametrize("between", ["", "\n", "  "])
def test_blanks_between_elements_belong_to_no_name(key: str, between: str) -> None:
    rows = [written(escape(name), "obs").replace("\n ", "") for name in (key, "z", "z")]
    xml = listing(between.join(("", *rows, "")).replace("<Key>", f"{between}<Key>"), more="<NextMarker> n</NextMarker>")
    if len(key) > 100_000:
        with pytest.raises(ValueError):
            page_of(xml)
        return
    page = page_of(xml)
    assert page.rows == expected([key, "z", "z"]) and page.next_marker == " n"


def test_the_sdk_is_given_no_document_beyond_bounds() -> None:
    many = " ".join(f'a{number}="v"' for number in range(300_000))
    spread = "".join(f'<a b{number}="" c=""/>' for number in range(15_000))
    began = time.thread_time()
    for body in (f"<R {many}/>", f"<R>{spread}</R>", "<!DOCTYPE a><R/>", "<a>" * 100 + "</a>" * 100, "<a/>" * 300_000):
        assert unfit(body.encode())
    for body in ("", "{}", "<R/>", "<html><br></html>", "<R>", "\xff", listing(written("k", "obs"))):
        assert not unfit(body.encode("latin-1"))
    assert time.thread_time() - began < 2


@pytest.mark.parametrize(
    "body",
    [
        'xmlns="http"<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        '<!DOCxmlns="http://x"TYPE a [<!ENTITY b "c">]><a>&b;</a>',
        '<!--xmlns="http--><?x "--><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>?><a/>',
        'xmlns="http"' + "<a>" * 100 + "</a>" * 100,
    ],
)
def test_a_document_is_judged_as_the_sdk_parses_it(body: str) -> None:
    assert unfit(body.encode())
