"""What is set for buckets, from the command line and against the real Lab, with another program looking on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.cli_commands import Traindeck, put_object, s3

LIFECYCLE = {
    "Rules": [
        {
            "ID": "old", "Filter": {"Prefix": "logs/"}, "Status": "Enabled",
            "Transitions": [{"Days": 30, "StorageClass": "STANDARD_IA"}, {"Days": 60, "StorageClass": "COLD"}],
            "Expiration": {"Days": 90},
            "NoncurrentVersionExpiration": {"NoncurrentDays": 7},
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 3},
        }
    ]
}  # fmt: skip
CORS = {"CORSRules": [{"AllowedOrigins": ["https://a.example"], "AllowedMethods": ["GET"], "MaxAgeSeconds": 60}]}


@pytest.fixture
def bucket(traindeck: Traindeck, lab: dict[str, str]) -> str:
    traindeck("obs", "mb", "cli-bucket").must_be(0)
    return "cli-bucket"


def rules_file(folder: Path, rules: object) -> str:
    (folder / "rules.json").write_text(rules if isinstance(rules, str) else json.dumps(rules), encoding="utf-8")
    return "rules.json"


def test_versioning_is_shown_switched_on_and_suspended(traindeck: Traindeck, bucket: str, lab: dict[str, str]) -> None:
    def state(*words: str) -> object:
        return traindeck("obs", "versioning", bucket, *words, "--json").must_be(0).document["versioning"]

    assert state() == "never"
    assert state("enable") == "enabled"
    client = s3(lab)
    assert client.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
    client.close()
    assert [state("suspend"), state()] == ["suspended", "suspended"]
    assert "suspended" in traindeck("obs", "versioning", bucket).must_be(0).out
    traindeck("obs", "versioning", "no-such-bucket-here").must_be(4)


def test_tags_of_a_bucket_and_of_an_object(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    put_object(traindeck, tmp_path / "a.txt", b"1", "obs://cli-bucket/a.txt")
    for place in ("cli-bucket", "obs://cli-bucket/a.txt"):

        def tags(*words: str, place: str = place) -> Any:
            return traindeck("obs", "tagging", place, *words, "--json").must_be(0).document["tags"]

        assert tags() == {}
        assert tags("set", "project=伯特", "owner=li") == {"project": "伯特", "owner": "li"}
        assert tags("set", "owner=wang") == {"project": "伯特", "owner": "wang"}, "the others stay"
        assert "wang" in traindeck("obs", "tagging", place).must_be(0).out
        assert "owner" in traindeck("obs", "tagging", place, "delete", "nobody").must_be(4).said
        assert tags("delete", "project") == {"owner": "wang"}
        assert tags("delete") == {}
        for wrong in (("set",), ("set", "novalue"), ("show", "a=b")):
            traindeck("obs", "tagging", place, *wrong).must_be(2)
    traindeck("obs", "tagging", "obs://cli-bucket/folder/").must_be(2)


def test_what_show_prints_can_be_set_and_changes_nothing(
    traindeck: Traindeck, bucket: str, lab: dict[str, str], tmp_path: Path
) -> None:
    for verb, rules in (("lifecycle", LIFECYCLE), ("cors", CORS)):
        set_it = ("obs", verb, bucket, "set", "--file", rules_file(tmp_path, rules), "--yes", "--json")
        kept = traindeck(*set_it).must_be(0)
        shown = traindeck("obs", verb, bucket, "--json").must_be(0)
        assert shown.document == kept.document
        rules_file(tmp_path, shown.out)
        assert traindeck(*set_it).must_be(0).document == shown.document
    rule = traindeck("obs", "lifecycle", bucket, "--json").document["Rules"][0]
    assert [move["StorageClass"] for move in rule["Transitions"]] == ["WARM", "COLD"]
    assert "30" in traindeck("obs", "lifecycle", bucket).must_be(0).out
    client = s3(lab)
    [seen] = client.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    assert (seen["ID"], seen["Expiration"], seen["NoncurrentVersionExpiration"]) == (
        "old", {"Days": 90}, {"NoncurrentDays": 7},
    )  # fmt: skip
    [seen] = client.get_bucket_cors(Bucket=bucket)["CORSRules"]
    assert (seen["AllowedOrigins"], seen["MaxAgeSeconds"]) == (["https://a.example"], 60)
    client.close()
    for verb in ("lifecycle", "cors"):
        kept = traindeck("obs", verb, bucket, "--json").must_be(0).document
        assert "--yes" in traindeck("obs", verb, bucket, "delete").must_be(2).said
        assert traindeck("obs", verb, bucket, "--json").must_be(0).document == kept
        traindeck("obs", verb, bucket, "delete", "--yes").must_be(0)
        traindeck("obs", verb, bucket, "delete").must_be(0)  # there is nothing to be asked about
        gone = traindeck("obs", verb, bucket).must_be(0)
        assert (gone.out, "No rules" in gone.said) == ("", True)


def test_what_others_wrote_and_a_file_cannot_say_stays(
    traindeck: Traindeck, bucket: str, lab: dict[str, str], tmp_path: Path
) -> None:
    client = s3(lab)
    tagged = {
        "ID": "theirs",
        "Status": "Enabled",
        "Filter": {"Tag": {"Key": "k", "Value": "v"}},
        "Expiration": {"Days": 9},
    }
    client.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": [tagged]})
    shown = traindeck("obs", "lifecycle", bucket, "--json").must_be(0).document
    shown["Rules"].append({"ID": "mine", "Prefix": "tmp/", "Expiration": {"Days": 3}})
    file = rules_file(tmp_path, shown)
    traindeck("obs", "lifecycle", bucket, "set", "--file", file, "--yes").must_be(0)
    found = {rule["ID"]: rule for rule in client.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]}
    assert found["theirs"]["Filter"] == {"Tag": {"Key": "k", "Value": "v"}}
    assert found["mine"]["Expiration"] == {"Days": 3}
    shown["Rules"][0]["Prefix"] = "all/"
    rules_file(tmp_path, shown)
    assert "theirs" in traindeck("obs", "lifecycle", bucket, "set", "--file", file, "--yes").must_be(2).said
    client.close()


def test_rules_that_delete_or_open_are_asked_about(traindeck: Traindeck, bucket: str, tmp_path: Path) -> None:
    open_to_all = {"CORSRules": [{"AllowedOrigins": ["*"], "AllowedMethods": ["PUT"]}]}
    for verb, rules in (("lifecycle", LIFECYCLE), ("cors", open_to_all)):
        words = ("obs", verb, bucket, "set", "--file", rules_file(tmp_path, rules))
        assert "--yes" in traindeck(*words).must_be(2).said
        assert traindeck("obs", verb, bucket).must_be(0).out == ""
        traindeck(*words, "--yes").must_be(0)
        traindeck(*words).must_be(0)  # it is so already


def test_a_mistake_in_a_file_is_named_with_its_line(traindeck: Traindeck, bucket: str, tmp_path: Path) -> None:
    for content, said in (
        ("{", "Line 1"),
        ("[]", "Rules"),
        ("", "empty"),
        ('{"Rules": [],\n"Rules": []}', "Line 2"),
        (
            '{"Rules": [{"ID": "x",\n"Expirtion": {"Days": 3}}]}',
            "Line 2: “Expirtion” is not a known name. Did you mean: Expiration?",
        ),
        ('{"Rules": [{"Expiration": {"Days": "3"}}]}', "Days"),
        ('{"Rules": [{"Expiration": {"Date": "soon"}}]}', "2030-12-31"),
        ('{"Rules": [{"Transitions": [{"Days": 3, "StorageClass": "DEEP"}]}]}', "WARM"),
        ('{"Rules": [{"Status": "on", "Expiration": {"Days": 3}}]}', "Enabled"),
        ('{"Rules": [{"Expiration": {"Days": 0}}]}', "1 to"),
        ('{"Rules": [3]}', "list of objects"),
        ('{"Rules": [{"Beyond": ["Made up"], "Expiration": {"Days": 3}}]}', "Beyond"),
    ):
        file = rules_file(tmp_path, content)
        assert said in traindeck("obs", "lifecycle", bucket, "set", "--file", file, "--yes").must_be(2).said
    assert traindeck("obs", "lifecycle", bucket, "--json").must_be(0).document["Rules"] == []


def test_words_that_do_not_fit(traindeck: Traindeck, bucket: str) -> None:
    for words in (("set",), ("show", "--file", "x"), ("delete", "--file", "x"), ("change",)):
        traindeck("obs", "cors", bucket, *words).must_be(2)


def test_rules_without_an_end_are_not_read_to_it(traindeck: Traindeck, bucket: str, tmp_path: Path) -> None:
    with (tmp_path / "rules.json").open("wb") as file:
        file.truncate(17 << 20)
    for name in ("rules.json", "-"):
        answer = traindeck("obs", "cors", bucket, "set", "--file", name, "--yes", given=bytes(17 << 20)).must_be(2)
        assert "too large" in answer.said
