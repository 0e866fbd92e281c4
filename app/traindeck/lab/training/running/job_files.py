"""Carries a job's files between the Lab's buckets and the job's own folders."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from traindeck.lab.obs.errors import ObsError
from traindeck.lab.obs.store import ObjectInfo, ObjectStore

_SPELLING = re.compile(r"(?:(?:obs|s3):)?/{0,2}(?P<bucket>[^/:]+)(?:/(?P<key>.*))?", re.DOTALL)
_UNUSABLE_ON_WINDOWS = re.compile(r'[<>:"|?*\\\x00-\x1f]')

_BLOCK = 1 << 20

# Raises GivenUpError when the rest is not wanted any more.
KeepGoing = Callable[[], None]


class TransferError(Exception):
    """Files could not be carried; the text says which and why."""


class GivenUpError(Exception):
    """The carrying was called off half-way."""


@dataclass(frozen=True)
class ObsPath:
    """A bucket and a key or prefix, from any spelling the service takes."""

    bucket: str
    key: str

    @classmethod
    def parse(cls, text: str) -> "ObsPath":
        """Raises ValueError when `text` names no bucket."""
        match = _SPELLING.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not an OBS path")
        return cls(match["bucket"], match["key"] or "")

    @property
    def folder(self) -> str:
        """The key as the prefix of a folder's content."""
        return self.key if not self.key or self.key.endswith("/") else f"{self.key}/"

    @property
    def name(self) -> str:
        """The last element, or the bucket's name for its top."""
        return self.key.rstrip("/").rpartition("/")[2] or self.bucket

    def __str__(self) -> str:
        return f"/{self.bucket}/{self.key}"


class _Watched:
    """A file whose reading ends once the rest is not wanted."""

    def __init__(self, source: BinaryIO, keep_going: KeepGoing) -> None:
        self._source = source
        self._keep_going = keep_going

    def read(self, size: int = -1) -> bytes:
        self._keep_going()
        return self._source.read(size)


class OwnBuckets:
    """The object store as one account sees it: foreign buckets look missing."""

    def __init__(self, objects: ObjectStore, owner: str) -> None:
        self._objects = objects
        self._owner = owner

    def has_bucket(self, name: str) -> bool:
        try:
            bucket = self._objects.bucket(name)
        except ObsError:
            return False
        return bucket is not None and bucket.owner == self._owner

    def info(self, path: ObsPath) -> ObjectInfo | None:
        return self._objects.info(path.bucket, path.key) if path.key and self.has_bucket(path.bucket) else None

    def under(self, path: ObsPath) -> Iterator[ObjectInfo]:
        """Everything in the folder `path`; nothing where the bucket is missing."""
        return self._objects.iterate(path.bucket, path.folder) if self.has_bucket(path.bucket) else iter(())

    def fetch(self, bucket: str, info: ObjectInfo, target: Path, keep_going: KeepGoing) -> None:
        _, source = self._objects.open(bucket, info.key)
        with source, target.open("wb") as file:
            while block := source.read(_BLOCK):
                keep_going()
                file.write(block)

    def store(self, bucket: str, key: str, source: BinaryIO, keep_going: KeepGoing = lambda: None) -> None:
        if not self.has_bucket(bucket):
            raise TransferError(f"the bucket {bucket} does not exist")
        self._objects.put_file(bucket, key, cast(BinaryIO, _Watched(source, keep_going)))


def fetch(buckets: OwnBuckets, source: ObsPath, target: Path, keep_going: KeepGoing) -> tuple[int, int]:
    """Bring a folder's content, or the one file `source` names, into the folder `target`; how many files and bytes."""
    if not buckets.has_bucket(source.bucket):
        raise TransferError(f"the bucket {source.bucket} does not exist")
    files = size = 0
    try:
        target.mkdir(parents=True, exist_ok=True)
        single = buckets.info(source) if not source.key.endswith("/") else None
        if single is not None:
            buckets.fetch(source.bucket, single, target / _safe_parts(source.name)[0], keep_going)
            return 1, single.size
        found = False
        for info in buckets.under(source):
            keep_going()
            found = True
            parts = _safe_parts(info.key[len(source.folder) :])
            path = target.joinpath(*parts)
            if info.key.endswith("/") or not parts:
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            buckets.fetch(source.bucket, info, path, keep_going)
            files += 1
            size += info.size
    except ObsError as error:
        raise TransferError(f"{source} cannot be read: {error.message}") from error
    except OSError as error:
        raise TransferError(f"{source} cannot be copied to {error.filename or target}: {error.strerror}") from error
    if not found:
        raise TransferError(f"there is nothing at {source}")
    return files, size


def _safe_parts(key: str) -> tuple[str, ...]:
    """The elements of a key as file names that stay inside the target folder."""
    parts = tuple(part for part in key.split("/") if part not in ("", "."))
    for part in parts:
        if part == ".." or "\0" in part or (os.name == "nt" and _UNUSABLE_ON_WINDOWS.search(part)):
            raise TransferError(f"the object {key!r} cannot be a file here")
    return parts
