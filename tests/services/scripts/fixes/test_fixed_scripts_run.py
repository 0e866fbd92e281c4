"""Scripts that were adapted, run by a Lab: with modules that stand in for an Ascend and refuse what it would refuse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from support.fix_corpus import PACKAGES, STAND_INS, FixCase, fix_case, fix_case_names
from support.lab_app import BUCKET, Jobs, channel, job_body, jobs_in

_SHORT = ("torch_two_files", "arguments_strict", "entry_for_a_project", "tensorflow_session")
_ASCEND = {"engine_name": "Ascend-Powered-Engine", "engine_version": "TF-1.15-python3.7-aarch64"}
_CARDS = {"algorithm__engine": _ASCEND, "spec__resource": {"flavor_id": "modelarts.kat1.8xlarge.public"}}


@contextmanager
def _lab(root: Path) -> Iterator[Jobs]:
    with jobs_in(root) as jobs:
        jobs.lab.put("data/train.txt", "1 2 3\n")
        yield jobs


def _ran(lab: Jobs, case: FixCase, name: str, files: Mapping[str, bytes], boot: str) -> tuple[dict[str, Any], str]:
    folder = f"code/{name}"
    for path, content in files.items():
        lab.lab.put(f"{folder}/{path}", content)
    # Beside whatever is started, where Python looks first.
    for beside in {PurePosixPath(boot).parent, PurePosixPath(case.boot).parent}:
        lab.lab.put(f"{folder}/{beside / 'stand_in.py'}".replace("/./", "/"), STAND_INS.read_bytes())
        for package in PACKAGES:
            place = f"{folder}/{beside / package}.py".replace("/./", "/")
            lab.lab.put(place, b"__path__ = []\nimport stand_in\n\nstand_in.install(__name__)\n")
    body = job_body(
        name.replace("_", "-"),
        algorithm__code_dir=f"/{BUCKET}/{folder}/",
        algorithm__boot_file=f"/{BUCKET}/{folder}/{boot}",
        algorithm__inputs=[channel("data_url", "data/")],
        algorithm__outputs=[channel("train_url", f"out/{name}/")],
        # What the platform may add, and no script asks for.
        algorithm__parameters=[{"name": "from_the_platform", "value": "1"}],
        **(_CARDS if case.cards > 1 else {}),
    )
    job = lab.run(body)
    return job, lab.log(job["metadata"]["id"])


def _wrong(lab: Jobs, name: str) -> str:
    """Of the run of an adapted script; empty: all is as it should be."""
    case = fix_case(name)
    files, boot = case.fixed()
    job, log = _ran(lab, case, f"{name}-fixed", files, boot)
    status = job["status"]
    if status["phase"] != ("Failed" if case.exit_code else "Completed"):
        return f"{name} is {status['phase']}: {log[-3000:]}"
    if case.exit_code and status["task_statuses"][0]["exit_code"] != case.exit_code:
        return f"{name}: {status}"
    missing = [call for call in case.calls if call not in log]
    kept = {key.rpartition("/")[2] for key in lab.lab.keys(f"out/{name}-fixed/")}
    missing += [one for one in case.outputs if one not in kept]
    if missing:
        return f"{name} lacks {missing}: {sorted(kept)} {log[-5000:]}"
    saves = log.count("CALL torch.save(") + log.count("CALL mindspore.save_checkpoint(")
    return f"{name} saves {saves} times" if case.saves and saves != case.saves else ""


def test_some_that_were_adapted_run(tmp_path: Path) -> None:
    with _lab(tmp_path / "lab") as lab:
        assert [wrong for name in _SHORT if (wrong := _wrong(lab, name))] == []


@pytest.mark.long
def test_all_that_were_adapted_run(tmp_path: Path) -> None:
    with _lab(tmp_path / "lab") as lab:
        assert [wrong for name in fix_case_names() if (wrong := _wrong(lab, name))] == []


@pytest.mark.long
def test_they_fail_as_they_are_where_there_is_something_to_adapt(tmp_path: Path) -> None:
    wrong = []
    with _lab(tmp_path / "lab") as lab:
        for name in fix_case_names():
            case = fix_case(name)
            job, log = _ran(lab, case, f"{name}-before", case.files, case.boot)
            if job["status"]["phase"] != ("Failed" if case.fails_before else "Completed"):
                wrong.append(f"{name} is {job['status']['phase']}: {log[-3000:]}")
    assert wrong == []


def test_the_stand_in_is_read_by_old_pythons() -> None:
    """Engines have 3.7; nothing newer stands in it."""
    import ast

    ast.parse(Path(STAND_INS).read_text(encoding="utf-8"), feature_version=(3, 7))
