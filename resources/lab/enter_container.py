"""Enters a container of this computer's own root folder with some folders put in, then becomes the command.

    python enter_container.py PLAN -- COMMAND...

The plan is JSON. Works with Python 3.7 and later on Linux, for an ordinary user who may have namespaces. The process
keeps its number, so signals and the exit code are the command's own.
"""

import ctypes
import json
import os
import sys

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000
MS_REC = 0x4000
MS_BIND = 0x1000
MS_PRIVATE = 0x40000
MNT_DETACH = 2

libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def mount(source, target, kind, flags):
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    checked(libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), None), target)


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def enter_namespaces(host):
    user, group = os.getuid(), os.getgid()
    checked(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS), "unshare")
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", "%d %d 1" % (user, user))
    write("/proc/self/gid_map", "%d %d 1" % (group, group))
    name = host.encode("ascii")
    checked(libc.sethostname(name, ctypes.c_size_t(len(name))), "sethostname")


def bind(ground, source, path):
    target = ground + path
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        with open(target, "a", encoding="ascii"):
            pass
    mount(source, target, None, MS_BIND | MS_REC)


def build(plan):
    ground = plan["ground"]
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", ground, "tmpfs", 0)
    for path in plan["folders"]:
        os.makedirs(ground + path, exist_ok=True)
    for target, path in plan["links"]:
        os.symlink(target, ground + path)
    for source, path in plan["binds"]:
        try:
            bind(ground, source, path)
        except OSError:
            # A folder this user may not even look at; nothing of the job can be there.
            continue
    for source, path in plan["own"]:
        bind(ground, source, path)
    hosts = ground + os.path.realpath("/etc/hosts")
    if os.path.exists(hosts):
        mount(plan["hosts"], hosts, None, MS_BIND)


def move_in(ground):
    os.chdir(ground)
    if hasattr(libc, "pivot_root"):
        # The old root ends up on top of the new one, and is taken away from there.
        checked(libc.pivot_root(b".", b"."), "pivot_root")
        checked(libc.umount2(b".", MNT_DETACH), "umount2")
    else:
        os.chroot(".")
    os.chdir("/")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    command = sys.argv[3:]
    enter_namespaces(plan["host"])
    build(plan)
    move_in(plan["ground"])
    os.chdir(plan["folder"])
    os.execvp(command[0], command)


main()
