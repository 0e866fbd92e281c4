# ruff: noqa
"""Run by the Pythons a job may have, against a Lab: every operation of the stand-in, as its documentation uses it.

Written as the scripts of users are, for Python 3.7 and later.
"""

import csv
import glob
import io
import logging
import os
import pickle
import shutil
import subprocess
import sys
import zipfile

import moxing as mox

root, scheme = sys.argv[1], sys.argv[2]
here = sys.argv[3]
s3 = scheme + root.partition("://")[2]


def raises(kind, call, *args, **more):
    try:
        call(*args, **more)
    except kind as error:
        return str(error)
    raise AssertionError("%s was not raised" % kind)


# Nothing happens, and nothing is needed.
mox.file.set_auth(ak="x", sk="y", server="obs.example.com", is_secure=True)

# Whole files
mox.file.write(s3 + "/a.txt", "Hello World! 你好")
assert mox.file.read(s3 + "/a.txt") == "Hello World! 你好"
mox.file.append(s3 + "/a.txt", "\nend of file.")
assert mox.file.read(s3 + "/a.txt").endswith("好\nend of file.")
mox.file.write(s3 + "/b.bin", b"\x00\xff", binary=True)
mox.file.append(s3 + "/b.bin", b"\x01", binary=True)
assert mox.file.read(s3 + "/b.bin", binary=True) == b"\x00\xff\x01"
mox.file.append(s3 + "/new.txt", "made by append")
mox.file.append_remote(s3 + "/new.txt", s3 + "/a.txt")
assert mox.file.read(s3 + "/a.txt").endswith("made by append")
raises(mox.file.MoxFileNotExistsException, mox.file.read, s3 + "/none")
raises(mox.file.MoxFileRespException, mox.file.write, scheme + "no-such-bucket-here/x", "x")

# Opened files
with mox.file.File(s3 + "/f.txt", "w") as f:
    f.write("one\n")
    f.writelines(["two\n", "three"])
with mox.file.File(s3 + "/f.txt", "r") as f:
    assert f.readline() == "one\n"
    assert f.tell() == 4
    assert list(f) == ["two\n", "three"]
    f.seek(0)
    assert f.read(3) == "one"
    assert (f.readable(), f.writable(), f.seekable(), f.size(), f.mode) == (True, False, True, 13, "r")
with mox.file.File(s3 + "/f.txt", "a") as f:
    f.write("!")
with mox.file.File(s3 + "/f.txt", "rb+") as f:
    assert f.read() == b"one\ntwo\nthree!"
    f.seek(0)
    f.write(b"ONE")
with mox.file.File(s3 + "/f.txt", "br") as f:
    assert f.read().startswith(b"ONE\ntwo")
with mox.file.File(s3 + "/f.txt", "w+") as f:
    f.write("fresh")
    f.seek(0)
    assert f.read() == "fresh"
mox.file.File(s3 + "/empty", "wb").close()
assert mox.file.get_size(s3 + "/empty") == 0
raises(ValueError, mox.file.File, s3 + "/f.txt", "rw")
raises(mox.file.MoxFileNotExistsException, mox.file.File, s3 + "/none", "r+")
stream = mox.file.File(s3 + "/logging.txt", "w")
handler = logging.StreamHandler(stream)
logging.getLogger("x").addHandler(handler)
logging.getLogger("x").warning("first")
stream.flush()
assert mox.file.read(s3 + "/logging.txt") == "first\n"
logging.getLogger("x").warning("second")
stream.close()
assert mox.file.read(s3 + "/logging.txt") == "first\nsecond\n"

# A file that no variable holds, and one that is left open, behave as Python's own
mox.file.write(s3 + "/held.txt", "one\ntwo\nthree")
assert mox.file.File(s3 + "/held.txt").read() == "one\ntwo\nthree"
assert mox.file.File(s3 + "/held.txt").read(3) == "one"
assert mox.file.File(s3 + "/held.txt", "rb").readlines() == [b"one\n", b"two\n", b"three"]
assert [line for line in mox.file.File(s3 + "/held.txt")] == ["one\n", "two\n", "three"]
assert mox.file.File(s3 + "/held.txt").readline() == "one\n"
assert next(mox.file.File(s3 + "/held.txt")) == "one\n"
assert mox.file.File(s3 + "/held.txt", "rb").readinto(bytearray(3)) == 3
mox.file.File(s3 + "/held.txt", "a").write("!")
assert mox.file.read(s3 + "/held.txt").endswith("three!")
with mox.file.File(s3 + "/gbk.txt", "w", encoding="gbk", newline="") as f:
    f.write("你好\r\n")
    f.flush()
    assert mox.file.read(s3 + "/gbk.txt", binary=True) == "你好\r\n".encode("gbk")
    assert (f.name, f.mode, f.encoding, f.closed) == (s3 + "/gbk.txt", "w", "gbk", False)
