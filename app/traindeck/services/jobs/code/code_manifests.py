"""What a bundle is made of, as it is written down here and beside the code of a run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath

from traindeck.services.jobs.code.code_blobs import SHA256, BlobName
from traindeck.services.jobs.code.code_origin import GitState

_VERSION = 2
_ID_LENGTH = 32
_MD5_LENGTH = 32


@dataclass(frozen=True, slots=True)
class FrozenFile:
    path: str
    sha256: str
    size_bytes: int
    md5: str = ""

    @property
    def blob(self) -> BlobName:
        return BlobName(self.sha256, self.md5, self.size_bytes)


@dataclass(frozen=True, slots=True)
class Bundle:
    """One frozen folder; two freezes of equal content at the same commit are the same bundle."""

    id: str
    folder_name: str
    files: tuple[FrozenFile, ...]
    git: GitState | None = None
    """None: unknown, as where it is no repository."""

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    def file(self, path: str) -> FrozenFile | None:
        return next((file for file in self.files if file.path == path), None)


def bundle_of(folder_name: str, files: tuple[FrozenFile, ...], git: GitState | None) -> Bundle:
    unnamed = Bundle("", folder_name, files, git)
    return Bundle(hashlib.sha256(manifest_of(unnamed)).hexdigest()[:_ID_LENGTH], folder_name, files, git)


def manifest_of(bundle: Bundle) -> bytes:
    content = {
        "version": _VERSION,
        "folder": bundle.folder_name,
        "git": asdict(bundle.git) if bundle.git is not None else None,
        "files": [[file.path, file.sha256, file.size_bytes, file.md5] for file in bundle.files],
    }
    return json.dumps(content, ensure_ascii=False, sort_keys=True).encode()


def bundle_in(bundle_id: str, manifest: bytes) -> Bundle:
    """ValueError, KeyError, TypeError: it says nothing of the kind. Earlier versions wrote no MD5."""
    content = json.loads(manifest)
    files = tuple(_file(*entry) for entry in content["files"])
    git = content.get("git")
    return Bundle(bundle_id, str(content["folder"]), files, _state(git) if git else None)


def _file(path: object, sha256: object, size_bytes: object, md5: object = "") -> FrozenFile:
    """A manifest is a file that anybody may have edited: a path must not lead out of the folder it is restored to."""
    if not isinstance(path, str) or not isinstance(sha256, str) or not isinstance(md5, str):
        raise TypeError(path)
    if not isinstance(size_bytes, int) or not SHA256.fullmatch(sha256) or len(md5) not in (0, _MD5_LENGTH):
        raise ValueError(path)
    if not path or "\0" in path or path.startswith("/") or ".." in PurePosixPath(path).parts:
        raise ValueError(path)
    return FrozenFile(path, sha256, size_bytes, md5)


def _state(values: dict[str, object]) -> GitState:
    changed, untracked = values["changed"], values["untracked"]
    if not isinstance(changed, int) or not isinstance(untracked, int):
        raise TypeError(changed)
    return GitState(str(values["commit"]), str(values["branch"]), changed, untracked)
