"""The window is in sight before anything is loaded that it does not need for that, and no SDK holds up its rooms."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from support.waiting import PATIENT_S
from traindeck.domain.accounts.profiles import LAB, Profile, Provider
from traindeck.domain.jobs.choices import Choices, Engine, Flavor
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import utc_now
from traindeck.store.offers import OfferStore
from traindeck.store.paths import Paths

ASK = """
import asyncio, json, sys
from argparse import Namespace
from traindeck.bootstrap import run_program
loaded = {}

def look_on(window):
    window.painted.connect(lambda: loaded.setdefault("frame", sorted(sys.modules)))

async def visit(program):
    loaded["rooms"] = sorted(sys.modules)
    form = program.models.jobs.parts.form
    while form.state.offer is None or not form._waits:
        await asyncio.sleep(0.01)
    loaded["rest"] = sorted(sys.modules)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(loaded, file)
    return 0

sys.exit(run_program(Namespace(language="en", theme="light", opens=[]), visit, look_on))
"""
SDKS = {"obs", "requests", "urllib3", "Crypto", "huaweicloudsdkcore", "huaweicloudsdkmodelarts", "bson"}
# What only some ever use: it waits until they do.
SELDOM = {"aiohttp", "tomlkit", "yaml", "pathspec", "re2", "keyring", "multiprocessing", "PIL", "numpy", "pyqtgraph"}
# What the rooms are made of, and the frame is not.
OF_THE_ROOMS = {
    "sqlite3", "filelock", "psutil", "tomllib", "difflib", "encodings.gb2312", "xml.etree", "httptools",
    "traindeck.domain.jobs.job", "traindeck.domain.jobs.form.form_fields", "traindeck.domain.jobs.prices",
    "traindeck.domain.transfers.orders", "traindeck.domain.transfers.records", "traindeck.domain.pinyin",
    "traindeck.viewmodels.shell.finding",
}  # fmt: skip
MOST_IN_THE_FRAME = 70
"""Modules of ours; a new one here wants a reason."""


async def what_was_offered(home: Path) -> None:
    """As an earlier start left it."""
    lab = Profile(LAB, Provider.LAB, "lab")
    offered = Choices((Engine("E", "e-1", "e-1"),), (Flavor("f", "F", "CPU"),), utc_now())
    with closing(BlockingCalls(1, "disk")) as disk:
        await OfferStore(Paths(home).offers, disk).write(LAB, lab.modelarts_url, offered)


async def test_the_frame_loads_itself_alone_and_a_window_at_rest_no_sdk(tmp_path: Path) -> None:
    await what_was_offered(tmp_path / "home")
    told = tmp_path / "loaded.json"
    environment = {**os.environ, "TRAINDECK_HOME": str(tmp_path / "home"), "QT_QPA_PLATFORM": "offscreen"}
    for _ in range(2):  # the first start makes what later ones find
        subprocess.run(
            [sys.executable, "-c", ASK, str(told)], check=True, env=environment, capture_output=True,
            timeout=4 * PATIENT_S,
        )  # fmt: skip
    loaded = {moment: set(modules) for moment, modules in json.loads(told.read_text("utf-8")).items()}
    assert sorted(loaded["frame"] & (SDKS | SELDOM | OF_THE_ROOMS)) == []
    ours = {name for name in loaded["frame"] if name.startswith("traindeck.")}
    assert not [name for name in ours if name.split(".")[1] in ("services", "assembly", "lab", "cli")]
    assert len(ours) <= MOST_IN_THE_FRAME, sorted(ours)
    assert sorted(loaded["rest"] & (SDKS | SELDOM)) == []
