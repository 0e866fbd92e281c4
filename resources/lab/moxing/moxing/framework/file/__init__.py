"""File operations that take local paths as well as obs:// and s3:// addresses."""

from moxing.framework.file.copying import copy, copy_parallel, rename
from moxing.framework.file.errors import (
    MoxFileNameDuplicateException,
    MoxFileNotExistsException,
    MoxFileReadException,
    MoxFileRespException,
)
from moxing.framework.file.file_object import File, append, append_remote, read, write
from moxing.framework.file.folders import (
    exists,
    get_size,
    glob,
    is_directory,
    is_file,
    list_directory,
    make_dirs,
    mk_dir,
    remove,
    scan_dir,
    stat,
    walk,
)
from moxing.framework.file.obs_client import set_auth
from moxing.framework.file.shifting import shift

__all__ = [
    "File",
    "MoxFileNameDuplicateException",
    "MoxFileNotExistsException",
    "MoxFileReadException",
    "MoxFileRespException",
    "append",
    "append_remote",
    "copy",
    "copy_parallel",
    "exists",
    "get_size",
    "glob",
    "is_directory",
    "is_file",
    "list_directory",
    "make_dirs",
    "mk_dir",
    "read",
    "remove",
    "rename",
    "scan_dir",
    "set_auth",
    "shift",
    "stat",
    "walk",
    "write",
]
