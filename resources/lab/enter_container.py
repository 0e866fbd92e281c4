"""Enters a container of some of this computer's folders, closes what leads out of it, then becomes the command.

    python -I -S enter_container.py < PLAN

The plan is JSON. Works with Python 3.7 and later on Linux, for an ordinary user who may have namespaces, and for root,
who names another user that the command runs as. Where the container has process numbers of its own, this process stays
outside and ends as the command did; otherwise it becomes the command and keeps its number.
"""

import contextlib
import ctypes
import errno
import json
import os
import re
import signal
import stat
import sys

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 2
# Those a mount may have for good; to leave one out is refused.
KEPT = {
    "nosuid": MS_NOSUID, "nodev": MS_NODEV, "noexec": MS_NOEXEC, "noatime": 0x400, "nodiratime": 0x800,
    "relatime": 0x200000, "nosymfollow": 0x100,
}  # fmt: skip
PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
# The same on all processors.
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_RESTRICT_SELF = 446
LANDLOCK_VERSION = 1
LANDLOCK_WITH_SCOPES = 6
SCOPE_ABSTRACT_SOCKETS = 1
SCOPE_SIGNALS = 2
# What container runtimes close of the kernel: that tells of the whole computer, or changes it.
HIDDEN_OF_KERNEL = (
    "/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/kmsg", "/proc/latency_stats",
    "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/firmware",
    "/sys/devices/virtual/powercap",
)  # fmt: skip
UNCHANGED_OF_KERNEL = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
ASKED_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
NO_SUCH_COMMAND = 127

libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def mount(source, target, kind, flags, options=None):
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    checked(libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]), target)


def prctl(option, value):
    return libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def enter_namespaces(plan):
    user, group = os.getuid(), os.getgid()
    kinds = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | (CLONE_NEWPID if plan["own_processes"] else 0)
    if plan["user"] is None:
        checked(libc.unshare(kinds | CLONE_NEWUSER), "unshare")
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", "%d %d 1" % (user, user))
        write("/proc/self/gid_map", "%d %d 1" % (group, group))
    else:
        checked(libc.unshare(kinds), "unshare")
        os.umask(0o022)  # the other user goes through the folders made here
    name = plan["host"].encode("ascii")
    checked(libc.sethostname(name, ctypes.c_size_t(len(name))), "sethostname")


# The folders


