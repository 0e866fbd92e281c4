"""Object store clients that are programs, each run as its users run it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from support.servers.lab_process import LabProcess
from support.stores.foreign_clients import PART, PLAIN, USUAL_KEYS, About, Kind, Refused
from support.waiting import PATIENT_S

LIMIT_S = PATIENT_S


class Program:
    """A client that is a program; keys go by its environment, never by its arguments."""

    def __init__(self, program: Sequence[str], home: Path, environment: Mapping[str, str]) -> None:
        self._program = program
        home.mkdir(parents=True, exist_ok=True)
        self._home = home
        self._environment = {**os.environ, "HOME": str(home), "USERPROFILE": str(home), **environment}

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [*self._program, *words],
            capture_output=True,
            timeout=LIMIT_S,
            cwd=self._home,
            env=self._environment,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            raise Refused((done.stderr + done.stdout).decode("utf-8", errors="replace"))
        return done.stdout.decode("utf-8")

    def close(self) -> None:
        """Every call was a process of its own."""


def installed(name: str) -> str:
    found = Path(sysconfig.get_path("scripts")) / name
    program = shutil.which(str(found)) or shutil.which(name)
    assert program is not None, f"{name} is not installed"
    return program


def _aws_environment(access_key: str, secret_key: str) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": access_key,
        "AWS_SECRET_ACCESS_KEY": secret_key,
        "AWS_DEFAULT_REGION": "lab",
        "AWS_REGION": "lab",
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PYTHONWARNINGS": "ignore",
        "PYTHONUTF8": "1",
    }


# Runs one command line after the other, each in a process forked when everything was imported already, which takes
# most of the time of a short one. What it gets and gives are lines of JSON.
_FORKING = """
import json, os, sys, traceback
import awscli.clidriver, awscli.customizations.s3.subcommands, botocore.httpsession, s3transfer.manager
for line in sys.stdin:
    words, folder, environment, output, errors = json.loads(line)
    child = os.fork()
    if not child:
        code = 255
        try:
            nothing = os.open(os.devnull, os.O_RDONLY)
            for number, path in ((0, None), (1, output), (2, errors)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if path else nothing, number)
            for name in {*os.environ} - {*environment, "AWS_DATA_PATH"}:  # the latter is its own doing
                del os.environ[name]
            os.environ.update(environment)
            os.chdir(folder)
            sys.argv = ["aws", *words]
            code = awscli.clidriver.main()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code or 0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@contextmanager
def forking_aws() -> Iterator[None]:
    """Meanwhile the commands of AWS are forked, where processes can be; else each is started as users do it."""
    if not hasattr(os, "fork"):
        yield
        return
    command = [sys.executable, "-c", _FORKING]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONUTF8": "1"}
    with subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as AwsCli.forking:
        yield
        AwsCli.forking = None


class AwsCli(Program):
    """The command line of AWS."""

    forking: ClassVar[subprocess.Popen[str] | None] = None

    # In a path the program takes dots and doubled slashes apart before it sends them.
    keys: Sequence[str] = (*USUAL_KEYS, "x//y", "100%25", "k" * 1024)

    def __init__(self, lab: LabProcess, home: Path, access_key: str, secret_key: str) -> None:
        # Its script does not start from a folder with a blank in its name.
        super().__init__([sys.executable, "-m", "awscli"], home, _aws_environment(access_key, secret_key))
        self._endpoint = ["--endpoint-url", lab.obs]

    def run(self, *words: str) -> str:
        if self.forking is None:
            return super().run(*words)
        assert self.forking.stdin is not None and self.forking.stdout is not None
        output, errors = self._home / "aws.stdout", self._home / "aws.stderr"
        command = [words, str(self._home), self._environment, str(output), str(errors)]
        self.forking.stdin.write(json.dumps(command) + "\n")
        self.forking.stdin.flush()
        code = self.forking.stdout.readline().strip()
        assert code, "the program that forks has ended"
        if code != "0":
            raise Refused((errors.read_bytes() + output.read_bytes()).decode("utf-8", errors="replace"))
        return output.read_text("utf-8")

    def put(self, bucket: str, key: str, source: Path, about: About = PLAIN) -> None:
        more = ["--content-type", about.content_type] if about.content_type else []
        if about.metadata:
            more += ["--metadata", json.dumps(dict(about.metadata))]
        self._s3("cp", str(source), f"s3://{bucket}/{key}", "--no-progress", *more)

    def about(self, bucket: str, key: str) -> About:
        head = self._api("head-object", "--bucket", bucket, "--key", key)
        return About(head["ContentType"], head["Metadata"])

    def sync(self, source: Path | str, target: Path | str) -> None:
        self._s3("sync", str(source), str(target), "--delete", "--no-progress")

    def address(self, bucket: str, prefix: str) -> str:
        return f"s3://{bucket}/{prefix}"

    def get(self, bucket: str, key: str, target: Path) -> None:
        self._s3("cp", f"s3://{bucket}/{key}", str(target), "--no-progress")

    def listed(self, bucket: str, prefix: str = "") -> list[str]:
        answer = self._api("list-objects-v2", "--bucket", bucket, "--prefix", prefix)
        return [one["Key"] for one in answer.get("Contents", [])]

    def folders(self, bucket: str) -> list[str]:
        lines = self._s3("ls", f"s3://{bucket}/").splitlines()
        return [line.strip().removeprefix("PRE ") for line in lines if line.strip().startswith("PRE ")]

    def size(self, bucket: str, key: str) -> int:
        return int(self._api("head-object", "--bucket", bucket, "--key", key)["ContentLength"])

    def delete(self, bucket: str, key: str) -> None:
        self._s3("rm", f"s3://{bucket}/{key}")

    def delete_all(self, bucket: str, prefix: str) -> None:
        self._s3("rm", f"s3://{bucket}/{prefix}", "--recursive")

    def copy(self, bucket: str, source: str, target: str) -> None:
        self._s3("cp", f"s3://{bucket}/{source}", f"s3://{bucket}/{target}")

    def link(self, bucket: str, key: str) -> str:
        return self._s3("presign", f"s3://{bucket}/{key}").strip()

    def make_bucket(self, bucket: str) -> None:
        self._s3("mb", f"s3://{bucket}")

    def remove_bucket(self, bucket: str) -> None:
        self._s3("rb", f"s3://{bucket}")

    def buckets(self) -> list[str]:
        return [line.split()[-1] for line in self._s3("ls").splitlines()]

    def _s3(self, *words: str) -> str:
        return self.run("s3", *words, *self._endpoint)

    def _api(self, *words: str) -> Any:
        return json.loads(self.run("s3api", *words, *self._endpoint, "--output", "json") or "{}")


