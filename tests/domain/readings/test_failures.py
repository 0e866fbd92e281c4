"""Why trainings failed: the right cause, or none."""

from __future__ import annotations

import random
import re
import time
import tomllib
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from support.reading_corpora import FAILURES, failure_cases, failure_in, log_of
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.notices.run_notices import state_notice
from traindeck.domain.readings.evidence import LogPart, lines_of, tracebacks_in
from traindeck.domain.readings.failure_rules import RuleText, rules_of
from traindeck.domain.texts import AS_WRITTEN, CHINESE, ENGLISH, speak
from traindeck.runtime.resources import resource
from traindeck.services.readings.shipped import failure_rules

FIELD = re.compile(r"\{\w+\}")
RULES = {rule.id: rule for rule in failure_rules().rules}


def cause_found(case: dict[str, Any]) -> str:
    messages = (case["message"],) if "message" in case else ()
    failure = failure_in(log_of(case), case.get("exit_code"), *messages)
    assert failure is not None, case["name"]
    return failure.rule


def test_of_all_failures_nearly_all_have_their_cause_and_almost_none_a_wrong_one() -> None:
    cases = failure_cases()
    found = {case["name"]: (cause_found(case), case["cause"]) for case in cases}
    right = [name for name, (cause, wanted) in found.items() if cause == wanted]
    wrong = {name: causes for name, causes in found.items() if causes[0] and causes[0] != causes[1]}
    assert len(cases) >= 160 and len({*found}) == len(cases)
    assert len(right) >= 0.95 * len(cases), {name: causes for name, causes in found.items() if name not in right}
    assert len(wrong) <= 2, wrong


def test_a_cause_of_the_corpus_is_a_rule_and_most_rules_are_in_the_corpus() -> None:
    named = Counter(case["cause"] for case in failure_cases())
    assert {*named} - {""} <= {*RULES}
    assert len(named) > 0.6 * len(RULES)


@pytest.mark.parametrize("rule", RULES.values(), ids=[*RULES])
def test_a_rule_says_the_same_in_both_languages(rule: Any) -> None:
    for words in (rule.title, rule.cause, rule.todo):
        assert sorted(FIELD.findall(words.english)) == sorted(FIELD.findall(words.chinese))
        assert words.english and words.chinese
    assert re.search("[\u4e00-\u9fff]", rule.title.chinese) and rule.actions
    assert rule.exceptions or rule.lines or rule.messages or rule.exit_codes


def test_a_new_rule_needs_no_code() -> None:
    document = tomllib.loads(resource("readings", "failures.toml").read_text(encoding="utf-8"))
    log = b"warming up\nflux capacitor drained at 88\n"
    before = failure_in(log, 1)
    assert before is not None and not before.is_known
    words = {
        "title": ["Drained at {speed}.", "{speed}"],
        "cause": ["No power.", "没电"],
        "todo": ["Charge it.", "充电"],
    }
    document["rule"].append(
        {
            "id": "drained",
            "line": ["flux capacitor drained at (?P<speed>\\d+)"],
            "actions": ["edit:parameters"],
            **words,
        }
    )
    failure = failure_in(log, 1, rules=rules_of(document))
    assert failure is not None and failure.rule == "drained" and str(failure.title) == "Drained at 88."
    assert failure.proof is not None and failure.proof.number == 2


def test_without_a_rule_it_says_what_was_printed_last_and_no_cause() -> None:
    failure = failure_in(
        b'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nOwnError: north\n', 1
    )
    assert failure is not None and not failure.is_known and str(failure.cause) == ""
    assert failure.proof_words == "OwnError: north" and failure.frame == ("a.py", 3)
    assert failure.traceback[0].startswith("Traceback") and failure.traceback[-1] == "OwnError: north"
    bare = failure_in(b"bye\n", 3)
    assert bare is not None and "3" in str(bare.title) and bare.proof is None
    told = failure_in(b"", None, "the node said nothing")
    assert told is not None and told.proof_words == "the node said nothing" == told.last_event


def test_what_ended_well_has_no_failure() -> None:
    survived = b'epoch 1 loss 1\nTraceback (most recent call last):\n  File "a.py", line 3\nValueError: bad\n'
    assert failure_in(survived + b"done\n", 0) is None
    assert failure_in(b"epoch 1/1 loss 0.5\nfinished\n") is None
    went_on = b"".join(b"epoch %d loss 0.5\n" % epoch for epoch in range(2, 9))
    assert failure_in(survived + went_on) is None


