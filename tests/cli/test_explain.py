"""`traindeck explain`, `job metrics` and the failure in `job show`."""

from __future__ import annotations

import csv
import io
import os
import threading
from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from support.reading_corpora import FAILURES, READINGS

LOG = FAILURES / "real" / "args.log"
TRAINED = READINGS / "logs" / "real_keras_two.log"


@pytest.mark.parametrize("way", ["file", "standard input"])
def test_any_log_is_explained(traindeck: Traindeck, way: str) -> None:
    given = LOG.read_bytes() if way == "standard input" else None
    what = "-" if given else LOG
    document = traindeck("explain", what, "--json", given=given).must_be(0).document
    failure = document["failure"]
    assert document["bytes"] == LOG.stat().st_size and failure["rule"] == "platform-arguments"
    assert failure["proof"]["line"] == 2 and "--data_url" in failure["proof"]["text"]
    assert failure["cause"] and "parse_known_args" in failure["what_to_do"] and "edit:code" in failure["actions"]
    said = traindeck("explain", what, given=given).must_be(0).out
    assert said.startswith("Failure: The script refused the arguments") and "\nLine 2: " in said


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes among its files")
def test_a_pipe_is_read_to_its_end(traindeck: Traindeck, tmp_path: Path) -> None:
    """As “traindeck explain <(zcat train.log.gz)” hands it over."""
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(LOG.read_bytes(),), daemon=True)
    writer.start()
    document = traindeck("explain", tmp_path / "pipe", "--json").must_be(0).document
    writer.join(60)
    assert document["bytes"] == LOG.stat().st_size and document["failure"]["rule"] == "platform-arguments"


def test_values_and_curves_are_told(traindeck: Traindeck) -> None:
    document = traindeck("explain", TRAINED, "--json").must_be(0).document
    assert document["failure"] is None and document["progress"]["share"] == 1.0
    values = document["values"]
    assert (values["epoch"], values["epochs"], values["loss"], values["accuracy"]) == (14, 14, 0.2898, 0.9469)
    curve = document["curves"]["loss"]
    assert len(curve) == 14 and curve[-1]["value"] == 0.2898 and set(curve[0]) == {"step", "epoch", "seconds", "value"}
    answer = traindeck("explain", TRAINED).must_be(0)
    assert "epoch 14/14" in answer.out and "no failure" in answer.said
    assert "轮次 14/14" in traindeck("explain", TRAINED, "--language", "zh_CN").must_be(0).out


def test_chinese_is_said_in_chinese(traindeck: Traindeck) -> None:
    answer = traindeck("--language", "zh_CN", "explain", LOG, "--json").must_be(0)
    assert answer.document["failure"]["title"].startswith("脚本拒绝了平台添加的参数")


def test_what_is_not_there_or_no_log_is_said(traindeck: Traindeck, tmp_path: Path) -> None:
    assert "does not exist" in traindeck("explain", tmp_path / "such.log").must_be(4).said
    assert "is a folder" in traindeck("explain", tmp_path).must_be(2).said
    refused = traindeck("explain", "obs://b/train.log").must_be(2)
    assert "is in OBS" in refused.said and "traindeck obs cat obs://b/train.log | traindeck explain -" in refused.said
    (tmp_path / "empty.log").touch()
    assert "no failure, no progress" in traindeck("explain", "empty.log").must_be(0).said


def test_nothing_in_a_log_steers_the_terminal(traindeck: Traindeck, tmp_path: Path) -> None:
    (tmp_path / "bad.log").write_bytes(
        b'Traceback (most recent call last):\n  File "\x1b]0;owned\x07a.py", line 1, in f\n'
        b"\x1b[31mOwnError\x1b[0m: \xe2\x80\xae\x9b2J\x00 west\nOwnError: \x1b[2J \xe2\x80\xae\xc2\x9b31m\n"
    )
    for words in (("explain", "bad.log"), ("explain", "bad.log", "--json")):
        out = traindeck(*words).must_be(0).out
        assert all(character.isprintable() or character == "\n" for character in out)


SCRIPT = """
import sys
for epoch in range(1, 4):
    print(f"epoch {epoch}/3 loss {1 / epoch:.4f} lr 0.01", flush=True)
if "--fail=1" in sys.argv:
    import surely_not_installed
"""


def test_a_run_tells_its_numbers_and_why_it_failed(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    traindeck("job", "init", "p").must_be(0)
    (tmp_path / "p" / "train.py").write_text(SCRIPT, encoding="utf-8")
    traindeck("job", "submit", "p", "--set", "fail=1", "--wait", "-y").must_be(1)
    failure = traindeck("job", "show", "last", "--json").must_be(0).document["failure"]
    assert failure["rule"] == "missing-module-lab" and failure["worker"] == "worker-0"
    assert "surely_not_installed" in failure["title"] and "lab.toml" in failure["what_to_do"]
    assert failure["script"]["file"].endswith("train.py") and failure["script"]["line"] == 6
    assert "Failure: The package surely_not_installed is missing" in traindeck("job", "show", "last").must_be(0).out
    document = traindeck("job", "metrics", "last", "--json").must_be(0).document
    assert document["values"]["loss"] == 0.3333 and document["values"]["epochs"] == 3
    rows = list(csv.reader(io.StringIO(traindeck("job", "metrics", "last", "--csv").must_be(0).out)))
    assert rows[0] == ["step", "epoch", "seconds", "loss", "lr"]
    assert [row[3] for row in rows[1:]] == ["1", "0.5", "0.3333"] and [row[1] for row in rows[1:]] == ["1", "2", "3"]
    explained = traindeck("explain", "last", "--json").must_be(0).document
    assert explained["failure"] == failure and explained["state"] == "Failed"
    assert "loss" in traindeck("job", "metrics", "last").must_be(0).out
