"""What the files of a code folder held when they were last read, so that those that did not change need not be."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

from traindeck.runtime.files import our_folder, write_whole
from traindeck.services.jobs.code.code_blobs import SHA256, BlobName
from traindeck.services.jobs.code.code_tree import FileStamp

log = logging.getLogger(__name__)

# A file that is written to twice within one tick of its clock looks the same after the second time; git calls it racy.
_TICK_NS = 2_000_000_000
# Whole seconds are the mark of a file system elsewhere, whose clock may be another one.
_COARSE_TICK_NS = 3600_000_000_000
_SECOND_NS = 1_000_000_000
_MD5_LENGTH = 32


@dataclass(frozen=True, slots=True)
class KnownFile:
    stamp: FileStamp
    blob: BlobName

    def is_still(self, stamp: FileStamp | None, size_bytes: int | None) -> bool:
        return stamp == self.stamp and size_bytes == self.blob.size_bytes


def is_settled(stamp: FileStamp, read_ns: int) -> bool:
    """Whether any later change of the file would show, given when its reading began."""
    latest = max(stamp.modified_ns, stamp.changed_ns)
    tick = _COARSE_TICK_NS if stamp.modified_ns % _SECOND_NS == 0 else _TICK_NS
    return latest + tick < read_ns


class CodeStamps:
    """One file for each code folder; it may be deleted at any time. Blocks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, code: Path) -> dict[str, KnownFile]:
        try:
            content = json.loads(self._place(code).read_bytes())
            if content["folder"] != str(code):
                return {}
            return {str(path): _read(values) for path, values in content["files"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("what is known of %s cannot be read: %s", code, error)
            return {}

    def keep(self, code: Path, known: Mapping[str, KnownFile]) -> None:
        """Where that fails, all is read again next time."""
        files = {path: [*astuple(each.stamp), *astuple(each.blob)] for path, each in known.items()}
        try:
            our_folder(self._folder)
            write_whole(self._place(code), json.dumps({"folder": str(code), "files": files}).encode())
        except OSError as error:
            log.warning("what is known of %s cannot be written: %s", code, error)

    def _place(self, code: Path) -> Path:
        return self._folder / f"{hashlib.sha256(str(code).encode()).hexdigest()[:32]}.json"


def _read(values: list[object]) -> KnownFile:
    modified, changed, inode, device, sha256, md5, size = values
    stamp = FileStamp(_number(modified), _number(changed), _number(inode), _number(device))
    if not isinstance(sha256, str) or not SHA256.fullmatch(sha256) or not isinstance(md5, str):
        raise ValueError(sha256)
    if len(md5) != _MD5_LENGTH:
        raise ValueError(md5)
    return KnownFile(stamp, BlobName(sha256, md5, _number(size)))


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(value)
    return value
