"""What is seldom asked for, walked by real keys and clicks in one window: what each opens, and what it does."""

from __future__ import annotations

from pathlib import Path

from support.sample_home import shorten_the_sample
from support.servers.window_process import WindowProcess

_OPENED = {
    "QFileDialog": "job.open job.save job.import job.export.yaml job.export.json job.export.toolkit run.restore "
    "run.code_export run.export log.save dataset.look_local dataset.loader_pytorch dataset.loader_mindspore "
    "object.upload object.upload_folder object.download object.verify",
    "TemplatesDialog": "job.template",
    "SaveTemplateDialog": "job.keep",
    "CodeTreeDialog": "job.code",
    "ChecksDialog": "job.checks",
    "FindingsDialog": "job.findings",
    "FixDialog": "job.modelarts job.ascend job.cards",
    "ChooseRunDialog": "run.diff",
    "NameDialog": "run.tags log.line log.time log.bookmark log.highlight view.arrangement.save object.new_folder "
    "object.rename object.move object.copy_to",
    "Question": "run.delete object.delete bucket.empty bucket.delete",
    "NewBucketDialog": "bucket.new",
    "MiniDialog": "dataset.mini",
    "ProfileDialog": "account.connect",
    "ProblemReportDialog": "help.report",
    "PackDialog": "object.pack",
    "DeletedDialog": "object.deleted",
    "SyncDialog": "object.sync",
    "TextEditorDialog": "object.edit",
    "PropertyDialog": "bucket.settings bucket.access bucket.versioning bucket.lifecycle bucket.cors bucket.tags "
    "bucket.fragments object.properties object.link object.versions object.metadata object.access object.storage",
    "page": "account.lab",
    "field": "edit.find",
    "palette": "view.palette",
    "menu": "view.columns",
}
"""What each command that ends in three dots opens."""


def test_seldom_used_commands_open_and_do_what_they_say(home: Path) -> None:
    shorten_the_sample(home, 1)
    with WindowProcess(home, "walk_seldom") as window:
        wanted = {name: what for what, names in _OPENED.items() for name in names.split()}
        opened = [window.told("opened") for _ in wanted]
        assert {one["id"]: one["shown"] for one in opened} == wanted
        never = window.told("all opened")["never"]
        assert never == ["account.change", "account.remove", "run.stop", "view.arrangement.manage"]

        moved = window.told("moved")
        assert moved["walked"] == ["b.txt", "c.txt", "sub/a.txt", "sub/d.txt"]
        assert moved["full"] == ["2", "b.txt", "x/1"]
        assert "Deleted in obs://walked/" in window.told("deleted")["words"]
        assert window.told("question")["words"].startswith("Delete 3 objects (15 B) permanently?")
        assert window.told("question")["words"].startswith("Delete the bucket “gone” with everything in it?")
        buckets = set(window.told("removed")["buckets"])
        assert {"walked", "full"} <= buckets and "gone" not in buckets
        # How soon each answers is measured by the tour, where nothing else has the processor.
        window.must_be_well(longest_stall_ms=60_000)
