"""Accounts of a Lab by hand, while it runs and while it does not."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from obs import ObsClient

from support.cli_commands import Traindeck, serving
from traindeck.lab.faults import Fault, Kind
from traindeck.lab.training.lab_settings import LabSettings


def test_accounts_are_made_listed_and_removed(traindeck: Traindeck, tmp_path: Path) -> None:
    root = tmp_path / "a lab"
    assert traindeck("lab", "account", "ls", "--root", root, "--json").must_be(0).document == []
    with serving("--root", str(root)) as facts:
        made = traindeck("lab", "account", "add", "second", "--root", root, "--json").must_be(0).document
        client = ObsClient(
            access_key_id=made["access_key"],
            secret_access_key=made["secret_key"],
            server=facts["obs"],
            max_retry_count=0,
        )
        assert client.createBucket("of-the-second").status == 200
        shown = traindeck("lab", "account", "ls", "--root", root).must_be(0).out
        assert "second" in shown
        assert made["secret_key"] not in shown
        listed = traindeck("lab", "account", "ls", "--root", root, "--json").must_be(0)
        assert [one["name"] for one in listed.document] == ["lab", "second"]
        assert made["secret_key"] not in listed.out
        traindeck("lab", "account", "remove", "second", "--root", root).must_be(0)
        assert client.listBuckets().errorCode == "InvalidAccessKeyId"
        client.close()


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("add", "lab"), "conflict"),
        (("add", "no good"), "usage"),
        (("remove", "lab"), "conflict"),
        (("remove", "nobody"), "not_found"),
    ],
)
def test_what_is_refused(traindeck: Traindeck, tmp_path: Path, words: tuple[str, str], kind: str) -> None:
    made = traindeck("lab", "account", "add", "one", "--root", tmp_path / "lab").must_be(0)
    assert "accounts.json" in made.out
    answer = traindeck("lab", "account", *words, "--root", tmp_path / "lab", "--json")
    assert answer.code != 0
    assert words[1] in answer.error["title"]
    assert answer.error["kind"] == kind


def test_an_absent_lab_has_no_accounts_to_remove(traindeck: Traindeck, tmp_path: Path) -> None:
    answer = traindeck("lab", "account", "remove", "one", "--root", tmp_path / "none")
    assert answer.code == 4
    assert not (tmp_path / "none").exists()


def test_rules_that_cannot_be_followed_are_named(traindeck: Traindeck, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[[fault]]\n", "utf-8")
    answer = traindeck("lab", "serve", "--root", tmp_path / "lab", "--faults", rules)
    assert answer.code != 0
    assert "at least its kind" in answer.said
    assert str(rules) in answer.said


@pytest.mark.parametrize("words", [("serve",), ("account", "ls"), ("account", "add", "one")])
def test_damaged_accounts_are_told_with_what_is_lost(
    traindeck: Traindeck, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "accounts.json").write_text("junk", "utf-8")
    answer = traindeck("lab", *words, "--root", tmp_path).must_be(1)
    assert "accounts.json” is damaged" in answer.said
    assert "belong to no account" in answer.said
    assert (tmp_path / "accounts.json").read_text("utf-8") == "junk"


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_settings_and_rules_are_explained_where_they_are_used(traindeck: Traindeck, language: str) -> None:
    shown = traindeck("--language", language, "lab", "serve", "--help").must_be(0).out
    words = {one.name for one in (*fields(Fault), *fields(LabSettings))} - {"pythons"}
    words |= {kind.value for kind in Kind} | {"[engines]", "[[fault]]", "lab.toml", "faults.toml", "control.json"}
    joined = "".join(shown.split())
    assert {word for word in words if word not in joined} == set()