assert f.closed and raises(ValueError, f.read) and raises(ValueError, f.write, "x")
assert mox.file.File(s3 + "/gbk.txt", encoding="ascii", errors="replace", newline="").read().endswith("\r\n")
with mox.file.File(s3 + "/ends.txt", "a+") as f:
    f.write("first ")
    f.seek(0)
    f.write("last")
    assert isinstance(f, io.IOBase) and f.tell() == 10
assert mox.file.read(s3 + "/ends.txt") == "first last"
with mox.file.File(s3 + "/below.bin", "wb") as f:  # as libraries do that take the number of a file
    f.flush()
    os.write(f.fileno(), b"below")
    f.flush()
    os.write(f.fileno(), b", twice")
assert mox.file.read(s3 + "/below.bin", binary=True) == b"below, twice"
with mox.file.File(s3 + "/pickled", "wb") as f:
    pickle.dump({"a": 1}, f)
with mox.file.File(s3 + "/pickled", "rb") as f:
    assert pickle.load(f) == {"a": 1}
with mox.file.File(s3 + "/pack.zip", "wb") as f, zipfile.ZipFile(f, "w") as archive:
    archive.writestr("name", "inside")
with mox.file.File(s3 + "/pack.zip", "rb") as f, zipfile.ZipFile(f) as archive:
    assert archive.read("name") == b"inside"
with mox.file.File(s3 + "/held.txt", "rb") as f, io.TextIOWrapper(f, "utf-8") as text:
    assert text.readline() == "one\n"
left = "import moxing as mox, sys; f = mox.file.File(sys.argv[1], 'w'); f.write('left open')"
subprocess.run([sys.executable, "-c", left, s3 + "/left.txt"], check=True)
assert mox.file.read(s3 + "/left.txt") == "left open"
if hasattr(os, "fork"):
    with mox.file.File(s3 + "/forked.txt", "w") as f:
        f.write("of the parent")
        f.flush()
        child = os.fork()
        if not child:
            del f
            os._exit(0)
        os.waitpid(child, 0)
        f.write("!")
    assert mox.file.read(s3 + "/forked.txt") == "of the parent!"

# Every documented mode, in OBS as on the disk
for place in (s3 + "/modes", os.path.join(here, "modes")):
    mox.file.make_dirs(place)
    name = place + "/file"
    for kind, binary in (("", False), ("b", True)):
        of = lambda text: text.encode() if binary else text
        with mox.file.File(name, kind + "w") as f:
            assert (f.name, f.readable(), f.writable()) == (name, False, True)
            f.write(of("one\n"))
        with mox.file.File(name, kind + "a") as f:
            f.write(of("two\n"))
        with mox.file.File(name, kind + "r") as f:
            assert f.readlines() == [of("one\n"), of("two\n")]
            f.seek(0, 2)
            assert (f.tell(), f.read(), f.size()) == (8, of(""), 8)
        with mox.file.File(name, kind + "r+") as f:
            f.write(of("ONE"))
        with mox.file.File(name, kind + "a+") as f:
            f.write(of("three"))
            f.seek(0)
            assert f.read() == of("ONE\ntwo\nthree")
        with mox.file.File(name, kind + "w+") as f:
            f.write(of("new"))
            f.seek(0)
            assert f.read(2) == of("ne")
        assert mox.file.read(name, binary=binary) == of("new")
    # A file object is one for whoever takes file objects.
    with mox.file.File(place + "/table.csv", "w") as f:
        csv.writer(f).writerows([["col1", "col2"], [1, 2]])
    with mox.file.File(place + "/table.csv", "r") as f:
        assert list(csv.reader(f)) == [["col1", "col2"], ["1", "2"]]
    assert mox.file.get_size(place, recursive=True) == mox.file.get_size(place + "/table.csv") + 3
    assert sorted(mox.file.list_directory(place)) == ["file", "table.csv"]
    assert sorted(entry.name for entry in mox.file.scan_dir(place)) == ["file", "table.csv"]
    assert mox.file.glob(place + "/*.csv") == [place + "/table.csv"]
    assert [sorted(files) for _, _, files in mox.file.walk(place)] == [["file", "table.csv"]]
    raises(OSError, mox.file.mk_dir, place + "/no/parent")
    mox.file.mk_dir(place + "/made")
    mox.file.rename(place + "/file", place + "/made/file")
    assert not mox.file.exists(place + "/file") and mox.file.is_directory(place + "/made")
    mox.file.remove(place + "/made")
    assert mox.file.exists(place + "/made/file")
    mox.file.remove(place, recursive=True)
    assert not mox.file.exists(place)
