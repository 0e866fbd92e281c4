"""The corpus of jobs: read from its files, laid out in a folder, and checked against a real Lab."""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
import sys
import tomllib
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support.servers.lab_process import LabProcess
from support.work_bench import Bench
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import LAB, Profile, Provider
from traindeck.domain.jobs.checks import CheckLevel, CheckReport
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.job_template import template_of
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import Channel, JobSpec
from traindeck.domain.storage.objects import ObjectPath
from traindeck.lab.accounts import Accounts
from traindeck.lab.obs.index import OBJECTS
from traindeck.lab.obs.records import ObjectInfo
from traindeck.lab.obs.storage import Storage
from traindeck.lab.obs.store import ObjectStore
from traindeck.services.accounts.connections import Connection
from traindeck.services.jobs.billing import Billing
from traindeck.services.jobs.checks.job_checks import JobChecks
from traindeck.services.jobs.checks.lab_limits import LabPython
from traindeck.services.jobs.checks.service_facts import ServiceFacts
from traindeck.services.jobs.choices import JobChoices
from traindeck.services.storage.data_ports import BytesBody
from traindeck.services.storage.place_facts import PlaceService
from traindeck.store.offers import OfferStore
from traindeck.store.price_file import PriceFile
from traindeck.store.templates import TemplateStore

CORPUS = Path(__file__).parents[1] / "jobs_corpus"
BUCKET, SEALED, CLOSED = "corpus", "corpus-sealed", "corpus-closed"
CLOUD, ELSEWHERE = "cloud", "elsewhere"
_PRICES: dict[str, float | None] = {"modelarts.vm.cpu.2u": 1.0, "modelarts.kat1.xlarge.public": 20.0}
_GB = 10**9

_JOB = """
[job]
name = "corpus"
[code]
folder = "."
boot = "train.py"
[engine]
name = "Local-Python"
version = "local-python"
[resources]
flavor = "modelarts.vm.cpu.2u"
stop_after = "1h"
[inputs]
data_url = "obs://corpus/data/"
[outputs]
train_url = "obs://corpus/out/{run}/"
[logs]
to = "obs://corpus/log/{run}/"
[parameters]
epochs = 3
"""
_SCRIPT = """import argparse
import os

parser = argparse.ArgumentParser()
for name in ("data_url", "train_url"):
    parser.add_argument(f"--{name}")
parser.add_argument("--epochs", type=int, default=1)
args, _ = parser.parse_known_args()
print(args.epochs, os.listdir(args.data_url))
with open(os.path.join(args.train_url, "done.txt"), "w") as file:
    file.write("training")
"""


@dataclass(frozen=True, slots=True)
class JobCase:
    """One job, and what is to be said of it."""

    name: str
    is_broken: bool
    content: Mapping[str, Any]

    @property
    def can_be_laid_out(self) -> bool:
        """Some names cannot be had everywhere."""
        wants_case, wants_bytes = self.content.get("needs_case"), self.content.get("bad_name")
        return not (wants_case and sys.platform != "linux") and not (wants_bytes and sys.platform != "linux")

    @property
    def profile(self) -> str:
        return str(self.content.get("profile", LAB))

    def spec(self) -> JobSpec:
        spec = job_file.parse(self.content.get("job", _JOB))
        for change in self.content.get("set", ()):
            spec = job_file.with_setting(spec, change)
        return spec

    def lay_out(self, folder: Path) -> Path:
        folder.mkdir()
        (folder / "train.py").write_text(_SCRIPT, encoding="utf-8")
        for name, content in self.content.get("files", {}).items():
            _write(folder, name, content)
        if self.content.get("bad_name"):
            (folder / os.fsdecode(b"\xd1\xb5\xc1\xb7.py")).write_text("x = 1\n", encoding="utf-8")
        return folder

    def missed(self, report: CheckReport) -> str:
        """What the report should say and does not; empty: it is right."""
        if not self.is_broken:
            warns = set(self.content.get("warns", ()))
            loud = [one for one in report.of(CheckLevel.RED, CheckLevel.AMBER) if one.check not in warns]
            return "; ".join(f"{one.check} is {one.level.value}: {one.fact}" for one in loud)
        wanted, level = self.content["check"], CheckLevel(self.content["level"])
        found = [one for one in report.findings if one.check == wanted and one.level is level]
        for key in ("file", "line"):
            if key in self.content:
                found = [one for one in found if getattr(one, key) == self.content[key]]
        if "fix" in self.content:
            values = (value for one in found for fix in one.fixes for _, value in fix.changes)
            found = found if self.content["fix"] in values else []
        said = [f"{one.check} {one.level.value} {one.file}:{one.line} {one.fact}"
                for one in report.of(CheckLevel.RED, CheckLevel.AMBER)]  # fmt: skip
        return "" if found else f"{wanted} is not {level.value} as it should be; said: {said}"


def _write(folder: Path, name: str, content: str | Mapping[str, Any]) -> None:
    if isinstance(content, Mapping) and "copies" in content:
        for number in range(content["copies"]):
            _write(folder, name.replace("{n}", str(number)), "x")
        return
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    match content:
        case str():
            place.write_bytes(content.encode())
        case {"hex": digits}:
            place.write_bytes(bytes.fromhex(digits))
        case {"base64": encoded}:
            place.write_bytes(base64.b64decode(encoded))
        case {"bytes": size}:
            with place.open("wb") as file:
                file.truncate(size)
        case {"link": target}:
            place.symlink_to(target)