def opened(name, folder, is_folder, may_make):
    """A handle of what has this name in a folder; never of a link."""
    flags = os.O_PATH | os.O_NOFOLLOW | (os.O_DIRECTORY if is_folder else 0)
    try:
        handle = os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        if not may_make:
            raise
        # Another process of the worker may start at the same time and make it now.
        with contextlib.suppress(FileExistsError):
            if is_folder:
                os.mkdir(name, dir_fd=folder)
            else:
                os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder))
        handle = os.open(name, flags, dir_fd=folder)
    if stat.S_ISLNK(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    return handle


@contextlib.contextmanager
def place(ground, owned, path, is_folder, may_make=True):
    """How to name what is mounted upon, made where it is missing.

    Below what is the job's own another process of it may be laying links at this moment, which would lead out.
    """
    top = max((one for one in owned if path.startswith(one + "/")), key=len, default="")
    if not top:
        target = ground + path
        if is_folder and may_make:
            os.makedirs(target, exist_ok=True)
        elif may_make and not os.path.exists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            write(target, "")
        yield target
        return
    handle = os.open(ground + top, os.O_PATH | os.O_DIRECTORY)
    try:
        names = path[len(top) + 1 :].split("/")
        for number, name in enumerate(names, start=1):
            inner = opened(name, handle, is_folder or number < len(names), may_make)
            os.close(handle)
            handle = inner
        yield "/proc/self/fd/%d" % handle
    finally:
        os.close(handle)


def bind(ground, owned, source, path):
    with place(ground, owned, path, os.path.isdir(source)) as target:
        mount(source, target, None, MS_BIND | MS_REC)


def put(ground, owned, kind, source, path):
    """Lay one thing over what is there; they come with what lies deeper after what it lies in."""
    if kind == "hide":
        is_folder = os.path.isdir(path)
        with place(ground, owned, path, is_folder) as target:
            if is_folder:
                mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
            else:
                mount("/dev/null", target, None, MS_BIND)
    elif kind == "link":
        with place(ground, owned, os.path.dirname(path), True) as folder:
            if not os.path.lexists(os.path.join(folder, os.path.basename(path))):
                os.symlink(source, os.path.join(folder, os.path.basename(path)))
    else:
        bind(ground, owned, source, path)


def build(plan):
    ground = plan["ground"]
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", ground, "tmpfs", MS_NOSUID, "mode=755")
    for path in plan["folders"]:
        os.makedirs(ground + path, exist_ok=True)
    for target, path in plan["links"]:
        os.symlink(target, ground + path)
    for source, path in plan["binds"]:
        try:
            bind(ground, (), source, path)
        except OSError:
            # A folder this user may not even look at; nothing of the job can be there.
            continue
    build_devices(ground, plan["devices"])
    if plan["own_processes"]:
        mount("proc", ground + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    else:
        bind(ground, (), "/proc", "/proc")
    close_kernel(ground)
    owned = [path for kind, _, path in plan["layers"] if kind == "own"]
    for kind, source, path in plan["layers"]:
        put(ground, owned, kind, source, path)
    close_for_writing(ground, owned)


def build_devices(ground, devices):
    for name in ("pts", "shm"):
        os.makedirs(ground + "/dev/" + name)
    for path in devices:
        bind(ground, (), path, path)
    # Terminals of its own; those of the user take what is typed there.
    mount("devpts", ground + "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", ground + "/dev/ptmx")
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink("/proc/self/fd" + target, ground + "/dev/" + name)


def close_kernel(ground):
    for path in HIDDEN_OF_KERNEL:
        if os.path.isdir(ground + path):
            mount("tmpfs", ground + path, "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "mode=755")
        elif os.path.exists(ground + path):
            mount("/dev/null", ground + path, None, MS_BIND)
    for path in UNCHANGED_OF_KERNEL:
        if os.path.exists(ground + path):
            mount(ground + path, ground + path, None, MS_BIND | MS_REC)
    # What is mounted below them came with them, and stays open for writing until it is closed as well.
    for path, flags in mounts_below(ground):
        if any((path + "/").startswith(ground + place + "/") for place in UNCHANGED_OF_KERNEL):
            flags |= MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC
            with contextlib.suppress(FileNotFoundError):  # covered by another one
                mount(None, path, None, flags)


def mounts_below(ground):
    """The paths of all mounts there, and the flags they must keep; none of those that mount others on demand."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        rows = [line.split() for line in file]
    for row in rows:
        path = re.sub(r"\\(\d{3})", lambda found: chr(int(found.group(1), 8)), row[4])
        if (path + "/").startswith(ground + "/") and row[row.index("-") + 1] != "autofs":
            yield path, sum(KEPT.get(name, 0) for name in row[5].split(","))


def close_for_writing(ground, owned):
    """All that was put in, mount by mount, but what is the job's own."""
    kernels = (ground + "/proc", ground + "/dev/pts")
    for path, flags in mounts_below(ground):
        inside = path[len(ground) :]
        if inside in owned:
            continue
        if any((path + "/").startswith(place + "/") for place in kernels):
            continue
        try:
            with place(ground, owned, inside, os.path.isdir(path), may_make=False) as target:
                mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | flags)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            # Covered by another one, or a file system of another user's, where nothing can be written.
            is_in_own = any(inside.startswith(one + "/") for one in owned)
            if is_in_own or (os.path.exists(path) and os.access(path, os.W_OK)):
                raise


def move_in(ground):
    os.chdir(ground)
    # The old root ends up on top of the new one, and is taken away from there.
    checked(libc.pivot_root(b".", b"."), "pivot_root")
    checked(libc.umount2(b".", MNT_DETACH), "umount2")
    os.chdir("/")


# What leads out of the container past its folders


def drop_rights(user):
    """Root's power over the namespace would take the covers away again."""
    for capability in range(64):
        prctl(PR_CAPBSET_DROP, capability)
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    checked(prctl(PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")


def has_scopes():
    return libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_VERSION) >= LANDLOCK_WITH_SCOPES


def keep_inside():
    """Abstract sockets belong to the network, which is shared: no folder hides those of a session bus."""
    if not has_scopes():
        return
    rules = (ctypes.c_uint64 * 3)(0, 0, SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS)
    handle = checked(libc.syscall(LANDLOCK_CREATE_RULESET, rules, ctypes.c_size_t(ctypes.sizeof(rules)), 0), "landlock")
    checked(libc.syscall(LANDLOCK_RESTRICT_SELF, handle, 0), "landlock")
    os.close(handle)


# The command


def become(plan):
    """The command takes the place of this process."""
    drop_rights(plan["user"])
    keep_inside()
    for number in (*ASKED_TO_END, *IGNORED_BY_PYTHON):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    try:
        os.chdir(plan["folder"])
        os.execvpe(plan["command"][0], plan["command"], plan["variables"])
    except OSError as error:
        print("%s cannot be started: %s" % (plan["command"][0], error), file=sys.stderr)
        sys.exit(NO_SUCH_COMMAND)


def exit_code(process):
    """As a shell counts it; on the way all that ends in the meantime is let go."""
    while True:
        ended, status = os.wait()
        if ended == process:
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def forked(work, wait=exit_code):
    """The exit code of a child that does this."""
    child = os.fork()
    if child:
        return wait(child)
    work()
    os._exit(0)


def with_output(work, user):
    """As `forked`, its output carried to ours: a script that opens /dev/stdout again must not empty the log."""
    reading, writing = os.pipe()
    if user is not None:
        os.fchown(writing, user, user)

    def connected():
        for number in (1, 2):
            os.dup2(writing, number)
        os.close(reading)
        os.close(writing)
        work()

    def carried(child):
        os.close(writing)
        while True:
            data = os.read(reading, 1 << 16)
            if not data:
                return exit_code(child)
            with contextlib.suppress(OSError):  # a full disk must not stop what writes
                while data:
                    data = data[os.write(1, data) :]

    return forked(connected, carried)


def main():
    plan = json.load(sys.stdin)
    if plan["is_inside"]:  # another tool made the container
        become(plan)
    enter_namespaces(plan)

    def enter():
        build(plan)
        move_in(plan["ground"])

    def command():
        os.setsid()  # so that a request to end reaches it once
        become(plan)

    def first_process():
        checked(prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "parent death signal")
        enter()
        # With the first process of a container all others end.
        os._exit(forked(command))

    if not plan["own_processes"]:
        enter()
        become(plan)
    # The command hears for itself that it is asked to end.
    for number in ASKED_TO_END:
        signal.signal(number, signal.SIG_IGN)
    is_log = os.path.sameopenfile(1, 2)
    os._exit(with_output(first_process, plan["user"]) if is_log else forked(first_process))


main()
