"""Moving and removing from the command line, against the real Lab."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from support.cli_commands import NAMES, Traindeck, make_tree, tree
from traindeck.services.transfers import uploads


def keys(traindeck: Traindeck, place: str = "obs://cli-bucket/") -> list[str]:
    return [row["key"] for row in traindeck("obs", "ls", "-r", place, "--json").must_be(0).rows if not row["folder"]]


def test_files_and_folders_move_up_about_and_down(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    content = make_tree(tmp_path / "one")
    (tmp_path / "one/hollow").mkdir()
    traindeck("obs", "mb", "obs://cli-bucket").must_be(0)
    sent = traindeck("obs", "mv", "one", "obs://cli-bucket/up/", "--json").must_be(0)
    aside = {"kept": 0, "skipped": 0, "left_out": [], "renamed": [], "copied_only": 0}
    assert sent.document == {"files": 5, "target": "obs://cli-bucket/up/", **aside}
    assert not (tmp_path / "one").exists()
    assert sorted(keys(traindeck)) == sorted(f"up/{name}" for name in (*NAMES, "hollow/") if not name.endswith("/"))

    traindeck("obs", "mv", "obs://cli-bucket/up/", "obs://cli-bucket/Up/").must_be(0)
    traindeck("obs", "mv", "obs://cli-bucket/Up/a b.bin", "obs://cli-bucket/b.bin").must_be(0)
    assert sorted(keys(traindeck)) == sorted(["b.bin", *(f"Up/{name}" for name in NAMES if name != "a b.bin")])
    traindeck("obs", "mv", "obs://cli-bucket/Up/", "obs://cli-bucket/b.bin", "down").must_be(0)
    rest = {f"Up/{name}": data for name, data in content.items() if name != "a b.bin"}
    assert tree(tmp_path / "down") == rest | {"b.bin": content["a b.bin"]}
    assert (tmp_path / "down/Up/hollow").is_dir()
    assert keys(traindeck) == []


def test_what_cannot_move_is_refused_and_stays(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    content = make_tree(tmp_path / "one")
    traindeck("obs", "mb", "obs://cli-bucket").must_be(0)
    traindeck("obs", "cp", "one", "obs://cli-bucket/in/").must_be(0)
    inside = traindeck("obs", "mv", "obs://cli-bucket/in/", "obs://cli-bucket/in/sub/x/", "--json").must_be(2)
    assert "is inside" in inside.rows[-1]["error"]["title"]
    traindeck("obs", "mv", "obs://cli-bucket/in/two", "obs://cli-bucket/in/two").must_be(2)
    traindeck("obs", "mv", "obs://cli-bucket/in/a b.bin", "obs://cli-bucket/in/").must_be(2)
    traindeck("obs", "mv", "one", "two").must_be(2)
    traindeck("obs", "mv", "-", "obs://cli-bucket/x").must_be(2)
    traindeck("obs", "mv", "one", "obs://no-such-bucket/x/").must_be(4)
    assert len(keys(traindeck)) == len(NAMES)
    assert tree(tmp_path / "one") == content


def test_removing_shows_first_and_can_be_undone(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    import boto3

    make_tree(tmp_path / "one")
    traindeck("obs", "mb", "obs://cli-bucket").must_be(0)
    traindeck("obs", "cp", "one", "obs://cli-bucket/one/").must_be(0)
    shown = traindeck("obs", "rm", "-r", "obs://cli-bucket/one", "--dry-run", "--json").must_be(0).rows
    assert [row["path"] for row in shown[:-1]] == sorted(f"obs://cli-bucket/one/{name}" for name in NAMES)
    assert (shown[-1]["removed"], shown[-1]["to_remove"]) == (0, 4)
    lost = traindeck("obs", "rm", "--undo", "obs://cli-bucket/one/").must_be(1)
    assert "is not enabled" in lost.said

    client = boto3.client(
        "s3", endpoint_url=lab["obs"], region_name="lab",
        aws_access_key_id=lab["access_key"], aws_secret_access_key=lab["secret_key"],
    )  # fmt: skip
    client.put_bucket_versioning(Bucket="cli-bucket", VersioningConfiguration={"Status": "Enabled"})
    client.close()
    several = ["obs://cli-bucket/one/sub/", "obs://cli-bucket/one/a b.bin", "obs://cli-bucket/one/sub/two.txt"]
    removed = traindeck("obs", "rm", "-r", "--yes", *several, "--json").must_be(0)
    assert removed.document["removed"] == 3
    assert keys(traindeck) == ["one/数据.txt"]
    assert traindeck("obs", "rm", "--undo", "obs://cli-bucket/one/", "--json").must_be(0).document == {"restored": 3}
    assert len(keys(traindeck)) == 4


@pytest.mark.parametrize("command", ["cp", "mv", "sync"])
def test_the_md5_of_a_large_file_is_kept_when_asked_for(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(uploads, "SINGLE_PUT_BYTES", 1 << 20)
    traindeck("obs", "mb", "obs://cli-bucket").must_be(0)
    content = bytes(2 << 20)
    for option, kept in (("--store-md5", hashlib.md5(content).hexdigest()), ("", None)):
        (tmp_path / "one").mkdir(exist_ok=True)
        (tmp_path / "one/big").write_bytes(content)
        target = f"obs://cli-bucket/{'with' if option else 'without'}/"
        traindeck("obs", command, "one", target, *filter(None, [option])).must_be(0)
        facts = traindeck("obs", "stat", f"{target}big", "--json").must_be(0).document
        assert facts["etag"].endswith("-1")
        assert facts["metadata"].get("traindeck-md5") == kept
        assert facts["metadata"]["traindeck-part-bytes"] == str(16 << 20)