def cases(*names: str) -> list[JobCase]:
    found = []
    for name in names:
        with (CORPUS / f"{name}.toml").open("rb") as file:
            rows = tomllib.load(file)["case"]
        found += [JobCase(row["name"], name.startswith("broken"), row) for row in rows]
    return found


BROKEN = cases("broken_places", "broken_form", "broken_code", "broken_scripts")
GOOD = cases("good")


def prepare_lab(root: Path) -> None:
    """The objects that the jobs name, some of them far larger than any disk here."""
    root.mkdir(parents=True)
    account = Accounts(root).first
    with closing(ObjectStore(root)) as objects:
        for bucket in (BUCKET, SEALED, CLOSED, "many", "crowded"):
            objects.create_bucket(bucket, account.domain_id)
        for key in ("data/train.csv", "data/test.csv", "data_private/names.csv", "full/model.ckpt", "empty/"):
            objects.put(BUCKET, key, b"" if key.endswith("/") else b"1,2,3\n")
    with closing(Storage(root)) as storage:
        _listed_only(storage, BUCKET, (("large/all.rec", 60 * _GB),))
        _listed_only(storage, "many", ((f"data/{number:05}.jpg", 1000) for number in range(10_500)))
        crowd = ((f"data/{number:05}.jpg", 1000) for number in range(10_500))
        _listed_only(storage, "crowded", (*crowd, ("other/all.rec", 60 * _GB)))


def _listed_only(storage: Storage, bucket: str, objects: Iterable[tuple[str, int]]) -> None:
    """Objects that are looked up and never read."""
    with storage.changing() as change:
        there = storage.existing(bucket)
        for number, (key, size) in enumerate(objects):
            info = ObjectInfo(key, size, "0" * 32, 1_780_000_000_000, "binary/octet-stream", {}, {}, 10**9 + number)
            change.keep(OBJECTS, there, info)


def checks_of(bench: Bench, python: LabPython | None = None) -> JobChecks:
    """As the program builds them; the Lab's Python is this one unless another is given."""
    told = python or LabPython(sys.executable, "3.11.7")

    async def ask(_: str) -> LabPython:
        return told

    places = PlaceService(bench.connections, bench.planes)
    choices = JobChoices(bench.connections, OfferStore(bench.paths.offers, bench.disk))
    facts = ServiceFacts(bench.connections, places, choices, bench.records)
    prices = PriceFile(bench.paths.prices)
    billing = Billing(bench.records, bench.connections, bench.run_service, prices, bench.disk)
    templates = TemplateStore(bench.paths.templates, bench.disk)
    return JobChecks(facts, bench.disk, ask, cost_of=billing.cost_of, template_of=templates.existing)


@asynccontextmanager
async def settled_in(bench: Bench, lab: LabProcess) -> AsyncIterator[None]:
    """Two accounts that are charged, with prices; a template; the settings of buckets, and a run that is under way."""
    PriceFile(bench.paths.prices).change(flavors=_PRICES, currency=None, limit=1000)
    ours = template_of("ours", _JOB, ["resources.flavor", "resources.pool", "outputs"])
    await TemplateStore(bench.paths.templates, bench.disk).save(ours, replaces=True)
    keys = Credentials(lab.access_key, Secret(lab.secret_key))
    addresses: dict[str, Any] = {
        "obs_endpoint": lab.obs, "modelarts_endpoint": lab.modelarts, "iam_endpoint": lab.iam,
        "project_id": lab.project_id,
    }  # fmt: skip
    for name, region in ((CLOUD, lab.region), (ELSEWHERE, "cn-north-4")):
        await bench.book.put(Profile(name, Provider.MODELARTS, region, **addresses))
        bench.secrets.keep(name, keys)
    connection = await bench.connections.open(LAB)
    await seal(connection.storage, SEALED)
    await connection.access.set_policy(CLOSED, _NO_WRITING)
    other = await _somebody_elses_job(connection)
    output = (Channel("train_url", f"obs://{BUCKET}/live/"),)
    spec = JobSpec(name="mine", outputs=output)
    await bench.records.add(Run("aabb0001", 0, "run-of-mine", LAB, spec, RunState.RUNNING, datetime.now(UTC)))
    try:
        yield
    finally:
        await connection.training.stop(other)
        while (job := await connection.training.show(other)) is not None and not job.state.is_over:
            await asyncio.sleep(0.02)


async def _somebody_elses_job(connection: Connection) -> str:
    """Made by other means than this program, and running as long as the Lab does."""
    code = ObjectPath(BUCKET, "code/others/")
    body = BytesBody(b"import time\ntime.sleep(600)\n")
    await connection.storage.over_wire(lambda plane: plane.put(code.join("train.py"), body))
    output = (Channel("train_url", f"obs://{BUCKET}/others/"),)
    spec = replace(job_file.parse(_JOB), inputs=(), outputs=output, log_to="", parameters=())
    return (await connection.training.create(f"others-{secrets.token_hex(4)}", spec, code)).id


_NO_WRITING = """
{"Statement": [{"Effect": "Deny", "Principal": {"ID": "*"}, "Action": ["PutObject"], "Resource": ["corpus-closed/*"]}]}
"""


async def seal(storage: Any, bucket: str) -> None:
    """Let the bucket encrypt what comes."""
    rule = "<Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm>"
    document = (
        "<ServerSideEncryptionConfiguration>"
        f"{rule}</ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>"
    )
    await storage.ask(lambda client: client.put_setting(bucket, "encryption", document), None)
