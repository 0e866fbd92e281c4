"""Object store clients that never heard of TrainDeck, behind one small face, each run as its users run it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError
from obs import DeleteObjectsRequest, Object, ObsClient

from servers.lab_clients import obs_client, s3_client
from servers.lab_process import LabProcess

LIMIT_S = 60.0
LARGE = 17 * 1024 * 1024 + 5
PART = 6 * 1024 * 1024

# Keys every client can name; what a client cannot is its own affair, not the Lab's.
USUAL_KEYS = (
    "plain.txt",
    "dir/inner",
    "dir/sub/deeper",
    "blank here.txt",
    "ä-学习-🎓",
    "plus+and&amp;=,;'!@$(x)",
    "a.b..c",
)
ODD_KEYS = ("/leading", "x//y", "..", "../up", "a/../b", "./here", "100%25", "tab\there", "line\nbreak", "k" * 1024)


class Refused(Exception):
    """The client failed, with what it says about the reason."""


class Client(Protocol):
    """What a person does with any of them."""

    keys: Sequence[str]

    def put(self, bucket: str, key: str, source: Path) -> None: ...
    def get(self, bucket: str, key: str, target: Path) -> None: ...
    def listed(self, bucket: str, prefix: str = "") -> list[str]: ...
    def folders(self, bucket: str) -> list[str]: ...
    def size(self, bucket: str, key: str) -> int: ...
    def delete(self, bucket: str, key: str) -> None: ...
    def delete_all(self, bucket: str, prefix: str) -> None: ...
    def copy(self, bucket: str, source: str, target: str) -> None: ...
    def link(self, bucket: str, key: str) -> str: ...
    def make_bucket(self, bucket: str) -> None: ...
    def remove_bucket(self, bucket: str) -> None: ...
    def buckets(self) -> list[str]: ...
    def close(self) -> None: ...


Maker = Callable[[LabProcess, Path, str, str], Client]


class Sdk:
    """The vendor's SDK in one of its signatures."""

    keys: Sequence[str] = USUAL_KEYS + ODD_KEYS

    def __init__(self, lab: LabProcess, signature: str, access_key: str, secret_key: str) -> None:
        self._client: ObsClient = obs_client(lab, signature, access_key=access_key, secret_key=secret_key)

    def put(self, bucket: str, key: str, source: Path) -> None:
        if source.stat().st_size < LARGE:
            self._told(self._client.putFile(bucket, key, str(source)))
        else:
            self._told(self._client.uploadFile(bucket, key, str(source), partSize=PART, taskNum=3))

    def get(self, bucket: str, key: str, target: Path) -> None:
        answer = self._told(self._client.getObject(bucket, key, loadStreamInMemory=True))
        target.write_bytes(answer.body.buffer or b"")

    def listed(self, bucket: str, prefix: str = "") -> list[str]:
        found: list[str] = []
        marker = None
        while True:
            answer = self._client.listObjects(bucket, prefix=prefix, marker=marker, encoding_type="url")
            body = self._told(answer).body
            found += [one.key for one in body.contents]
            if not body.is_truncated:
                return found
            marker = body.next_marker

    def folders(self, bucket: str) -> list[str]:
        return [one.prefix for one in self._told(self._client.listObjects(bucket, delimiter="/")).body.commonPrefixs]

    def size(self, bucket: str, key: str) -> int:
        return int(self._told(self._client.getObjectMetadata(bucket, key)).body.contentLength)

    def delete(self, bucket: str, key: str) -> None:
        self._told(self._client.deleteObject(bucket, key))

    def delete_all(self, bucket: str, prefix: str) -> None:
        objects = [Object(key=key) for key in self.listed(bucket, prefix)]
        request = DeleteObjectsRequest(quiet=True, objects=objects, encoding_type="url")
        self._told(self._client.deleteObjects(bucket, request))

    def copy(self, bucket: str, source: str, target: str) -> None:
        self._told(self._client.copyObject(bucket, source, bucket, target))

    def link(self, bucket: str, key: str) -> str:
        return str(self._client.createSignedUrl("GET", bucket, key, expires=60).signedUrl)

    def make_bucket(self, bucket: str) -> None:
        self._told(self._client.createBucket(bucket))

    def remove_bucket(self, bucket: str) -> None:
        self._told(self._client.deleteBucket(bucket))

    def buckets(self) -> list[str]:
        return [one.name for one in self._told(self._client.listBuckets()).body.buckets]

    def close(self) -> None:
        self._client.close()

    def _told(self, answer: Any) -> Any:
        if answer.status >= 300:
            raise Refused(f"{answer.status} {answer.errorCode}")
        return answer