# What is not there is caught by either of the documented names.
raises(mox.file.MoxFileRespException, mox.file.read, s3 + "/none")
raises(FileNotFoundError, mox.file.read, s3 + "/none")

# Folders
mox.file.make_dirs(s3 + "/dir/sub_0/sub_1")
assert mox.file.exists(s3 + "/dir/sub_0/sub_1") and mox.file.exists(s3 + "/dir/sub_0/")
assert mox.file.is_directory(s3 + "/dir") and not mox.file.is_directory(s3 + "/a.txt")
assert not mox.file.exists(s3 + "/di") and not mox.file.exists(s3 + "/dir/none")
assert mox.file.exists(scheme + root.partition("://")[2].partition("/")[0])
mox.file.mk_dir(s3 + "/dir/made")
raises(OSError, mox.file.mk_dir, s3 + "/no/parent")
for name in ("x.jpg", "y.jpg", "z.png", "sub_0/w.jpg", "日 本+%&.txt"):
    mox.file.write(s3 + "/dir/" + name, name)
assert sorted(mox.file.list_directory(s3 + "/dir")) == ["made", "sub_0", "x.jpg", "y.jpg", "z.png", "日 本+%&.txt"]
assert sorted(mox.file.list_directory(s3 + "/dir", recursive=True, skip_file=True)) == ["made", "sub_0", "sub_0/sub_1"]
assert "sub_0/w.jpg" in mox.file.list_directory(s3 + "/dir/", recursive=True, skip_dir=True)
assert "made/" in mox.file.list_directory(s3 + "/dir", remove_sep=False)
assert mox.file.list_directory(s3 + "/dir/made") == []
raises(mox.file.MoxFileNotExistsException, mox.file.list_directory, s3 + "/none")
assert mox.file.glob(s3 + "/dir/*.jpg") == [s3 + "/dir/x.jpg", s3 + "/dir/y.jpg"]
assert mox.file.glob(s3 + "/dir/*/w.*") == [s3 + "/dir/sub_0/w.jpg"]
assert mox.file.glob(s3 + "/none/*") == [] and mox.file.glob(s3 + "/a.txt") == [s3 + "/a.txt"]
tree = {top: (sorted(dirs), sorted(files)) for top, dirs, files in mox.file.walk(s3 + "/dir")}
assert tree[s3 + "/dir/sub_0"] == (["sub_1"], ["w.jpg"]) and tree[s3 + "/dir/made"] == ([], [])
found = {entry.name: entry.is_dir() for entry in mox.file.scan_dir(s3 + "/dir")}
assert found["made"] and not found["x.jpg"]
assert mox.file.get_size(s3 + "/dir/x.jpg") == 5
assert mox.file.get_size(s3 + "/dir", recursive=True) == sum(
    map(len, map(str.encode, ("x.jpg", "y.jpg", "z.png", "sub_0/w.jpg", "日 本+%&.txt")))
)
stat = mox.file.stat(s3 + "/dir/x.jpg")
assert (stat.length, stat.is_directory) == (5, False) and stat.mtime_nsec > 10**18
assert mox.file.stat(s3 + "/dir").is_directory and mox.file.stat(s3 + "/dir").mtime_nsec >= stat.mtime_nsec
raises(mox.file.MoxFileNotExistsException, mox.file.stat, s3 + "/none")

