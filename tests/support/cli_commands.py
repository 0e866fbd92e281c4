"""Commands as a user types them: processes of their own, with what they left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from support.waiting import PATIENT_S

LIMIT_S = PATIENT_S


class Answer:
    """What a command left behind; kept as bytes, because an encoding is part of what is tested."""

    def __init__(self, arguments: tuple[str, ...], done: subprocess.CompletedProcess[bytes]) -> None:
        self.arguments = arguments
        self.code = done.returncode
        self.raw = done.stdout
        self.said = done.stderr.decode("utf-8", errors="replace")
        assert "Traceback" not in self.said, self.said
        assert b"Traceback" not in self.raw, self.raw

    @property
    def out(self) -> str:
        return self.raw.decode("utf-8")

    @property
    def document(self) -> Any:
        """The one JSON document that was printed."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = self.document["error"]
        return error

    def must_be(self, code: int) -> Answer:
        assert self.code == code, f"{self.arguments} ended with {self.code}: {self.said}\n{self.raw!r}"
        return self


Traindeck = Callable[..., Answer]

NAMES = ["数据.txt", "a b.bin", "sub/deep/ü.txt", "sub/two.txt"]


def put_files(folder: Path, content: Mapping[str, bytes]) -> None:
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def make_tree(folder: Path) -> dict[str, bytes]:
    put_files(folder, {name: os.urandom(300) + name.encode() for name in NAMES})
    return tree(folder)


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def serving(*options: str) -> Iterator[dict[str, str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "traindeck", "lab", "serve", "--json", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            # One that was told to end is on its way, and a signal would only tear off its last steps.
            if "--root" in options or Path(os.environ["TRAINDECK_HOME"], "lab", "running.json").exists():
                process.terminate()
            assert process.wait(PATIENT_S) == 0


def s3(lab: dict[str, str]) -> Any:
    """Another program's client of this Lab."""
    return boto3.client(
        "s3",
        endpoint_url=lab["obs"],
        aws_access_key_id=lab["access_key"],
        aws_secret_access_key=lab["secret_key"],
        region_name="lab",
        config=Config(s3={"addressing_style": "path"}),
    )


def deny(file: Path, action: str, resource: str) -> None:
    """Write a policy that keeps everybody from this."""
    statement = {"Effect": "Deny", "Principal": {"ID": "*"}, "Action": [action], "Resource": [resource]}
    file.write_text(json.dumps({"Statement": [statement]}), encoding="utf-8")