class Boto3:
    """boto3, with its own defaults but for the address."""

    keys: Sequence[str] = USUAL_KEYS + ODD_KEYS

    def __init__(self, lab: LabProcess, access_key: str, secret_key: str) -> None:
        self._client = s3_client(lab, access_key=access_key, secret_key=secret_key)

    def put(self, bucket: str, key: str, source: Path) -> None:
        self._told(lambda: self._client.upload_file(str(source), bucket, key))

    def get(self, bucket: str, key: str, target: Path) -> None:
        self._told(lambda: self._client.download_file(bucket, key, str(target)))

    def listed(self, bucket: str, prefix: str = "") -> list[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return self._told(lambda: [one["Key"] for page in pages for one in page.get("Contents", [])])

    def folders(self, bucket: str) -> list[str]:
        answer = self._client.list_objects_v2(Bucket=bucket, Delimiter="/")
        return [one["Prefix"] for one in answer["CommonPrefixes"]]

    def size(self, bucket: str, key: str) -> int:
        return int(self._told(lambda: self._client.head_object(Bucket=bucket, Key=key))["ContentLength"])

    def delete(self, bucket: str, key: str) -> None:
        self._told(lambda: self._client.delete_object(Bucket=bucket, Key=key))

    def delete_all(self, bucket: str, prefix: str) -> None:
        objects = [{"Key": key} for key in self.listed(bucket, prefix)]
        self._told(lambda: self._client.delete_objects(Bucket=bucket, Delete={"Objects": objects}))

    def copy(self, bucket: str, source: str, target: str) -> None:
        self._told(lambda: self._client.copy({"Bucket": bucket, "Key": source}, bucket, target))

    def link(self, bucket: str, key: str) -> str:
        return str(self._client.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": key}))

    def make_bucket(self, bucket: str) -> None:
        where = {"LocationConstraint": "lab"}
        self._told(lambda: self._client.create_bucket(Bucket=bucket, CreateBucketConfiguration=where))

    def remove_bucket(self, bucket: str) -> None:
        self._told(lambda: self._client.delete_bucket(Bucket=bucket))

    def buckets(self) -> list[str]:
        return [one["Name"] for one in self._told(self._client.list_buckets)["Buckets"]]

    def close(self) -> None:
        self._client.close()

    def _told(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (ClientError, BotoCoreError, Boto3Error) as error:
            raise Refused(str(error)) from error


class Program:
    """A client that is a program; keys go by its environment, never by its arguments."""

    def __init__(self, name: str, home: Path, environment: Mapping[str, str]) -> None:
        found = Path(sysconfig.get_path("scripts")) / name
        program = shutil.which(str(found)) or shutil.which(name)
        assert program is not None, f"{name} is not installed"
        self._program = program
        home.mkdir(parents=True, exist_ok=True)
        self._home = home
        self._environment = {**os.environ, "HOME": str(home), "USERPROFILE": str(home), **environment}

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [self._program, *words],
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


class AwsCli(Program):
    """The command line of AWS."""

    # In a path the program takes dots and doubled slashes apart before it sends them.
    keys: Sequence[str] = (*USUAL_KEYS, "x//y", "100%25", "k" * 1024)

    def __init__(self, lab: LabProcess, home: Path, access_key: str, secret_key: str) -> None:
        super().__init__("aws", home, _aws_environment(access_key, secret_key))
        self._endpoint = ["--endpoint-url", lab.obs]

    def put(self, bucket: str, key: str, source: Path) -> None:
        self._s3("cp", str(source), f"s3://{bucket}/{key}", "--no-progress")

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
        super().__init__("rclone", home, {**environment, **own})

    def put(self, bucket: str, key: str, source: Path) -> None:
        self.run("copyto", str(source), f"lab:{bucket}/{key}")

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
        super().__init__("s5cmd", home, _aws_environment(access_key, secret_key))
        self._global = ["--endpoint-url", lab.obs, "--retry-count", "0", "--json"]

    def put(self, bucket: str, key: str, source: Path) -> None:
        self._s5("cp", "--part-size", "6", str(source), f"s3://{bucket}/{key}")

    def get(self, bucket: str, key: str, target: Path) -> None:
        self._s5("cp", "--raw", f"s3://{bucket}/{key}", str(target))

    def listed(self, bucket: str, prefix: str = "") -> list[str]:
        found = self._rows("ls", f"s3://{bucket}/{prefix}*")
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
        self._s5("cp", "--raw", f"s3://{bucket}/{source}", f"s3://{bucket}/{target}")

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


@dataclass(frozen=True)
class Kind:
    """One client under its name."""

    name: str
    make: Maker

    def on(
        self, lab: LabProcess, home: Path, access_key: str = "", secret_key: str = ""
    ) -> AbstractContextManager[Client]:
        return closing(self.make(lab, home, access_key or lab.access_key, secret_key or lab.secret_key))


def _sdk(signature: str) -> Kind:
    return Kind(f"sdk-{signature}", lambda lab, home, access, secret: Sdk(lab, signature, access, secret))


def _rclone(provider: str) -> Kind:
    return Kind(f"rclone-{provider}", lambda lab, home, access, secret: Rclone(lab, home, provider, access, secret))


SDKS = [_sdk("obs"), _sdk("v2"), _sdk("v4")]
BOTO3 = Kind("boto3", lambda lab, home, access, secret: Boto3(lab, access, secret))
AWSCLI = Kind("awscli", AwsCli)
RCLONES = [_rclone("HuaweiOBS"), _rclone("Other")]
S5CMD = Kind("s5cmd", S5cmd)