@pytest.mark.parametrize(
    "log",
    [
        "processed 207018 images, kept 180011\nsaved\n",
        "uploading metrics, return code: 200\nall uploaded\n",
        "nvidia-smi failed with exit code 9, no statistics\nloaded\ninference finished, mAP 0.41\n",
        "W0302 server: Address already in use, trying 6007\nmodel saved\n",
        "Failed to initialize NVML: Driver/library version mismatch (ignored)\nexported\n",
        "worker-0: NCCL WARN Failed to open libibverbs.so[.1]\nNCCL INFO Using eth0\nall done\n",
        "pid state\n12 Killed\n13 Done\nsummary written\n",
        "ERROR: pip's dependency resolver does not take into account all the packages\nSuccessfully installed numpy\n",
        "sample 1: 'ModuleNotFoundError: No module named x' -> bug\nsample 2: 'out of memory' -> ops\n",
        "error rate: 0.03\nnum_failed: 0\nVal error 0.03\nmean absolute error: 0.12, failed 0 of 100\n",
    ],
)
def test_words_of_failures_are_no_failure(log: str) -> None:
    assert failure_in(log.encode()) is None


def test_where_nothing_is_known_nothing_is_made_up() -> None:
    cut = failure_in(b'Traceback (most recent call last):\n  File "a.py", line 3, in f\n')
    assert cut is not None and "None" not in str(cut.title) and cut.exit_code is None
    damaged = failure_in(b'Traceback (most recent call last):\n  File "a.py", line 3\nBadZipFile: no zip\n')
    assert damaged is not None and str(damaged.title) == "A file of the data is damaged."


def test_a_traceback_of_hundreds_of_frames_has_its_exception() -> None:
    frames = b"".join(b'  File "/code/m%d.py", line 3, in f\n    f(x)\n    ^^^^\n' % number for number in range(500))
    failure = failure_in(b"Traceback (most recent call last):\n" + frames + b"KeyError: 'x'\n")
    assert failure is not None and failure.rule == "script-mistake" and failure.frame == ("/code/m499.py", 3)


@pytest.mark.parametrize("encoding", ["utf-8", "gbk", "utf-16"])
def test_a_log_of_another_encoding_is_read(encoding: str) -> None:
    """GBK of a Chinese system, UTF-16 of a PowerShell that redirects."""
    path = "/cache/a.txt" if encoding == "utf-16" else "/cache/数据/标签.txt"
    lines = (
        "Traceback (most recent call last):",
        '  File "a.py", line 3',
        f"FileNotFoundError: No such file: '{path}'",
        "",
    )
    failure = failure_in("\n".join(lines).encode(encoding))
    assert failure is not None and failure.rule == "file-missing" and path in str(failure.title)


def test_an_exit_code_is_found_where_the_platform_wrote_it() -> None:
    failure = failure_in(
        b"x\n2026-03-02T11:02:44.871+08:00 [ModelArts Service Log] training end with return code: 137\n"
    )
    assert failure is not None and failure.rule == "memory" and failure.exit_code == 137
    assert failure.proof is not None and failure.proof.number == 2
    for message in (
        "job failed: worker-0 ended with exit code 139",
        "作业失败：worker-0 的退出码为 139。",
        "Exit code 139",
    ):
        told = failure_in(b"", None, message)
        assert told is not None and told.rule == "crash"


def test_the_lab_says_which_python_ran_and_the_engine_what_card_there_is() -> None:
    missing = (
        b"Traceback (most recent call last):\n  File \"t.py\", line 1\nModuleNotFoundError: No module named 'torch'\n"
    )
    here = failure_in(b"t [ModelArts Service Log] training starts with /usr/bin/python3\n" + missing, 1)
    assert here is not None and here.rule == "missing-module-lab" and "/usr/bin/python3" in str(here.cause)
    assert "lab.toml" in str(here.todo)
    cuda = b'Traceback (most recent call last):\n  File "t.py", line 1\nRuntimeError: No CUDA GPUs are available\n'
    on_gpu, on_ascend = failure_in(cuda, 1), failure_in(cuda, 1, ascend="1")
    assert on_gpu is not None and on_ascend is not None
    assert (on_gpu.rule, on_ascend.rule) == ("no-gpu", "cuda-on-ascend")


