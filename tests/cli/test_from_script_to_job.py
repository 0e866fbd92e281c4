"""The way of the tutorials: a script and data of one's own become a job that runs, on one card and on eight."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from support.fix_corpus import PACKAGES, STAND_INS, fix_case
from support.script_folders import tree_in
from traindeck.domain.jobs.form.job_file import parse
from traindeck.services.jobs.checks.script_jobs import script_job_of
from traindeck.services.scripts.fix_files import FixFiles
from traindeck.services.scripts.fixes.all_fixes import propose_together
from traindeck.store.paths import Paths

# The smallest picture there is.
_PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_JOB = """\
[job]
name = "{name}"
target = "lab"

[code]
folder = "."
boot = "{boot}"

[engine]
name = "Ascend-Powered-Engine"
version = "{engine}"

[resources]
flavor = "{flavor}"
stop_after = "1h"

[inputs]
data_url = "{data}"

[outputs]
train_url = "obs://tut/out/{{run}}/"

[logs]
to = "obs://tut/log/{{run}}/"
"""
_OTHER_NAMES = {
    "--data_url": "--data-path",
    "--train_url": "--output",
    "args.data_url": "args.data_path",
    "args.train_url": "args.output",
    "args, unknown = parser.parse_known_args()": "args = parser.parse_args()",
}
_MINDSPORE = "mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt3p"
_PYTORCH = "pytorch_2.1.0-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt3p"
_ONE, _EIGHT = "modelarts.kat1.xlarge.public", "modelarts.kat1.8xlarge.public"


def _project(folder: Path, case: str, **job: str) -> Path:
    code = folder / "project"
    code.mkdir()
    for path, content in fix_case(case).files.items():
        (code / path).write_bytes(content)
    _write_job(code, **job)
    return code


def _write_job(code: Path, *, data: str, **changes: str) -> None:
    said = {"name": "resnet", "boot": "train.py", "flavor": _ONE, "engine": _MINDSPORE} | changes
    (code / "job.toml").write_text(_JOB.format(data=data, **said), encoding="utf-8")


def _bring_engine(code: Path) -> None:
    """What an Ascend has and the Lab has not."""
    (code / "stand_in.py").write_bytes(STAND_INS.read_bytes())
    for package in PACKAGES:
        (code / f"{package}.py").write_text("__path__ = []\nimport stand_in\n\nstand_in.install(__name__)\n")


def _data_up(traindeck: Traindeck, folder: Path) -> str:
    """A data set by classes, and the small one beside it."""
    for kind in ("cat", "dog"):
        for number in range(6):
            place = folder / "data" / "train" / kind / f"{number}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(_PICTURE)
    traindeck("obs", "mb", "obs://tut").must_be(0)
    traindeck("obs", "cp", folder / "data", "obs://tut/data/").must_be(0)
    traindeck("obs", "mini", "obs://tut/data/", "--per-class", "2").must_be(0)
    kept = traindeck("obs", "find", "obs://tut/data_mini/", "--json").must_be(0)
    assert len([row for row in kept.rows if row["key"].endswith(".png")]) == 4
    return "obs://tut/data_mini/"


def _submitted(traindeck: Traindeck, code: Path) -> str:
    """Its log."""
    traindeck("job", "check", code / "job.toml").must_be(0)
    traindeck("job", "submit", code / "job.toml", "--wait", "--yes").must_be(0)
    return traindeck("job", "logs", "last").must_be(0).out


def test_a_mindspore_script_on_one_card(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    data = _data_up(traindeck, tmp_path)
    code = _project(tmp_path, "mindspore_resnet_eight", data=data)
    before = (code / "train.py").read_bytes()
    found = traindeck("doctor", code / "job.toml", "--json").must_be(1).document
    assert "ascend-mindspore" in {one["fix"] for one in found["findings"]}
    traindeck("doctor", code / "job.toml", "--fix", "--yes").must_be(0)
    assert b'device_target="Ascend"' in (code / "train.py").read_bytes()
    _bring_engine(code)
    log = _submitted(traindeck, code)
    assert "device_target='Ascend'" in log and "CALL Model.train(" in log
    traindeck("doctor", code / "job.toml", "--undo").must_be(0)
    assert (code / "train.py").read_bytes() == before


@pytest.mark.long
def test_the_same_script_on_eight_cards(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    data = _data_up(traindeck, tmp_path)
    code = _project(tmp_path, "mindspore_functional_eight", data=data, flavor=_EIGHT)
    fixes = {one["fix"] for one in traindeck("doctor", code / "job.toml", "--json").must_be(1).document["findings"]}
    assert {"ascend-mindspore", "eight-cards-mindspore"} <= fixes
    traindeck("doctor", code / "job.toml", "--fix", "--yes").must_be(0)
    _bring_engine(code)
    log = _submitted(traindeck, code)
    assert all(f"num_shards=8, shard_id={rank})" in log for rank in range(8))
    assert log.count("CALL mindspore.save_checkpoint(") == 1
    traindeck("job", "fetch", "last", "--to", tmp_path / "results").must_be(0)
    assert [path.name for path in (tmp_path / "results").rglob("*.ckpt")] == ["net.ckpt"]


@pytest.mark.long
def test_a_project_for_cuda_with_an_entry_script(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    data = _data_up(traindeck, tmp_path)
    code = _project(tmp_path, "torch_classifier", name="classifier", engine=_PYTORCH, data=data)
    train = (code / "train.py").read_text(encoding="utf-8")
    # As such projects are: its own names for the folders, and no argument more.
    for old, new in _OTHER_NAMES.items():
        train = train.replace(old, new)
    (code / "train.py").write_text(train, encoding="utf-8")
    traindeck("doctor", code / "job.toml", "--json").must_be(1)
    tree = tree_in(code, "train.py")
    job = script_job_of(parse((code / "job.toml").read_text(encoding="utf-8")))
    files = FixFiles(Paths.for_user().script_fixes)
    applied = files.apply(code, propose_together(["ascend-pytorch", "entry-script"], tree, job), "train.py")
    assert sorted(one.path for one in applied.files) == ["modelarts_entry.py", "train.py"]
    _write_job(code, name="classifier", engine=_PYTORCH, boot="modelarts_entry.py", data=data)
    _bring_engine(code)
    log = _submitted(traindeck, code)
    assert "CALL torch.npu.is_available()" in log and "DataLoader[0][0].npu(non_blocking=True)" in log
    traindeck("job", "fetch", "last", "--to", tmp_path / "results").must_be(0)
    assert [path.name for path in (tmp_path / "results").rglob("*.pth")] == ["model.pth"]
    files.undo(applied.id)
    assert (code / "train.py").read_text(encoding="utf-8") == train and not (code / "modelarts_entry.py").exists()
