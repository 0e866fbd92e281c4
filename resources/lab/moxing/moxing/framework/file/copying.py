"""Copies and moves files and folders between the disk and OBS."""

import os
from concurrent.futures import ThreadPoolExecutor

from moxing.framework.file import folders
from moxing.framework.file import obs_client as obs
from moxing.framework.file.addresses import address_of, is_remote, join, text_of
from moxing.framework.file.errors import MoxFileNameDuplicateException, MoxFileNotExistsException
from moxing.framework.file.local import local


def copy(src_url, dst_url, client_id=None, **more):
    """One file; folders are for copy_parallel."""
    if is_remote(src_url) and is_remote(dst_url):
        source, target = address_of(src_url), address_of(dst_url)
        if not obs.put_copy(target.bucket, target.key, source.bucket, source.key):
            raise MoxFileNotExistsException(text_of(src_url))
    elif is_remote(src_url):
        _download(src_url, text_of(dst_url))
    elif is_remote(dst_url):
        target = address_of(dst_url)
        with local.open(text_of(src_url), "rb") as file:
            obs.put(target.bucket, target.key, file, os.fstat(file.fileno()).st_size)
    else:
        local.copyfile(text_of(src_url), text_of(dst_url))


def copy_parallel(src_url, dst_url, file_list=None, threads=16, is_processing=True, use_queue=True, **more):
    """A folder with all that is in it; or one file, to the file or into the folder that is named."""
    if not folders.is_directory(src_url):
        if not folders.is_file(src_url):
            raise MoxFileNotExistsException(text_of(src_url))
        target = text_of(dst_url)
        if target.endswith("/") or (not is_remote(target) and local.isdir(target)):
            target = join(target, text_of(src_url).rpartition("/")[2])
        _make_parent(target)
        copy(src_url, target)
        return
    entries = list(folders.entries(src_url, recursive=True))
    if file_list is not None:
        wanted = [name.strip("/") for name in file_list]
        entries = [(name, False) for name in wanted]
    names = [name for name, is_folder in entries if not is_folder]
    made = [name for name, is_folder in entries if is_folder]
    both = set(names) & set(made)
    if both and not is_remote(dst_url):
        raise MoxFileNameDuplicateException(f"{join(src_url, min(both))} is both a file and a folder")
    if not is_remote(dst_url):
        local.makedirs(text_of(dst_url), exist_ok=True)
        for name in made:
            local.makedirs(join(dst_url, name), exist_ok=True)
    else:
        filled = {name.rpartition("/")[0] for name, _ in entries}
        for name in [name for name in made if name not in filled] or ([""] if not entries else []):
            folders.make_dirs(join(dst_url, name))
    with ThreadPoolExecutor(max(1, min(int(threads), 16))) as pool:
        running = [pool.submit(_copy_below, src_url, dst_url, name) for name in names]
        for one in running:
            one.result()


def rename(src_url, dst_url):
    if not is_remote(src_url) and not is_remote(dst_url):
        local.rename(text_of(src_url), text_of(dst_url))
        return
    if not folders.exists(src_url):
        raise MoxFileNotExistsException(text_of(src_url))
    copy_parallel(src_url, dst_url)
    folders.remove(src_url, recursive=True)


def _copy_below(src_url, dst_url, name):
    target = join(dst_url, name)
    _make_parent(target)
    copy(join(src_url, name), target)


def _make_parent(path):
    if not is_remote(path):
        local.makedirs(os.path.dirname(path) or ".", exist_ok=True)


def _download(src_url, path):
    source = address_of(src_url)
    # Under another name first: who sees the file sees all of it.
    unfinished = path + ".mox-part"
    try:
        with local.open(unfinished, "wb") as file:
            if not obs.get(source.bucket, source.key, file.write):
                raise MoxFileNotExistsException(text_of(src_url))
        local.replace(unfinished, path)
    except BaseException:
        if local.exists(unfinished):
            local.remove(unfinished)
        raise
