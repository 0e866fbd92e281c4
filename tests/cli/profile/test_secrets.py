"""Secrets given to commands: in no argument list while they run, and in nothing they leave behind."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from support import planted
from support.cli_commands import Traindeck
from support.servers.http_proxy import HttpProxy
from support.servers.secret_service import SecretService

pytestmark = pytest.mark.limit(600)
USER = "ann"


class Watched:
    """Runs commands and looks at every process's arguments meanwhile."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self.said = ""
        self.arguments: set[str] = set()

    async def __call__(self, *words: str, given: str = "", code: int = 0, **environment: str) -> str:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "traindeck", *words, cwd=self._folder,
            env={**os.environ, **self._environment, **environment},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        looking = asyncio.create_task(self._look(process.pid))
        try:
            out, err = await process.communicate(given.encode())
        finally:
            looking.cancel()
        self.said += out.decode() + err.decode()
        assert process.returncode == code, (words, out, err)
        return out.decode()

    async def _look(self, pid: int) -> None:
        while True:
            try:
                top = psutil.Process(pid)
                for process in (top, *top.children(recursive=True)):
                    self.arguments.add(" ".join(process.cmdline()))
            except psutil.Error:
                return
            await asyncio.sleep(0.1)  # a look at every process costs as much as a small command


async def test_nothing_of_them_stays_but_in_the_keyring(
    tmp_path: Path, lab: dict[str, str], keyring: SecretService
) -> None:
    run = Watched(tmp_path, keyring.environment)
    addresses = ["--obs-endpoint", lab["obs"], "--modelarts-endpoint", lab["modelarts"], "--iam-endpoint", lab["iam"]]
    async with HttpProxy(USER, planted.PROXY_PASSWORD) as proxy:
        by_proxy = ["--proxy", proxy.url.replace("//", f"//{USER}@")]
        good = f"{lab['access_key']}\n{lab['secret_key']}\n\n{planted.PROXY_PASSWORD}\n"
        added = await run("profile", "add", "mine", "--region", "lab", *addresses, *by_proxy, "--json", given=good)
        assert json.loads(added)["proxy"] == by_proxy[1]
        await run("profile", "use", "mine")
        await run("obs", "mb", "obs://by-proxy", "--json")
        (tmp_path / "file").write_bytes(b"x")
        await run("obs", "cp", "file", "obs://by-proxy/file", "--json")
        checked = json.loads(await run("profile", "check", "--json", "-v"))
        assert checked["valid"] is True and {check["passed"] for check in checked["checks"]} == {True}, checked
        assert proxy.refused == 0 and proxy.seen
        # Other settings without giving the keys again; a wrong password is told as one.
        replaced = ["profile", "add", "mine", "--region", "lab", *addresses, "--replace", "--keep-keys"]
        await run(*replaced, *by_proxy, given="another\n")
        refused = json.loads(await run("profile", "check", "--json", "-v", code=5))
        assert "rejected its user and password" in json.dumps(refused)
        await run(*replaced)
        assert json.loads(await run("obs", "ls", "obs://by-proxy", "--json", "-v"))["size"] == 1
    # Keys that are not theirs, and temporary ones.
    wrong = f"{lab['access_key']}\n{planted.SECRET_KEY}\n"
    await run("profile", "add", "wrong", "--region", "lab", *addresses, given=wrong)
    assert json.loads(await run("profile", "check", "wrong", "--json", "-v", code=3))["valid"] is False
    await run("obs", "ls", "--profile", "wrong", "-v", code=3)
    temporary: dict[str, Any] = {
        "HUAWEICLOUD_SDK_AK": lab["access_key"], "HUAWEICLOUD_SDK_SK": planted.SECRET_KEY,
        "HUAWEICLOUD_SDK_SECURITY_TOKEN": planted.TOKEN, "TRAINDECK_OBS_ENDPOINT": lab["obs"],
        "TRAINDECK_MODELARTS_ENDPOINT": lab["modelarts"], "TRAINDECK_IAM_ENDPOINT": lab["iam"],
    }  # fmt: skip
    await run("obs", "ls", "--profile", "environment", "-v", code=3, **temporary)
    await run("profile", "add", "short", "--region", "lab", given=f"{wrong}{planted.TOKEN}\n", code=2)
    await run("profile", "list", "--json", **temporary)

    secrets = (*planted.ALWAYS, lab["secret_key"])
    assert any("profile add mine" in words for words in run.arguments), "somebody looked in time"
    assert planted.found_in(run.said + "\n".join(run.arguments), secrets) == []
    own = [path for path in (tmp_path / "home").rglob("*") if path.is_file() and "lab" not in path.parts]
    assert "settings.json" in {path.name for path in own}
    for path in own:
        content = path.read_bytes()
        assert not [secret for secret in secrets if any(form in content for form in planted.spellings(secret))], path


def test_files_that_are_no_credentials_are_named(traindeck: Traindeck, tmp_path: Path) -> None:
    all_said = ""
    heads = "User Name,Access Key Id,Secret Access Key\n"
    line = f"ann,AKEXAMPLE12345678901,{planted.SECRET_KEY}\n"
    cases = {
        "empty credentials.csv": (b"", "it is empty"),
        "columns credentials.csv": (f"name,key\nann,{planted.SECRET_KEY}\n".encode(), "Secret Access Key are missing"),
        "several credentials.csv": (f"{heads}{line}{line.replace('AKEX', 'AKEY')}".encode("gb18030"), "more than one"),
        "heads credentials.csv": (heads.encode("utf-8-sig"), "no line below the header"),
        "book credentials.xlsx": (b"PK\x03\x04\x00\x00" + bytes(range(256)), "Save a workbook as CSV"),
    }
    for name, (content, words) in cases.items():
        (tmp_path / name).write_bytes(content)
        answer = traindeck("profile", "add", "x", "--region", "cn-north-4", "--csv", name).must_be(2)
        assert name in answer.said and words in answer.said, answer.said
        all_said += answer.out + answer.said
    for keys in ("\n\n", "   \n\t\n", "AKEXAMPLE12345678901\n   \n"):
        answer = traindeck("profile", "add", "x", "--region", "cn-north-4", given=keys.encode()).must_be(2)
        all_said += answer.out + answer.said
    assert planted.found_in(all_said) == []
