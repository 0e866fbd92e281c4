"""Rules on lines act on what the user named, once for each place, also when a program ends in between."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.stores.way import Way
from support.waiting import until
from support.work_bench import Bench, code_in, spec
from traindeck.domain.errors import InvalidInput, NoRight, NotFound
from traindeck.domain.jobs.job import LogChunk, Run, RunState
from traindeck.domain.notices.line_rules import STARTER, LineRule, RuleAct, line_rules
from traindeck.domain.texts import text
from traindeck.services.jobs.runs import RunService
from traindeck.services.notices.log_rules import MOST_FOUND, LineFound, LogRules
from traindeck.store.rule_file import RuleFile

pytestmark = pytest.mark.usefixtures("no_waiting")

RULES = """
[[rule]]
name = "no number"
pattern = 'loss\\W+nan'
[[rule]]
name = "warm"
pattern = "warm-up done"
does = "label"
label = "warm"
[[rule]]
name = "memory"
pattern = "out of memory"
does = "stop"
[[rule]]
name = "of others"
pattern = "."
runs = "bert-*"
"""
SCRIPT = """
import time
print("warm-up done", flush=True)
print("step 1 Loss: NaN\\rstep 2 loss nan", flush=True)
print("torch: CUDA out of memory", flush=True)
time.sleep(300)
"""


def rules_of(bench: Bench, content: str = "") -> LogRules:
    file = bench.paths.home / "rules.toml"
    if content:
        file.write_text(content, encoding="utf-8")
        os.utime(file, (1, 1))  # written long before the run
    return LogRules(RuleFile(file), bench.records, bench.logs, bench.run_service, bench.disk, bench.paths.run_rules)


def told_by(rules: LogRules) -> list[LineFound]:
    told: list[LineFound] = []
    rules.found.add(told.append)
    return told


def said(told: Sequence[LineFound]) -> list[tuple[str, str]]:
    return sorted((one.rule.name, one.line) for one in told)


async def test_a_rule_tells_labels_and_stops_once_also_after_a_restart(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        bench.watch_runs()
        rules = rules_of(bench, RULES)
        told = told_by(rules)
        bench.scope.start("rules", rules.run)
        run = await bench.submitted(code_in(tmp_path / "code", SCRIPT))
        ended = await bench.watch.until_over(run.id)
        assert ended.state is RunState.TERMINATED and ended.tags == ("warm",)
        await until(lambda: len(told) == 4)
        assert said(told) == [
            ("memory", "torch: CUDA out of memory"),
            ("no number", "step 1 Loss: NaN"),
            ("no number", "step 2 loss nan"),
            ("warm", "warm-up done"),
        ]
        assert bench.logs.file(run.id).read(told[0].offset).startswith(told[0].line.encode())

        again = rules_of(bench)
        later = told_by(again)
        await again._read_rules()
        await again.look_at(ended)
        assert later == []


async def test_what_was_noted_and_not_done_is_done_by_the_next_program(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        run = await a_run(bench, b"out of memory\n")
        place = bench.paths.run_rules(run.id)
        noted = {"offsets": {"worker-0": [0, 14]}, "counts": {"warm": 1}, "due": [["warm", "worker-0", 0, "x"]]}
        place.write_text(json.dumps(noted), encoding="utf-8")
        rules = rules_of(bench, RULES)
        told = told_by(rules)
        await rules._read_rules()
        for _ in range(2):
            await rules.look_at(run)
        assert said(told) == [("warm", "x")]
        assert json.loads(place.read_bytes())["due"] == []


async def test_last_lines_that_came_when_nobody_looked_are_looked_at_by_the_next_program(
    way: Way, tmp_path: Path
) -> None:
    """A command waits some seconds for them after the end; a cloud may take a minute."""
    async with Bench(tmp_path / "home", way) as bench:
        run = await a_run(bench, b"step 1\n")
        before = rules_of(bench, RULES)
        await before._look()
        await bench.records.change(run.id, state=RunState.FAILED, ended=bench.watch.clock())
        whole = b"step 1\nloss nan\n"
        await bench.logs.take(run.id, "worker-0", LogChunk(whole, len(whole)))
        rules = rules_of(bench)
        told = told_by(rules)
        for _ in range(2):
            await rules._look()
        assert said(told) == [("no number", "loss nan")]


async def test_what_can_never_be_done_is_told_and_not_tried_for_ever(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        run = await a_run(bench, b"out of memory\n")
        tried: list[str] = []

        async def refused(run_id: str) -> Run:
            tried.append(run_id)
            raise NoRight(text("No."), text("Ask."))

        monkeypatch.setattr(RunService, "stop", lambda _, run_id: refused(run_id))
        rules = rules_of(bench, RULES)
        told = told_by(rules)
        await rules._read_rules()
        for _ in range(2):
            await rules.look_at(run)
        assert tried == [run.id]
        (found,) = told
        assert isinstance(found.trouble, NoRight)


async def test_lines_from_before_a_rule_was_written_are_not_its_matter(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        run = await a_run(bench, b"loss nan\n")
        rules = rules_of(bench, RULES)
        os.utime(rules.file.path)
        told = told_by(rules)
        await rules._read_rules()
        await rules.look_at(run)
        assert told == []
        whole = b"loss nan\n" + b"a half loss"
        await bench.logs.take(run.id, "worker-0", LogChunk(whole, len(whole)))
        await rules.look_at(run)
        whole += b" nan\n"
        await bench.logs.take(run.id, "worker-0", LogChunk(whole, len(whole)))
        await rules.look_at(run)
        assert said(told) == [("no number", "a half loss nan")]


async def test_a_line_that_comes_again_and_again_is_told_of_a_few_times(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        run = await a_run(bench, b"loss nan\n" * 100_000)
        rules = rules_of(bench, RULES)
        told = told_by(rules)
        await rules._read_rules()
        await rules.look_at(run)
        assert len(told) == MOST_FOUND and told[-1].is_last_told


async def test_rules_that_cannot_be_used_are_told_of_once_and_none_is_applied(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        run = await a_run(bench, b"loss nan\n")
        rules = rules_of(bench, RULES + '[[rule]]\nname = "bad"\npattern = "("\n')
        told = told_by(rules)
        refused: list[InvalidInput] = []
        rules.refused.add(refused.append)
        for _ in range(2):
            await rules._read_rules()
            await rules.look_at(run)
        assert told == [] and len(refused) == 1 and "is not a regular expression" in str(refused[0])


async def a_run(bench: Bench, content: bytes) -> Run:
    run = Run("r1", 1, "job", "lab", spec(), RunState.RUNNING, bench.watch.clock(), job_id="j")
    await bench.records.add(run)
    await bench.logs.take(run.id, "worker-0", LogChunk(content, len(content)))
    return run


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[[rule]\n", "not valid TOML"),
        ("x = 1\n", "tables only"),
        ("rule = 1\n", "tables only"),
        ("[[rule]]\nname = 'a'\n", "a name and a pattern are required"),
        ("[[rule]]\npattern = 'a'\n", "a name and a pattern are required"),
        ("[[rule]]\nname = 'a'\npattern = 'a'\ndoes = 'explode'\n", "notify, label, stop"),
        ("[[rule]]\nname = 'a'\npattern = 'a'\ndoes = 'end-chain'\n", "“end-chain” is not available.* write “stop”"),
        ("[[rule]]\nname = 'a'\npattern = 'a'\ndoes = 'label'\n", "needs a label"),
        ("[[rule]]\nname = 'a'\npattern = 7\n", "“pattern” cannot be used"),
        ("[[rule]]\nname = 'a'\npattern = 'a'\nwhen = 'now'\n", "“when” cannot be used"),
        ("[[rule]]\nname = 'a'\npattern = 'a'\n" * 2, "two rules are called"),
        ("[[rule]]\nname = 'a'\npattern = 'a'\n" * 101, "more than 100 rules"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(content: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        line_rules(content, "rules.toml")


def test_the_file_to_begin_with_has_no_rule_until_the_user_writes_one() -> None:
    assert line_rules(STARTER, "rules.toml") == ()
    uncommented = "\n".join(
        line.removeprefix("# ") for line in STARTER.splitlines() if line.startswith(("# [[", "# name =", "# pattern ="))
    )
    first, second = line_rules(uncommented, "rules.toml")
    assert first == LineRule("loss is not a number", r"loss\W+nan") and second.act is RuleAct.NOTIFY
    assert second.concerns("anything") and not LineRule("a", "a", runs="bert-*").concerns("resnet")


def test_rules_are_changed_one_by_one_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    file = RuleFile(tmp_path / "rules.toml")
    rule = LineRule("a", "x", RuleAct.LABEL, "nan", "bert-*", is_enabled=False)
    file.put(rule)
    assert file.read() == (rule,) and file.path.read_text("utf-8").startswith(STARTER)
    file.remove("a")
    assert file.path.read_text("utf-8") == STARTER
    file.put(rule)
    assert file.read() == (rule,), "again, after the last one went"

    file.path.write_text(
        "# mine\n[[rule]] # one\nname='a' # it is\npattern='x'\n\n# two\n[[rule]]\nname='b'\npattern='y'\n"
    )
    file.put(LineRule("c", "z"))
    file.put(LineRule("a2", "x2"), "a")
    file.remove("b")
    assert [one.name for one in file.read()] == ["a2", "c"]
    assert "# mine" in file.path.read_text("utf-8") and "# it is" in file.path.read_text("utf-8")
    file.path.write_text("rule = [{name = 'a', pattern = 'x'}]\n")
    file.put(LineRule("b", "y"))
    assert [one.name for one in file.read()] == ["a", "b"]
    before = file.path.read_bytes()
    with pytest.raises(InvalidInput, match="two rules"):
        file.put(LineRule("a", "z"))
    with pytest.raises(NotFound):
        file.put(LineRule("d", "z"), "gone")
    with pytest.raises(NotFound):
        file.remove("gone")
    assert file.path.read_bytes() == before