class Rclone(Program):
    """rclone as one of its providers."""

    # A path of rclone has no empty, "." or ".." segments.
    keys: Sequence[str] = (*USUAL_KEYS, "100%25")

    def __init__(self, lab: LabProcess, home: Path, provider: str, access_key: str, secret_key: str) -> None:
        settings = {
            "TYPE": "s3",
            "PROVIDER": provider,
            "ACCESS_KEY_ID": access_key,
            "SECRET_ACCESS_KEY": secret_key,
            "ENDPOINT": lab.obs,
            "REGION": "lab",
            "FORCE_PATH_STYLE": "true",
            "UPLOAD_CUTOFF": f"{PART}B",
            "CHUNK_SIZE": f"{PART}B",
        }
        environment = {f"RCLONE_CONFIG_LAB_{name}": value for name, value in settings.items()}
        own = {"RCLONE_CONFIG": str(home / "none.conf"), "RCLONE_RETRIES": "1", "RCLONE_LOW_LEVEL_RETRIES": "1"}
        super().__init__([installed("rclone")], home, {**environment, **own})

    def put(self, bucket: str, key: str, source: Path, about: About = PLAIN) -> None:
        told = {**about.metadata, **({"content-type": about.content_type} if about.content_type else {})}
        more = [word for name, value in told.items() for word in ("--metadata-set", f"{name}={value}")]
        self.run("copyto", *(["--metadata", *more] if more else []), str(source), f"lab:{bucket}/{key}")

    def about(self, bucket: str, key: str) -> About:
        told = json.loads(self.run("lsjson", "--stat", "--metadata", f"lab:{bucket}/{key}"))["Metadata"]
        return About(told["content-type"], told)

    def sync(self, source: Path | str, target: Path | str) -> None:
        self.run("sync", str(source), str(target))

    def check(self, source: Path | str, target: Path | str) -> None:
        """Raise where the two differ; by content, not only by size."""
        self.run("check", str(source), str(target))
        self.run("check", "--download", str(source), str(target))

    def address(self, bucket: str, prefix: str) -> str:
        return f"lab:{bucket}/{prefix}"

    def get(self, bucket: str, key: str, target: Path) -> None:
        # It takes a missing object for an empty folder, and copies that.
        self.size(bucket, key)
        self.run("copyto", f"lab:{bucket}/{key}", str(target))

    def listed(self, bucket: str, prefix: str = "") -> list[str]:
        found = json.loads(self.run("lsjson", "--recursive", "--files-only", f"lab:{bucket}/{prefix}"))
        stem = prefix if not prefix or prefix.endswith("/") else prefix + "/"
        return [stem + one["Path"] for one in found]

    def folders(self, bucket: str) -> list[str]:
        return self.run("lsf", "--dirs-only", f"lab:{bucket}").splitlines()

    def size(self, bucket: str, key: str) -> int:
        found = json.loads(self.run("lsjson", "--stat", f"lab:{bucket}/{key}"))
        if not found or found["IsDir"]:
            raise Refused("not found")
        return int(found["Size"])

    def delete(self, bucket: str, key: str) -> None:
        self.run("deletefile", f"lab:{bucket}/{key}")

    def delete_all(self, bucket: str, prefix: str) -> None:
        self.run("delete", f"lab:{bucket}/{prefix}")

    def copy(self, bucket: str, source: str, target: str) -> None:
        self.size(bucket, source)
        self.run("copyto", f"lab:{bucket}/{source}", f"lab:{bucket}/{target}")

    def link(self, bucket: str, key: str) -> str:
        return self.run("link", f"lab:{bucket}/{key}").strip()

    def make_bucket(self, bucket: str) -> None:
        self.run("mkdir", f"lab:{bucket}")

    def remove_bucket(self, bucket: str) -> None:
        self.run("rmdir", f"lab:{bucket}")

    def buckets(self) -> list[str]:
        return [line.rstrip("/") for line in self.run("lsf", "lab:").splitlines()]


