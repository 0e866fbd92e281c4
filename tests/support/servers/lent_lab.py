"""One Lab that many tests have, one after the other: to each it is the Lab of its own home, and empty."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

from support.leftovers import LENT
from support.planted import LAB_ROOTS
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Answer, Wire
from support.waiting import PATIENT_S
from traindeck.lab.accounts import FILE
from traindeck.lab.root_folder import RUNNING

_FACTS = ("obs", "modelarts", "iam", "access_key", "secret_key", "project_id", "region")
_MOST = 100  # objects of a test that are deleted one by one; with more a new Lab is quicker


class LentLab:
    """Starts with the first who has it; one that cannot be emptied is not lent again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()
        self._lab: LabProcess | None = None

    @contextmanager
    def to(self, home: Path) -> Iterator[dict[str, str]]:
        """What `lab serve --json` says; jobs, limits and tags are this home's own, by an account of its own."""
        if self._lab is None:
            self._lab = LabProcess(self._folder / f"root-{next(self._numbers)}").start()
            LENT.add(self._lab.pid)
            LAB_ROOTS.discard(self._lab.root)  # each home has the keys that it was given
        lab = self._lab.of_account(f"tenant-{next(self._numbers)}")
        folder = home / "lab"
        folder.mkdir(parents=True)
        # A home knows its Lab by these; the account is the first one there.
        for name in (RUNNING, "control.json"):
            shutil.copyfile(lab.root / name, folder / name)
        accounts = json.loads((lab.root / FILE).read_bytes())["accounts"]
        own = next(one for one in accounts if one["access_key"] == lab.access_key)
        (folder / FILE).write_text(json.dumps({"accounts": [own | {"name": "lab"}]}), encoding="utf-8")
        try:
            yield {name: str(getattr(lab, name)) for name in _FACTS}
        finally:
            if not self._is_as_new(lab):
                self.close()

    def close(self) -> None:
        if self._lab is not None:
            LENT.discard(self._lab.pid)
            self._lab.close()
            self._lab = None

    def _is_as_new(self, lab: LabProcess) -> bool:
        if lab.exit_code(0) is not None:
            return False
        try:
            Control(lab.root).rules()
            if not _is_idle(lab):
                return False
            wire = Wire(lab)
            return all(_is_gone(wire, name) for name in _found(wire.ask("GET", "/"), "Name"))
        except (OSError, AssertionError):
            return False


def _is_idle(lab: LabProcess) -> bool:
    """What is nearly at its end may come to it."""
    for _ in range(20):
        with urllib.request.urlopen(f"{lab.modelarts}/lab/status", timeout=PATIENT_S) as answer:
            if not json.load(answer)["live_jobs"]:
                return True
        time.sleep(0.03)
    return False


def _is_gone(wire: Wire, bucket: str) -> bool:
    """Emptied and deleted."""
    begun = wire.ask("GET", f"/{bucket}?uploads&encoding-type=url", resource=f"/{bucket}?uploads")
    versions = wire.ask("GET", f"/{bucket}?versions&encoding-type=url", resource=f"/{bucket}?versions")
    uploads = [f"{key}?uploadId={name}" for key, name in _pairs(begun, "UploadId")]
    kept = [f"{key}?versionId={name}" for key, name in _pairs(versions, "VersionId")]
    if len(uploads) + len(kept) > _MOST:
        return False
    statuses = [wire.ask("DELETE", f"/{bucket}/{target}").status for target in (*uploads, *kept)]
    return {*statuses, wire.ask("DELETE", f"/{bucket}").status} == {204}


def _found(answer: Answer, name: str) -> list[str]:
    return [unescape(found) for found in re.findall(f"<{name}>(.*?)</{name}>", answer.body.decode())]


def _pairs(answer: Answer, name: str) -> list[tuple[str, str]]:
    return list(zip(_found(answer, "Key"), _found(answer, name), strict=True))
