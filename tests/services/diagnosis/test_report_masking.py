"""A report is masked by its structure: documents, URLs and headers, whatever the secret looks like."""

from __future__ import annotations

import json
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.services.diagnosis.report import ProblemReport
from traindeck.services.diagnosis.report_masking import masked_json, masked_text, masked_url

S = "hunter2"

HIDDEN = [
    f"Cannot connect to u:{S}@host.example:443.", f"GET https://u:{S}@host/b?list-type=2 failed",
    f"https://{S}@host/", f"http://u:{S}/x@host/b", f"http://u:{S}:y@host:80/b", f"(https://u:{S}@h)",
    f"https://h/k?AccessKeyId={S}&Expires=1&Signature={S}", f"https://h/#{S}", f"?x-amz-security-token={S}",
    f"next=https%3A%2F%2Fh%2F%3FSignature%3D{S}", f"https://h/?next=https%3A%2F%2Fu%3A{S}%40h",
    f"Authorization: OBS AK:{S}", f"authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature={S}",
    f"X-Auth-Token: {S}", f"x-obs-security-token={S}", f"Set-Cookie: a={S}; path=/", f"Proxy-Authorization: Basic {S}",
    f'{{"password": "{S}"}}', f'answer 200: {{"auth": {{"x": 1, "y": "{S}"}}, "n": 1}}', f"'authorization': '{S}'",
    f'"secretAccessKey": "{S}"', f"password={S}", f"password = {S}", f"OS_PASSWORD={S}", f"sk:{S}",
    f"https://u:{S}#x@host/b", f"https://u:x#{S}@host", f"https://u:{S}?x@host", f"https://u:x?{S}@host",
    f"https://u:{S}#@x?y@host", f"https://u:{S}://x@host", f"https://u:12#{S}@h", f"https://u:x@{S}#y@h",
    f"https://{S}#x@host", f"https://h/http://u:{S}@h", f"u:{S}#x@host:443", f"https://u:a?b@h&token={S}",
    f"securitytoken={S}", f"secretkey={S}", f"accesstoken: {S}", f"MYSQL_PWD={S}", f"AWSAccessKeyId={S}",
    f"password=abc {S}", f"Authorization:Basic {S}", f"curl --password {S} https://h", f"['x', '--password', '{S}']",
    f'{{"securityToken": "{S}", "dbpassword": "{S}", "accesskey": "{S}", "pwd": "{S}"}}',
    f"settings.proxy=http://u:{S}@proxy:3128", f"a=1&token={S}&b=2",
]  # fmt: skip
SHOWN = [
    "http://host:8080/a@b: took 12:30", "12:30:01 INFO key 3 of 7", "obs://bucket/a=b/c", "pip 23.2 (python 3.11)",
    "https://obs.cn-north-4.myhuaweicloud.com:443/b?prefix=a%2F&max-keys=1000", "monkey: see", "loss: 0.25", "a@b.c",
    "https://host:443/b?mail=a@b&n=1", "https://host/b?mail=a@b", "C:/x@y", "tokenizer=a b", "PWD=/home/me",
    "--keep-times on", "git@host:me/a.git",
    "Traceback (most recent call last):", '  File "/x/y.py", line 3, in z', "", "   ",
]  # fmt: skip


@pytest.mark.parametrize("words", HIDDEN)
def test_what_opens_something_is_gone(words: str) -> None:
    assert S not in masked_text(f"2026-01-02 03:04:05 {words}")
    assert S not in masked_text(words)
    assert S not in masked_json(json.dumps({"log": [words], "n": 1}))


@pytest.mark.parametrize("words", SHOWN)
def test_what_is_harmless_stays(words: str) -> None:
    assert masked_text(words) == words


def test_values_of_telling_names_are_gone_however_deep() -> None:
    content = {"a": [{"b": {"clientSecret": S, "token": ["x", S], "has_token": True, "tokens": 0}}], "key_hint": "AK…1"}
    found = json.loads(masked_json(json.dumps(content)))
    assert S not in json.dumps(found)
    assert found["a"][0]["b"]["has_token"] is True and found["key_hint"] == "AK…1"
    assert json.loads(masked_json('{"webhook": "https://h/private", "w": ""}', {"webhook"}))["webhook"] == "…"


@given(st.text('ab:/@?#&=%. {}"[]\n', max_size=60))
def test_no_text_is_too_strange(words: str) -> None:
    assert masked_text(words).count("\n") == words.count("\n")
    masked_url(words), masked_json(words)


@pytest.mark.parametrize("piece", ["{", "://", "a:", "@", "&a=", "https://u:p@", '{"a":', "token: ", "[[", " "])
def test_a_long_line_takes_no_long_time(piece: str) -> None:
    began = time.thread_time()
    masked_text(piece * 40_000)
    assert time.thread_time() - began < 2


def nested_link(levels: int) -> str:
    words = f"https://h/?token={S}"
    for _ in range(levels):
        words = f"?a={quote(words, safe='')}"
    return words


DEEP = {
    "questions": "?a=" * 200 + f"?token={S}",
    "lists": "[" * 900 + f'{{"password": "{S}"}}' + "]" * 900,
    "lists in an object": '{"a": ' + "[" * 900 + f'{{"x":1,"password":"{S}"}}' + "]" * 900 + "}",
    "objects": '{"a":' * 900 + f'{{"x":1,"password":"{S}"}}' + "}" * 900,
    "links in links": nested_link(400),
}


@pytest.mark.parametrize("name", DEEP)
def test_no_text_is_too_deep(name: str) -> None:
    report = ProblemReport(()).with_part("a.json", DEEP[name]).with_part("b.log", f"before\n{DEEP[name]}\nafter")
    document, log = (part.words for part in report.parts)
    assert S not in document and S not in log
    assert log.startswith("before\n") and log.endswith("\nafter")
