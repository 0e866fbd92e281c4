"""Making, opening, closing and removing buckets from the command line, against the real Lab."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from support.servers.anybody import Anybody
from support.servers.terminal import terminal


def fill(traindeck: Traindeck, folder: Path, bucket: str) -> None:
    (folder / "some").mkdir()
    for number in range(3):
        (folder / "some" / f"{number}").write_bytes(b"12345")
    traindeck("obs", "cp", "some", f"obs://{bucket}/some/").must_be(0)


def test_a_bucket_is_made_with_a_class_and_open_to_all(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    anybody = Anybody(lab["obs"])
    refused = traindeck("obs", "mb", "shared", "--access", "public-read").must_be(2)
    assert "--yes" in refused.said and "Anyone on the internet" in refused.said
    made = traindeck("obs", "mb", "obs://shared", "--class", "warm", "--access", "public-read", "--yes", "--json")
    assert made.must_be(0).document == {"bucket": "shared", "path": "obs://shared/", "created": True}
    fill(traindeck, tmp_path, "shared")
    assert anybody.get("/shared/some/1") == 200
    rows = traindeck("obs", "ls", "-r", "obs://shared/", "--json").rows
    assert {row["class"] for row in rows} == {"WARM"}

    # Made again with other wishes it would only seem to have them.
    traindeck("obs", "mb", "shared", "--access", "private").must_be(1)
    traindeck("obs", "mb", "shared").must_be(0)
    assert anybody.get("/shared/some/1") == 200
    traindeck("obs", "mb", "another", "--class", "GOLD").must_be(2)
    traindeck("obs", "mb", "obs://shared/folder/").must_be(2)
    traindeck("obs", "mb", "another", "--access", "everybody").must_be(2)


def test_a_bucket_opens_and_closes_by_template(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    anybody = Anybody(lab["obs"])
    traindeck("obs", "mb", "data").must_be(0)
    fill(traindeck, tmp_path, "data")
    shown = traindeck("obs", "policy", "data", "--json").must_be(0).document
    assert (shown["openness"], shown["public"], shown["template"], shown["policy"]) == (
        "private", False, "private", None,
    )  # fmt: skip
    assert [grant["permission"] for grant in shown["acl"]["grants"]] == ["FULL_CONTROL"]

    assert "--yes" in traindeck("obs", "policy", "data", "set", "public-read").must_be(2).said
    assert anybody.get("/data/some/1") == 403
    opened = traindeck("obs", "policy", "data", "set", "public-read", "--yes", "--json").must_be(0).document
    assert (opened["public"], opened["anybody"], opened["template"]) == (True, ["read"], "public-read")
    assert anybody.get("/data/some/1") == 200 and anybody.get("/data/") == 403
    words = traindeck("obs", "policy", "data").must_be(0).out
    assert "Public: anyone on the internet can read objects." in words and '"GetObject"' in words

    traindeck("obs", "policy", "data", "set", "public-read-write", "--acl", "--yes").must_be(0)
    assert anybody.put("/data/new") == 200
    closed = traindeck("obs", "policy", "data", "set", "private", "--json").must_be(0).document
    assert (closed["openness"], closed["anybody"]) == ("private", [])
    assert anybody.get("/data/some/1") == anybody.put("/data/new2") == anybody.get("/data/") == 403
    traindeck("obs", "policy", "data", "delete").must_be(0)
    traindeck("obs", "policy", "no-such-bucket-here").must_be(4)


def test_a_policy_of_ones_own_is_looked_at_before_it_is_sent(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    traindeck("obs", "mb", "data").must_be(0)
    statement = {
        "Effect": "Allow",
        "Principal": {"ID": ["domain/guest:user/*"]},
        "Action": ["GetObject"],
        "Resource": ["data/shared/*"],
    }
    good = json.dumps({"Statement": [statement]})
    (tmp_path / "good.json").write_text(good, "utf-8-sig")
    told = traindeck("obs", "policy", "data", "set", "--file", "good.json", "--json").must_be(0).document
    assert (told["openness"], told["public"], told["template"]) == ("custom", False, None)
    assert traindeck("obs", "policy", "data", "--json").document["policy"] == json.loads(good)

    broken = traindeck(
        "obs", "policy", "data", "set", "--file", "-", given=good.replace("GetObject", "GetObjct").encode()
    )
    assert "Line 1, column" in broken.must_be(2).said and "Did you mean GetObject?" in broken.said
    cut = traindeck("obs", "policy", "data", "set", "--file", "-", given=b'{\n "Statement": [')
    assert "Line 2, column 16: This is not JSON." in cut.must_be(2).said
    denial = {**statement, "Effect": "Deny", "Principal": "*", "Action": ["*"], "Resource": ["data", "data/*"]}
    locked = traindeck(
        "obs", "policy", "data", "set", "--file", "-", given=json.dumps({"Statement": [denial]}).encode()
    )
    assert "This denies yourself the permission to change or delete the policy." in locked.must_be(2).said
    assert traindeck("obs", "policy", "data", "--json").document["policy"] == json.loads(good)
    (tmp_path / "latin").write_bytes(b'{"\xff": 1}')
    traindeck("obs", "policy", "data", "set", "--file", "latin").must_be(2)
    traindeck("obs", "policy", "data", "set", "--file", "none").must_be(4)
    for words in (["set"], ["set", "private", "--file", "x"], ["delete", "--acl"], ["show", "private"],
                  ["set", "public-read-list", "--acl"]):  # fmt: skip
        traindeck("obs", "policy", "data", *words).must_be(2)


def test_a_bucket_goes_when_it_is_empty_or_by_force(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    traindeck("obs", "mb", "data").must_be(0)
    traindeck("obs", "rb", "data").must_be(0)
    traindeck("obs", "rb", "data").must_be(4)
    traindeck("obs", "mb", "data").must_be(0)
    fill(traindeck, tmp_path, "data")
    kept = traindeck("obs", "rb", "data").must_be(1)
    assert "--force" in kept.said
    asked = traindeck("obs", "rb", "data", "--force").must_be(2)
    assert "objects 3" in asked.said and "--yes" in asked.said
    assert len(traindeck("obs", "ls", "-r", "obs://data/", "--json").rows) == 3
    gone = traindeck("obs", "rb", "data", "--force", "--yes", "--json").must_be(0).document
    assert (gone["objects"], gone["bytes"], gone["fragments"]) == (3, 15, 0)
    assert traindeck("obs", "ls", "--json").must_be(0).rows == []


@pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal is POSIX")
def test_at_a_terminal_the_name_has_to_be_typed(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    traindeck("obs", "mb", "data").must_be(0)
    fill(traindeck, tmp_path, "data")
    for typed, code in (("date", 2), ("data", 0)):
        with terminal(tmp_path, "obs", "rb", "data", "--force") as there:
            there.read_until("Type “data” to confirm:")
            there.type(f"{typed}\n")
            assert there.end() == code
    assert traindeck("obs", "ls", "--json").must_be(0).rows == []