# Copies: from OBS to the disk and back, folders and single files
local = os.path.join(here, "local")
mox.file.copy_parallel(s3 + "/dir", local)
assert sorted(os.listdir(local)) == sorted(mox.file.list_directory(s3 + "/dir"))
assert os.path.isdir(os.path.join(local, "sub_0", "sub_1"))
assert sorted(mox.file.list_directory(local, recursive=True)) == sorted(
    mox.file.list_directory(s3 + "/dir", recursive=True)
)
with open(os.path.join(local, "日 本+%&.txt"), encoding="utf-8") as f:
    assert f.read() == "日 本+%&.txt"
mox.file.copy_parallel(local, s3 + "/back/", threads=4, is_processing=False)
assert sorted(mox.file.list_directory(s3 + "/back", True)) == sorted(mox.file.list_directory(s3 + "/dir", True))
mox.file.copy_parallel(s3 + "/back", s3 + "//again/")
assert mox.file.is_directory(s3 + "/again/made")
os.makedirs(os.path.join(here, "nothing"))
mox.file.copy_parallel(os.path.join(here, "nothing"), s3 + "/nothing")
assert mox.file.is_directory(s3 + "/nothing") and mox.file.list_directory(s3 + "/nothing") == []
assert mox.file.read(s3 + "/again/sub_0/w.jpg") == "sub_0/w.jpg"
mox.file.copy_parallel(local, s3 + "/some", file_list=["x.jpg", "sub_0/w.jpg"])
assert sorted(mox.file.list_directory(s3 + "/some", True, skip_dir=True)) == ["sub_0/w.jpg", "x.jpg"]
mox.file.copy_parallel(s3 + "/a.txt", os.path.join(here, "deep", "weight.pth"))
mox.file.copy_parallel(s3 + "/a.txt", here + "/into/")
assert os.path.exists(os.path.join(here, "deep", "weight.pth")) and os.path.exists(os.path.join(here, "into", "a.txt"))
mox.file.copy_parallel(os.path.join(here, "into", "a.txt"), s3 + "/single/")
assert mox.file.list_directory(s3 + "/single") == ["a.txt"]
mox.file.copy(s3 + "/a.txt", os.path.join(here, "a.txt"))
mox.file.copy(os.path.join(here, "a.txt"), s3 + "/c.txt")
mox.file.copy(s3 + "/c.txt", s3 + "/d e+.txt")
assert mox.file.read(s3 + "/d e+.txt") == mox.file.read(os.path.join(here, "a.txt"))
raises(mox.file.MoxFileNotExistsException, mox.file.copy, s3 + "/none", os.path.join(here, "none"))
raises(mox.file.MoxFileNotExistsException, mox.file.copy, s3 + "/none", s3 + "/none2")
raises(mox.file.MoxFileNotExistsException, mox.file.copy_parallel, s3 + "/none", os.path.join(here, "none"))
assert not os.path.exists(os.path.join(here, "none"))
mox.file.write(s3 + "/both/name", "file")
mox.file.write(s3 + "/both/name/below", "file")
raises(mox.file.MoxFileNameDuplicateException, mox.file.copy_parallel, s3 + "/both", os.path.join(here, "both"))
big = os.urandom(5 << 20)
mox.file.write(s3 + "/big", big, binary=True)
mox.file.copy(s3 + "/big", os.path.join(here, "big"))
assert mox.file.read(os.path.join(here, "big"), binary=True) == big

# Moving and removing
mox.file.rename(s3 + "/c.txt", s3 + "/moved.txt")
assert not mox.file.exists(s3 + "/c.txt") and mox.file.exists(s3 + "/moved.txt")
mox.file.rename(s3 + "/moved.txt", os.path.join(here, "moved.txt"))
mox.file.rename(os.path.join(here, "moved.txt"), s3 + "/moved.txt")
assert not os.path.exists(os.path.join(here, "moved.txt"))
mox.file.rename(s3 + "/again", s3 + "/renamed")
assert not mox.file.exists(s3 + "/again") and mox.file.exists(s3 + "/renamed/sub_0/w.jpg")
mox.file.remove(s3 + "/moved.txt/")
mox.file.remove(s3 + "/renamed")
assert mox.file.exists(s3 + "/moved.txt") and mox.file.exists(s3 + "/renamed")
mox.file.remove(s3 + "/moved.txt", recursive=True)
mox.file.remove(s3 + "/renamed/", recursive=True)
assert not mox.file.exists(s3 + "/moved.txt") and not mox.file.exists(s3 + "/renamed")

