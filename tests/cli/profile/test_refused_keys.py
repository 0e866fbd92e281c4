"""Commands whose keys are refused: they end with 3, or wait where somebody can give others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support import planted
from support.cli_commands import Traindeck
from support.sample_home import quicken
from support.waiting import PATIENT_S


def in_environment(lab: dict[str, str], secret: str = "") -> dict[str, str]:
    return {
        "HUAWEICLOUD_SDK_AK": lab["access_key"], "HUAWEICLOUD_SDK_SK": secret or lab["secret_key"],
        "HUAWEICLOUD_SDK_REGION": lab["region"], "TRAINDECK_OBS_ENDPOINT": lab["obs"],
        "TRAINDECK_MODELARTS_ENDPOINT": lab["modelarts"], "TRAINDECK_IAM_ENDPOINT": lab["iam"],
    }  # fmt: skip


def test_waiting_ends_when_nobody_can_give_other_keys(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    good, wrong = in_environment(lab), in_environment(lab, planted.SECRET_KEY)
    traindeck("job", "init", "p").must_be(0)
    quicken(tmp_path / "p")
    traindeck("job", "submit", "p", "--set", "epochs=1", "--wait").must_be(0)
    there = ["--profile", "environment"]
    sent = traindeck(
        "job", "submit", "p", "--set", "epochs=500", "--set", "job.target=modelarts", "--json", *there, environment=good
    ).must_be(0)
    assert sent.document["profile"] == "environment"
    refused = traindeck("job", "submit", "p", "--set", "job.target=modelarts", *there, environment=wrong).must_be(3)
    assert "secret key does not match" in refused.said
    waited = traindeck("job", "wait", sent.document["run"], environment=wrong).must_be(3)
    followed = traindeck("job", "logs", sent.document["run"], "-f", environment=wrong).must_be(3)
    for answer in (refused, waited, followed):
        assert planted.SECRET_KEY not in answer.said + answer.out
    # Where the account is kept here, others may come.
    process = subprocess.Popen(
        [sys.executable, "-m", "traindeck", "job", "wait", sent.document["run"]], cwd=tmp_path,
        env={**os.environ, **good}, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    traindeck("job", "stop", sent.document["run"], environment=good).must_be(0)
    _, said = process.communicate(timeout=PATIENT_S)
    assert process.returncode == 1 and b"Stopped" in said
