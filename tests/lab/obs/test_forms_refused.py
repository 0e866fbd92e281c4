"""Forms that are refused: times, conditions and fields of their policies, and what a form leaves out."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from typing import Any

import pytest

from lab.obs.test_settings import ask, form, own_policy
from support.servers.lab_process import LabProcess


def answered(lab: LabProcess, bucket: str, fields: dict[str, str]) -> tuple[int, str]:
    status, body, _ = ask(f"{lab.obs}/{bucket}", "POST", *form({"key": "k", **fields}))
    code = re.findall(rb"<Code>(.*?)</Code>", body)
    return status, code[0].decode() if code else ""


def signed(lab: LabProcess, policy: object) -> dict[str, str]:
    encoded = base64.b64encode(json.dumps(policy).encode()).decode()
    digest = hmac.new(lab.secret_key.encode(), encoded.encode(), hashlib.sha1).digest()
    return {"policy": encoded, "signature": base64.b64encode(digest).decode(), "AccessKeyId": lab.access_key}


@pytest.mark.parametrize("moment", ["2099-12-31T12:00:00.000Z", "2099-12-31T12:00:00Z", "2099-12-31T12:00:00.123456Z"])
def test_times_of_policies(lab: LabProcess, bucket: str, moment: str) -> None:
    conditions = [{"bucket": bucket}, ["starts-with", "$key", ""]]
    assert answered(lab, bucket, signed(lab, {"expiration": moment, "conditions": conditions}))[0] == 204


@pytest.mark.parametrize(
    "moment",
    [
        *("2099-12-31", "20991231T120000Z", "2099-12-31 12:00:00Z", "2099-12-31T12:00:00", "2099-W52-1T12:00:00Z"),
        *("2099-12-31T12:00:00+08:00", "2099-13-31T12:00:00Z", "Thu, 31 Dec 2099 12:00:00 GMT", "4102401600", ""),
        *(4102401600, None, {"year": 2099}, ["2099-12-31T12:00:00Z"]),
    ],
)
def test_other_times_are_no_times(lab: LabProcess, bucket: str, moment: object) -> None:
    conditions = [{"bucket": bucket}, ["starts-with", "$key", ""]]
    policy = {"expiration": moment, "conditions": conditions}
    assert answered(lab, bucket, signed(lab, policy)) == (400, "InvalidPolicyDocument")


def test_policies_that_are_none(lab: LabProcess, bucket: str) -> None:
    moment = "2099-12-31T12:00:00Z"
    policy: object
    for policy in (
        *([], "policy", 5, None, {}, {"expiration": moment}, {"EXPIRATION": moment, "conditions": []}),
        {"expiration": moment, "CONDITIONS": []},
        *(
            {"expiration": moment, "conditions": wrong}
            for wrong in list[Any]((5, "x", None, {"a": "1"}, [5], [[]], [{}], [{"a": "1", "b": "2"}], [["eq", "$a"]]))
        ),
        *(
            {"expiration": moment, "conditions": [wrong]}
            for wrong in ({"key": 5}, {"key": ["k"]}, ["like", "$key", "k"], ["eq", "key", "k"], ["eq", "$key", None])
        ),
        {"expiration": moment, "conditions": [["content-length-range", "a", 5]]},
        {"expiration": moment, "conditions": [["content-length-range", 1]]},
    ):
        assert answered(lab, bucket, signed(lab, policy)) == (400, "InvalidPolicyDocument"), policy


def test_what_a_signed_form_leaves_out(lab: LabProcess, bucket: str) -> None:
    proof = own_policy(lab, bucket)
    wanted = {"signature": "InvalidArgument", "policy": "InvalidArgument", "AccessKeyId": "UserKeyMustBeSpecified"}
    for name, code in wanted.items():
        fields = {field: value for field, value in proof.items() if field != name}
        assert answered(lab, bucket, fields) == (400, code), name
    of_v4 = {
        "policy": proof["policy"],
        "x-amz-algorithm": "AWS4-HMAC-SHA256",
        "x-amz-credential": f"{lab.access_key}/20300101/lab/s3/aws4_request",
        "x-amz-date": "20300101T000000Z",
        "x-amz-signature": "00" * 32,
    }
    for name in of_v4:
        fields = {field: value for field, value in of_v4.items() if field != name}
        assert answered(lab, bucket, fields) == (400, "InvalidArgument"), name
    assert answered(lab, bucket, of_v4) == (403, "SignatureDoesNotMatch")
    url, (body, headers) = f"{lab.obs}/{bucket}", form(proof)
    status, said, _ = ask(url, "POST", body, headers)
    assert (status, b"named &apos;key&apos;" in said or b"named 'key'" in said) == (400, True)
    without_file = body.replace(b'name="file"; filename="a.txt"', b'name="other"')
    status, said, _ = ask(url, "POST", without_file, headers)
    assert (status, b"IncorrectNumberOfFilesInPostRequest" in said) == (400, True)
    status, said, _ = ask(url, "POST", *form({"key": "k", "note": "x" * 21_000, **proof}))
    assert (status, b"MaxPostPreDataLengthExceededError" in said) == (400, True)