# A thousand names need more than one page
assert len(mox.file.list_directory(scheme + "lab-bucket/many")) == 1005
assert len(mox.file.list_directory(scheme + "lab-bucket/many", recursive=True)) == 1005

# Python's own functions, shifted
own = os.listdir
mox.file.shift("os", "mox")
mox.file.shift("os", "mox")
assert "x.jpg" in os.listdir(s3 + "/dir") and "a.txt" in os.listdir(here)
with open(s3 + "/hello.txt", "w") as f:
    f.write("hello")
with open(s3 + "/hello.txt", encoding="utf-8") as f:
    assert f.read() == "hello"
assert open(s3 + "/hello.txt").read() == "hello" and list(open(s3 + "/hello.txt")) == ["hello"]
with open(s3 + "/rows.csv", "w", newline="") as f:
    csv.writer(f).writerow(["a", "b"])
assert open(s3 + "/rows.csv", "rb").read() == b"a,b\r\n"
with open(os.path.join(here, "a.txt"), "rb") as f:
    assert f.read().startswith(b"Hello")
assert os.path.exists(s3 + "/hello.txt") and os.path.isfile(s3 + "/hello.txt") and os.path.isdir(s3 + "/dir")
assert os.path.getsize(s3 + "/hello.txt") == 5 and os.stat(s3 + "/hello.txt").st_size == 5
os.makedirs(s3 + "/shifted/deep")
os.makedirs(s3 + "/shifted/deep", exist_ok=True)
raises(FileExistsError, os.makedirs, s3 + "/shifted/deep")
os.makedirs(os.path.join(here, "shifted"))
os.mkdir(s3 + "/shifted/one")
raises(FileNotFoundError, os.remove, s3 + "/none")
raises(FileNotFoundError, open, s3 + "/none")
raises(FileNotFoundError, os.stat, s3 + "/none")
os.rename(s3 + "/hello.txt", s3 + "/shifted/hello.txt")
shutil.copyfile(s3 + "/shifted/hello.txt", os.path.join(here, "hello.txt"))
shutil.copy(os.path.join(here, "hello.txt"), s3 + "/shifted/one/")
shutil.copytree(s3 + "/shifted", os.path.join(here, "tree"))
assert sorted(os.listdir(os.path.join(here, "tree"))) == ["deep", "hello.txt", "one"]
shutil.copytree(os.path.join(here, "tree"), os.path.join(here, "tree2"))
assert glob.glob(s3 + "/shifted/*.txt") == [s3 + "/shifted/hello.txt"]
assert [files for _, _, files in os.walk(s3 + "/shifted/one")] == [["hello.txt"]]
with os.scandir(s3 + "/shifted") as entries:
    assert {entry.name for entry in entries} == {"deep", "hello.txt", "one"}
os.remove(s3 + "/shifted/hello.txt")
shutil.rmtree(s3 + "/shifted")
assert not os.path.exists(s3 + "/shifted")
shutil.rmtree(os.path.join(here, "tree"))
assert not os.path.exists(os.path.join(here, "tree"))
mox.file.shift("mox", "os")
assert os.listdir is own

# What the job is, as scripts ask for it
assert (mox.get_flag("num_gpus"), mox.get_flag(flag_name="job_name"), mox.get_flag("unknown")) == (8, "worker", None)
assert mox.get_flag("worker_hosts").split(",") == ["host-0", "host-1"] and mox.get_flag("task_index") == 1
mox.set_flag("checkpoint_exclude_patterns", "global_step")
assert mox.get_flag("checkpoint_exclude_patterns") == "global_step"
sys.argv += ["--batch_size=32", "--name", "x", "--lr=0.1"]
assert [mox.get_flag(name) for name in ("batch_size", "name", "lr")] == [32, "x", 0.1]

# What older scripts write
import moxing.tensorflow as old_mox  # noqa: E402
import moxing.pytorch as torch_mox  # noqa: E402
from moxing.framework import file as framework_file  # noqa: E402
from moxing.framework.file import file_io  # noqa: E402
from moxing.framework.util import compat, runtime  # noqa: E402

file_io._LARGE_FILE_METHOD = 1
runtime.reset_logger(logging.WARNING)
assert compat.as_str(b"text") == "text" and file_io.exists(s3 + "/dir")
assert torch_mox.get_flag("batch_size") == old_mox.get_flag("batch_size") == 32

assert old_mox.file is framework_file is mox.file
print("ALL GOOD")
