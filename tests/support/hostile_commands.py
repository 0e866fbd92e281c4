"""Every command that talks to a server, ready to be run against one that means no good."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkcore.sdk_request import SdkRequest
from huaweicloudsdkcore.signer.signer import Signer

from support.cli_commands import Answer, as_program, in_process, s3
from support.servers.faults import Request
from support.servers.hostile import Around, Behaviour, Upstream, hostile
from support.servers.lab_process import LabProcess
from support.waiting import PATIENT_S
from traindeck.assembly import data_core
from traindeck.cli.job import waiting
from traindeck.services.http import bounds
from traindeck.services.http import calls as retrying
from traindeck.services.jobs import submission
from traindeck.services.transfers import active

BUCKET = "hostile-bucket"
PLACE = f"obs://{BUCKET}/in"

COMMANDS: dict[str, tuple[str, ...]] = {
    "obs ls": ("obs", "ls"),
    "obs ls, a folder": ("obs", "ls", f"{PLACE}/"),
    "obs ls, all": ("obs", "ls", "-r", f"{PLACE}/"),
    "obs du": ("obs", "du", f"{PLACE}/"),
    "obs find": ("obs", "find", f"{PLACE}/", "one"),
    "obs tree": ("obs", "tree", f"{PLACE}/"),
    "obs versioning": ("obs", "versioning", f"obs://{BUCKET}"),
    "obs versioning, on": ("obs", "versioning", f"obs://{BUCKET}", "enable"),
    "obs tagging": ("obs", "tagging", f"obs://{BUCKET}", "set", "a=b"),
    "obs tagging, an object": ("obs", "tagging", f"{PLACE}/one"),
    "obs lifecycle": ("obs", "lifecycle", f"obs://{BUCKET}"),
    "obs cors": ("obs", "cors", f"obs://{BUCKET}"),
    "obs mini": ("obs", "mini", f"{PLACE}/", "mini", "--per-class", "5"),
    "obs find, report": ("obs", "find", f"{PLACE}/", "--report", "--contents"),
    "obs mb": ("obs", "mb", "obs://hostile-new"),
    "obs rb": ("obs", "rb", "--force", "-y", f"obs://{BUCKET}-gone"),
    "obs policy": ("obs", "policy", f"obs://{BUCKET}"),
    "obs policy, set": ("obs", "policy", f"obs://{BUCKET}", "set", "private", "-y"),
    "obs policy, grants": ("obs", "policy", f"obs://{BUCKET}", "--acl"),
    "obs cp, down": ("obs", "cp", f"{PLACE}/", "down"),
    "obs cp, one": ("obs", "cp", f"{PLACE}/one", "one"),
    "obs cp, out": ("obs", "cp", f"{PLACE}/one", "-"),
    "obs cp, up": ("obs", "cp", "files", f"obs://{BUCKET}/up/"),
    "obs cp, there": ("obs", "cp", f"{PLACE}/", f"obs://{BUCKET}/copied/"),
    "obs cp, verify": ("obs", "cp", "--verify", "files", f"{PLACE}/"),
    "obs mv": ("obs", "mv", f"{PLACE}/one", f"obs://{BUCKET}/moved"),
    "obs sync, down": ("obs", "sync", f"{PLACE}/", "synced", "-y"),
    "obs sync, up": ("obs", "sync", "files", f"{PLACE}/", "-y"),
    "obs pack": ("obs", "pack", f"{PLACE}/", f"obs://{BUCKET}/packed-anew/", "-y"),
    "obs pack, here": ("obs", "pack", "files", f"obs://{BUCKET}/packed-here/", "-y"),
    "obs pack, listed": ("obs", "pack", "--list", f"obs://{BUCKET}/packed/"),
    "obs pack, unpack": ("obs", "pack", "--unpack", f"obs://{BUCKET}/packed/", "unpacked", "-y"),
    "obs cat": ("obs", "cat", f"{PLACE}/one"),
    "obs cat, a part": ("obs", "cat", "--range", "3-9", f"{PLACE}/one"),
    "obs fragments": ("obs", "fragments", f"{BUCKET}/in"),
    "obs rm": ("obs", "rm", "-r", "-y", f"obs://{BUCKET}/to-go/"),
    "obs rm, versions": ("obs", "rm", "--all-versions", "-r", "-y", f"obs://{BUCKET}/to-go/"),
    "obs rm, undo": ("obs", "rm", "--undo", "-r", "-y", f"obs://{BUCKET}/to-go/"),
    "obs stat": ("obs", "stat", "--versions", f"{PLACE}/one"),
    "obs stat, a bucket": ("obs", "stat", f"obs://{BUCKET}"),
    "engines": ("engines",),
    "engines, with its project": ("engines",),
    "flavors": ("flavors",),
    "diag": ("diag",),
    "profile check": ("profile", "check", "environment"),
    "job check": ("job", "check", "project"),
    "job submit": ("job", "submit", "project"),
    "job ls": ("job", "ls"),
    "job show": ("job", "show", "last"),
    "job logs": ("job", "logs", "last"),
    "job stop": ("job", "stop", "last"),
    "job rerun": ("job", "rerun", "finished"),
    "job rm": ("job", "rm", "-y", "finished"),
    "job fetch": ("job", "fetch", "finished", "--to", "fetched"),
    "job wait": ("job", "wait", "finished"),
    "job metrics": ("job", "metrics", "last"),
    "job compare": ("job", "compare", "finished", "last"),
    "explain": ("explain", "last"),
    "job adopt": ("job", "adopt", "nobody"),
    "job clean": ("job", "clean", BUCKET, "-y"),
    "job tag": ("job", "tag", "finished", "team=cv"),
    "job describe": ("job", "describe", "finished", "words"),
    "billing": ("billing",),
}
# Those that ask no service; what they ask the Lab of this computer is asked of a program of ours.
QUIET = {
    *("lab serve", "lab status", "lab stop", "lab reset", "lab engines"),
    *("lab account add", "lab account remove", "lab account ls"),
    *("profile add", "profile list", "profile use", "profile remove"),
    *(
        "job init",
        "job code",
        "job note",
        "job star",
        "job fields",
        "job template",
        "job export",
        "job import",
        "job rules",
    ),
    *("obs url", "completion", "config import", "doctor"),
}
# Where a service that does not answer is told, and what was known of the runs is shown all the same.
TOLD_BESIDE = {
    *("billing", "diag", "profile check", "job check", "job compare"),
    *("job ls", "job show", "job logs", "job metrics", "job stop", "job rm", "job wait", "explain"),
}


def short_bounds(monkeypatch: pytest.MonkeyPatch, answer_s: float = 0.6) -> None:
    """The same bounds and tries in a small part of the time."""
    for name, value in (("ANSWER_S", answer_s), ("SILENCE_S", 0.4), ("CONNECT_S", 3.0), ("LOOK_S", 0.05)):
        monkeypatch.setattr(bounds, name, value)
    monkeypatch.setattr(bounds, "PAGES", 40)
    monkeypatch.setattr(bounds, "EMPTY_PAGES", 20)
    monkeypatch.setattr(retrying, "FIRST_S", 0.001)
    monkeypatch.setattr(active, "FIRST_WAIT_S", 0.02)
    monkeypatch.setattr(active, "LONGEST_WAIT_S", 0.1)
    monkeypatch.setattr(data_core, "PATIENCE_S", 0.3)
    monkeypatch.setattr(submission, "LOOK_UPS_S", (0.01, 0.02))
    monkeypatch.setattr(waiting, "_LOOK_S", 3.0)
    monkeypatch.setattr(waiting, "_SILENCE_S", 3.0)


TRAIN = """
import pathlib, sys, time
place = next(word for word in " ".join(sys.argv).replace("=", " ").split() if "out" in word)
pathlib.Path(place, "model").write_text("trained")
print("trained", flush=True)
"""
JOB = """
[job]
name = "{name}"
target = "modelarts"
[code]
folder = "."
boot = "train.py"
[engine]
name = "Local-Python"
version = "local-python"
[resources]
flavor = "modelarts.vm.cpu.2u"
nodes = 1
stop_after = "1h"
[outputs]
train_url = "obs://{bucket}/out/{{run}}/"
[logs]
to = "obs://{bucket}/log/{{run}}/"
"""


@dataclass
class Stage:
    """A Lab that holds something of all that commands ask for, and a home that knows of two runs of it."""

    lab: LabProcess
    folder: Path
    lasting: set[psutil.Process] = field(default_factory=set)
    """The processes of a job that runs for as long as it is let."""

    @property
    def upstream(self) -> Upstream:
        return Upstream(self.lab.obs, self.lab.modelarts, self.lab.iam, self.resign)

    def resign(self, request: Request, host: str) -> None:
        """The gateway signature covers the Host header; sign again for where the request goes."""
        path, _, query = request.target.partition("?")
        signed = SdkRequest(
            method=request.method,
            schema="http",
            host=host,
            resource_path=path,
            query_params=[tuple(pair.split("=", 1)) for pair in query.split("&") if pair],
            header_params={"Host": host, "Content-Type": request.headers.get("Content-Type", "application/json")},
            body=request.body.decode(),
        )
        keys = BasicCredentials(self.lab.access_key, self.lab.secret_key)
        request.headers.update(Signer(keys).sign(signed).header_params)

    def account(self, obs: str, modelarts: str, iam: str, *, project: bool = True) -> dict[str, str]:
        """The environment of a command that goes there."""
        found = {
            "HUAWEICLOUD_SDK_AK": self.lab.access_key,
            "HUAWEICLOUD_SDK_SK": self.lab.secret_key,
            "HUAWEICLOUD_SDK_REGION": self.lab.region,
            "TRAINDECK_OBS_ENDPOINT": obs,
            "TRAINDECK_MODELARTS_ENDPOINT": modelarts,
            "TRAINDECK_IAM_ENDPOINT": iam,
        }
        return found | ({"TRAINDECK_PROJECT_ID": self.lab.project_id} if project else {})

    def prepare(self) -> None:
        """Runs and packed files by our own commands."""
        retrying.load("obs", "traindeck.services.storage.sdk.client")  # else its loading takes all the time there is
        client = self.fill()
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        client.create_multipart_upload(Bucket=BUCKET, Key="in/unfinished")
        (self.folder / "files").mkdir(parents=True)
        for name in ("one", "two"):
            (self.folder / "files" / name).write_bytes(b"local " + name.encode())
        self.honest("obs", "pack", "files", f"obs://{BUCKET}/packed/", "-y").must_be(0)
        (self.folder / "project").mkdir()
        for name, script in (("finished", TRAIN), ("last", f"{TRAIN}time.sleep(3600)\n"), ("project", TRAIN)):
            job = JOB.format(name=name, bucket=BUCKET)
            (self.folder / "project" / "job.toml").write_text(job)
            (self.folder / "project" / "train.py").write_text(script)
            words = ("--wait",) if name == "finished" else ()
            if name != "project":  # that one is for the commands
                self.honest("job", "submit", "project", *words).must_be(0)
        while "trained" not in self.honest("job", "logs", "last").must_be(0).out:
            pass  # the service prints before the script begins
        self.lasting = self._jobs()

    def calm(self) -> None:
        """Come back when the jobs that commands have sent are over."""
        psutil.wait_procs(self._jobs() - self.lasting, timeout=PATIENT_S)

    def _jobs(self) -> set[psutil.Process]:
        return set(psutil.Process(self.lab.pid).children(recursive=True))

    def fill(self) -> Any:
        """The objects, by the client of another program, as they are before each command."""
        client = s3(vars(self.lab))
        for made in ("up/", "copied/", "moved", "packed-anew/", "packed-here/"):
            for one in client.list_objects(Bucket=BUCKET, Prefix=made).get("Contents", []) if self.lasting else ():
                client.delete_object(Bucket=BUCKET, Key=one["Key"])
        for bucket in (BUCKET, f"{BUCKET}-gone"):
            client.create_bucket(Bucket=bucket)
        for key in ("in/one", "in/two", "in/below/three", "to-go/one"):
            client.put_object(Bucket=BUCKET, Key=key, Body=key.encode() * 100)
        return client

    def honest(self, *words: str) -> Answer:
        way = self.account(self.lab.obs, self.lab.modelarts, self.lab.iam)
        home = {"TRAINDECK_HOME": str(self.folder / "home")}
        return as_program((*words, "--profile", "environment"), self.folder, environment=way | home)


@contextmanager
def standing(stage: Stage, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In a folder with the files and the home that commands find."""
    shutil.copytree(stage.folder, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TRAINDECK_HOME", str(folder / "home"))
    try:
        yield
    finally:
        monkeypatch.chdir(folder.parent)
        shutil.rmtree(folder)


def run_against(
    stage: Stage, command: str, behaviour: Behaviour, honest: int, *, more: dict[str, str] | None = None, **servers: Any
) -> tuple[Answer, Around]:
    """One command whose services turn bad after so many requests, here in this process."""
    with hostile(stage.upstream, behaviour, honest, **servers) as around:
        way = stage.account(around.obs, around.modelarts, around.iam, project="project" not in command)
        words = (*COMMANDS[command], "--profile", "environment")
        return in_process(words, environment=os.environ | way | (more or {})), around