class S5cmd(Program):
    """s5cmd."""

    # Wildcards and doubled slashes have their own meaning to it.
    keys: Sequence[str] = (*USUAL_KEYS, "100%25", "k" * 1024)

    def __init__(self, lab: LabProcess, home: Path, access_key: str, secret_key: str) -> None:
        super().__init__([installed("s5cmd")], home, _aws_environment(access_key, secret_key))
        self._global = ["--endpoint-url", lab.obs, "--retry-count", "0", "--json"]

    def put(self, bucket: str, key: str, source: Path, about: About = PLAIN) -> None:
        more = ["--content-type", about.content_type] if about.content_type else []
        more += [word for name, value in about.metadata.items() for word in ("--metadata", f"{name}={value}")]
        self._s5("cp", "--part-size", "6", *more, str(source), f"s3://{bucket}/{key}")

    def about(self, bucket: str, key: str) -> About:
        head = self._rows("head", "--raw", f"s3://{bucket}/{key}")[0]
        return About(head["content_type"], head.get("metadata", {}))

    def sync(self, source: Path | str, target: Path | str) -> None:
        # A wildcard stands for what is in a bucket's folder, a slash for what is in a local one.
        from_there = f"{source}/*" if "://" in str(source) else f"{source}/"
        self._s5("sync", "--delete", from_there, f"{target}/")

    def address(self, bucket: str, prefix: str) -> str:
        return f"s3://{bucket}/{prefix}"

    def get(self, bucket: str, key: str, target: Path) -> None:
        self._s5("cp", "--raw", f"s3://{bucket}/{key}", str(target))

    def listed(self, bucket: str, prefix: str = "") -> list[str]:
        try:
            found = self._rows("ls", f"s3://{bucket}/{prefix}*")
        except Refused as refused:
            if "no object found" in str(refused):
                return []
            raise
        return [one["key"].removeprefix(f"s3://{bucket}/") for one in found]

    def folders(self, bucket: str) -> list[str]:
        found = self._rows("ls", f"s3://{bucket}/")
        return [one["key"].removeprefix(f"s3://{bucket}/") for one in found if one["type"] == "directory"]

    def size(self, bucket: str, key: str) -> int:
        # It does not mention a size of zero.
        return int(self._rows("head", "--raw", f"s3://{bucket}/{key}")[0].get("size", 0))

    def delete(self, bucket: str, key: str) -> None:
        self._s5("rm", "--raw", f"s3://{bucket}/{key}")

    def delete_all(self, bucket: str, prefix: str) -> None:
        self._s5("rm", f"s3://{bucket}/{prefix}*")

    def copy(self, bucket: str, source: str, target: str) -> None:
        # Unasked it would make the copy forget what is said about the object.
        how = ["--raw", "--metadata-directive", "COPY"]
        self._s5("cp", *how, f"s3://{bucket}/{source}", f"s3://{bucket}/{target}")

    def link(self, bucket: str, key: str) -> str:
        return self._s5("presign", f"s3://{bucket}/{key}").strip()

    def make_bucket(self, bucket: str) -> None:
        self._s5("mb", f"s3://{bucket}")

    def remove_bucket(self, bucket: str) -> None:
        self._s5("rb", f"s3://{bucket}")

    def buckets(self) -> list[str]:
        return [one["name"] for one in self._rows("ls")]

    def _s5(self, *words: str) -> str:
        return self.run(*self._global, *words)

    def _rows(self, *words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._s5(*words).splitlines()]


def _rclone(provider: str) -> Kind:
    return Kind(f"rclone-{provider}", lambda lab, home, access, secret: Rclone(lab, home, provider, access, secret))


AWSCLI = Kind("awscli", AwsCli)
RCLONES = [_rclone("HuaweiOBS"), _rclone("Other")]
S5CMD = Kind("s5cmd", S5cmd)
