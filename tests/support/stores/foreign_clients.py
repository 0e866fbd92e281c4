"""Object store clients that never heard of TrainDeck, behind one small face; here those that are libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError
from obs import DeleteObjectsRequest, Object, ObsClient, PutObjectHeader, UploadFileHeader

from support.servers.lab_process import LabProcess
from support.stores.lab_clients import obs_client, s3_client

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


@dataclass(frozen=True)
class About:
    """What is said about an object."""

    content_type: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


PLAIN = About()


class Client(Protocol):
    """What a person does with any of them."""

    keys: Sequence[str]

    def put(self, bucket: str, key: str, source: Path, about: About = PLAIN) -> None: ...
    def about(self, bucket: str, key: str) -> About: ...
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

    def put(self, bucket: str, key: str, source: Path, about: About = PLAIN) -> None:
        metadata = dict(about.metadata)
        if source.stat().st_size < LARGE:
            header = PutObjectHeader(contentType=about.content_type or None)
            self._told(self._client.putFile(bucket, key, str(source), metadata=metadata, headers=header))
        else:
            upload = UploadFileHeader(contentType=about.content_type or None)
            how = {"partSize": PART, "taskNum": 3, "metadata": metadata, "headers": upload}
            self._told(self._client.uploadFile(bucket, key, str(source), **how))

    def about(self, bucket: str, key: str) -> About:
        answer = self._told(self._client.getObjectMetadata(bucket, key))
        return About(answer.body.contentType, dict(answer.header))

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

    def put(self, bucket: str, key: str, source: Path, about: About = PLAIN) -> None:
        more: dict[str, Any] = {"Metadata": dict(about.metadata)}
        if about.content_type:
            more["ContentType"] = about.content_type
        self._told(lambda: self._client.upload_file(str(source), bucket, key, ExtraArgs=more))

    def about(self, bucket: str, key: str) -> About:
        head = self._told(lambda: self._client.head_object(Bucket=bucket, Key=key))
        return About(head["ContentType"], head["Metadata"])

    def get(self, bucket: str, key: str, target: Path) -> None:
        self._told(lambda: self._client.download_file(bucket, key, str(target)))

    def listed(self, bucket: str, prefix: str = "") -> list[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        found: list[str] = self._told(lambda: [one["Key"] for page in pages for one in page.get("Contents", [])])
        return found

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


SDKS = [_sdk("obs"), _sdk("v2"), _sdk("v4")]
BOTO3 = Kind("boto3", lambda lab, home, access, secret: Boto3(lab, access, secret))