def test_both_languages_are_spoken_and_what_comes_from_a_log_is_made_printable() -> None:
    words = RuleText("The package {module} is missing.", "缺少 {module} 包。").about({"module": "a\x1b[31mb\u202e"})
    assert str(words) == "The package a\\x1b[31mb\\u202e is missing."
    speak(CHINESE, AS_WRITTEN)
    try:
        assert str(words).startswith("缺少 a")
    finally:
        speak(ENGLISH, AS_WRITTEN)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "train.py: error: unrecognized arguments: --lr 0.1 --api_key=sk-a1b2c3d4",
            "The script does not know these arguments: --lr … --api_key",
        ),
        (
            "train.py: error: unrecognized arguments: --token=a1b2c3d4",
            "The script does not know these arguments: --token",
        ),
        ("train.py: error: unrecognized arguments: secret", "The script does not know these arguments: …"),
        ("train.py: error: unrecognized arguments: -psecret -v", "The script does not know these arguments: … -v"),
        (
            "train.py: error: unrecognized arguments: --data_url obs://a/b --init_method=tcp://a:1",
            "The script refused the arguments that the platform adds: --data_url … --init_method",
        ),
        ("Error: No such option: --lr", "The script does not know these arguments: --lr"),
        (
            "train.py: error: the following arguments are required: data",
            "The script requires arguments that it did not get: data",
        ),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: 'hf_0ABCdefGHIjklMNOpqrSTUvwxYZ012345'",
            "A file or folder was not found: …",
        ),
        ("ModuleNotFoundError: No module named 'torch_npu'", "The package torch_npu is missing."),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: 'obs://bucket/data-1/a.txt'",
            "The script opened obs://bucket/data-1/a.txt as a file.",
        ),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: 'https://b.obs.com/x?AccessKeyId=A1&Signature=B2'",
            "A file or folder was not found: …",
        ),
    ],
)
def test_a_notice_has_names_and_no_other_words_of_the_log(line: str, told: str) -> None:
    """It goes to a webhook, and onto a screen that others see."""
    failure = failure_in(f'Traceback (most recent call last):\n  File "t.py", line 1\n{line}\n'.encode(), 1)
    run = Run("r1", 1, "bert", "work", JobSpec(), RunState.FAILED, datetime(2026, 3, 2, tzinfo=UTC))
    assert str(state_notice(run, failure).hint) == told


@pytest.mark.parametrize(
    "head",
    ["[rank3]: ", "(WorkerDict pid=904548) ", "[1,0]<stderr>:", "worker_1  | ", "ERROR 04-09 21:56:4{} [engine.py:82] ",
     "2026-03-02T10:12:01.12{}Z ", "2026-03-02 10:12:01,12{} - ERROR - ", "E0302 10:12:01.12345{} 140 train.py:12] "],
)  # fmt: skip
def test_a_traceback_with_a_process_or_a_moment_before_each_line(head: str) -> None:
    lines = ("Traceback (most recent call last):", '  File "a.py", line 3, in f', "    g()", "ValueError: x")
    log = "".join(f"{head.format(number)}{line}\n" for number, line in enumerate(lines)).encode()
    (one,) = tracebacks_in(list(lines_of(LogPart(log))))
    assert (one.type, one.words, one.frames) == ("ValueError", "ValueError: x", [("a.py", 3)])


def test_lines_of_another_process_are_no_part_of_a_traceback() -> None:
    lines = ("Traceback (most recent call last):", '  File "a.py", line 3, in f', "    g()", "ValueError: x")
    log = "".join(f"[rank3]: {line}\n[rank1]: KeyError: 'y'\n" for line in lines).encode()
    (one,) = tracebacks_in(list(lines_of(LogPart(log))))
    assert (one.type, one.words) == ("ValueError", "ValueError: x")


HOSTILE = [
    b"a" * 3_000_000,
    b"Traceback (most recent call last):\n" * 50_000,
    b'File "' * 200_000,
    b"(" * 500_000,
    b"For 'x', " * 100_000,
    b"\r".join([b"obs " * 400] * 3000),
    b"\n".join([b"error: hccl obs s3 download node " * 50] * 3000),
    random.Random(2).randbytes(1_000_000),
    b"1.1--" * 20 + b"!Traceback (most recent call last):\n" + b"1.1--" * 400,
    (b'Traceback (most recent call last):\n  File "a.py", line 1\nImportError: ' + b".so" * 600 + b"\n") * 40,
    (b'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: ' + b"ckpt" * 480 + b"\n") * 100,
    b"E" * 2000 + b"\n" + b"rank table " * 180 + b"\n" + b"Error: " * 300,
]


@pytest.mark.parametrize("log", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_takes_long(log: bytes) -> None:
    began = time.process_time()
    failure_in(log, 1)
    assert time.process_time() - began < 20


def test_corpus_and_rules_are_separate_files() -> None:
    assert resource("readings", "failures.toml").parent != FAILURES
