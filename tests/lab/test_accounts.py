"""The Lab's accounts: made once, closed to others, and strangers to each other."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest
from obs import CopyObjectHeader, DeleteObjectsRequest, Object, ObsClient

from support.servers.lab_process import LabProcess
from traindeck.lab.accounts import Accounts, AccountsError, LabAccount


def test_the_first_account_makes_itself_and_stays(tmp_path: Path) -> None:
    first = Accounts(tmp_path).first
    assert first.name == "lab"
    assert first.region == "lab"
    assert len(first.project_id) == len(first.domain_id) == 32
    again = Accounts(tmp_path)
    assert again.all() == (first,)
    assert again.by_access_key(first.access_key) == first
    assert again.by_project(first.project_id) == first
    assert again.by_access_key("other") is None
    assert Accounts(tmp_path / ".." / tmp_path.name).first == first
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "accounts.json").stat().st_mode) == 0o600


def test_all_who_are_the_first_on_a_root_make_one_account(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: Accounts(tmp_path).first, range(8)))
    assert made == [Accounts(tmp_path).first] * 8


def test_keys_are_random_and_the_secret_is_not_shown(tmp_path: Path) -> None:
    one, two = LabAccount.with_random_keys("a"), LabAccount.with_random_keys("a")
    assert one.secret_key != two.secret_key
    assert one.secret_key not in repr(one)


@pytest.mark.parametrize("text", ["{", "[]", '{"accounts": [{"name": "x"}]}', '{"accounts": 1}'])
def test_a_damaged_file_is_refused_and_kept(tmp_path: Path, text: str) -> None:
    path = tmp_path / "accounts.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AccountsError):
        Accounts(tmp_path)
    assert path.read_text("utf-8") == text


def test_accounts_cannot_touch_each_others_buckets(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    both = [LabAccount.with_random_keys("lab"), LabAccount.with_random_keys("second")]
    content = {"accounts": [asdict(account) for account in both]}
    (root / "accounts.json").write_text(json.dumps(content), encoding="utf-8")
    with LabProcess(root) as lab:
        mine, theirs = (
            ObsClient(
                access_key_id=account.access_key,
                secret_access_key=account.secret_key,
                server=lab.obs,
                client_mode="workflow",
                path_style=True,
                max_retry_count=0,
            )
            for account in both
        )
        assert mine.createBucket("mine").status == 200
        assert mine.putContent("mine", "k", b"content").status == 200
        assert theirs.createBucket("theirs").status == 200
        taken = theirs.createBucket("mine")
        assert (taken.status, taken.errorCode) == (409, "BucketAlreadyExists")
        refused = [
            theirs.getObject("mine", "k"),
            theirs.putContent("mine", "k", b"changed"),
            theirs.deleteObject("mine", "k"),
            theirs.deleteObjects("mine", DeleteObjectsRequest(objects=[Object(key="k")])),
            theirs.listObjects("mine"),
            theirs.deleteBucket("mine"),
            theirs.copyObject("mine", "k", "theirs", "stolen"),
            theirs.copyObject("theirs", "k", "mine", "k", headers=CopyObjectHeader(directive="COPY")),
        ]
        assert [(one.status, one.errorCode) for one in refused] == [(403, "AccessDenied")] * len(refused)
        assert [bucket.name for bucket in theirs.listBuckets().body.buckets] == ["theirs"]
        assert mine.getObject("mine", "k", loadStreamInMemory=True).body.buffer == b"content"
