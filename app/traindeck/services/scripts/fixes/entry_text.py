"""What an entry script says: plain Python of any version that an engine has, for people to read and to change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

MARK = "# Made by TrainDeck:"
_HEAD = (
    MARK
    + ''' starts {boot} on ModelArts and leaves it as it is.
"""Installs what is missing, fetches the data, runs the script, and saves its results also when it fails."""

import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = {boot_text}
# Folders that the platform passes, and the argument under which the script wants each; None: it does not take it.
INPUTS = {inputs}
OUTPUTS = {outputs}
# Where OBS is copied to and from, where the platform passes an OBS path instead of a folder.
CACHE = "/cache" if os.path.isdir("/cache") else os.path.join(HERE, "cache")
# Processes that this machine starts for one script; 1: the platform starts one for each card itself.
PROCESSES = {processes}
# Arguments that the script knows; None: it takes any.
KNOWN = {known}
# One process of a node installs; the others wait at most so many seconds.
LONGEST_INSTALL = 1800
'''
)
_BODY = '''
RANK_ON_NODE = int(os.getenv("LOCAL_RANK") or os.getenv("DEVICE_ID") or 0)


def main():
    folders, others = taken_apart(sys.argv[1:])
    install()
    arguments = []
    for name, flag in INPUTS.items():
        if name in folders:
            folders[name] = fetched(folders[name], os.path.join(CACHE, name))
            arguments += ["{}={}".format(flag, folders[name])] if flag else []
    copies = []
    for name, flag in OUTPUTS.items():
        if name in folders:
            folder = folders[name]
            if is_obs(folder):
                folder = os.path.join(CACHE, name, str(RANK_ON_NODE))
                copies.append((folder, folders[name]))
            os.makedirs(folder, exist_ok=True)
            arguments += ["{}={}".format(flag, folder)] if flag else []
    code = 1
    try:
        code = run(arguments + others)
    finally:
        for folder, url in copies:
            print("Copying {} to {}".format(folder, url), flush=True)
            try:
                copied(folder, url)
            except Exception as error:
                print("Not copied: {}".format(error), file=sys.stderr, flush=True)
                code = code or 1
    return code


def taken_apart(words):
    """The folders by their names, and all other arguments as they came."""
    folders = {name: os.environ[name] for name in list(INPUTS) + list(OUTPUTS) if os.environ.get(name)}
    others = []
    words = list(words)
    while words:
        word = words.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("--") and (name in INPUTS or name in OUTPUTS):
            folders[name] = value if equals else (words.pop(0) if words else "")
        elif word.startswith("--") and KNOWN is not None and not any(one.startswith(name) for one in KNOWN):
            print("Not passed on, {} does not know it: {}".format(SCRIPT, word), flush=True)
            if not equals and words and not words[0].startswith("-"):
                words.pop(0)
        else:
            others.append(word)
    return folders, others


def install():
    """One process of a node installs, the others wait for it."""
    wanted = os.path.join(HERE, "pip-requirements.txt")
    if not os.path.isfile(wanted):
        return
    done = os.path.join(CACHE, ".installed-" + os.getenv("MA_VJ_NAME", str(os.getppid())))
    if RANK_ON_NODE:
        print("Waiting for the packages", flush=True)
        end = time.time() + LONGEST_INSTALL
        while not os.path.exists(done):
            if time.time() > end:
                sys.exit("The packages of pip-requirements.txt were not installed in time.")
            time.sleep(1)
        with open(done) as file:
            code = int(file.read() or 0)
    else:
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-r", wanted]
        code = subprocess.call(command, cwd=HERE)
        os.makedirs(CACHE, exist_ok=True)
        with open(done + ".part", "w") as file:
            file.write(str(code))
        os.replace(done + ".part", done)
    if code:
        sys.exit("The packages of pip-requirements.txt could not be installed.")


def is_obs(url):
    return url.startswith(("obs://", "s3://"))


def fetched(url, folder):
    """A folder of this machine is used as it is."""
    if not is_obs(url):
        return url
    folder = os.path.join(folder, str(RANK_ON_NODE))
    print("Copying {} to {}".format(url, folder), flush=True)
    copied(url, folder)
    return folder


def copied(source, target):
    import moxing as mox

    mox.file.copy_parallel(source, target)


def run(arguments):
    """The script's exit code; signals reach it, so that it can save before it is stopped."""
    command = [sys.executable, os.path.join(HERE, SCRIPT)]
    if PROCESSES > 1:
        nodes = os.getenv("MA_NUM_HOSTS", "1")
        address = os.getenv("VC_WORKER_HOSTS", "127.0.0.1").split(",")[0]
        command[1:1] = ["-m", "torch.distributed.run", "--nproc_per_node", str(PROCESSES), "--nnodes", nodes]
        command[-1:-1] = ["--node_rank", os.getenv("VC_TASK_INDEX", "0")]
        command[-1:-1] = ["--master_addr", address, "--master_port", "29500"]
    if SCRIPT.endswith(".sh"):
        command = ["bash", os.path.join(HERE, SCRIPT)]
    child = None

    def forward(number, frame):
        if child is None:
            sys.exit(128 + number)
        if child.poll() is None:
            child.send_signal(number)

    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), forward)
    child = subprocess.Popen(command + arguments, cwd=os.getcwd())
    code = child.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
'''


def entry_text(
    boot: str,
    inputs: Mapping[str, str | None],
    outputs: Mapping[str, str | None],
    processes: int = 1,
    known: Sequence[str] | None = None,
) -> str:
    head = (
        _HEAD.replace("{boot}", boot)
        .replace("{boot_text}", json.dumps(boot, ensure_ascii=False))
        .replace("{inputs}", _table(inputs))
        .replace("{outputs}", _table(outputs))
        .replace("{processes}", str(processes))
        .replace("{known}", "None" if known is None else json.dumps(sorted(known)))
    )
    return head + "\n" + _BODY


def _table(flags: Mapping[str, str | None]) -> str:
    parts: Sequence[str] = [
        f"{json.dumps(name)}: {json.dumps(flag) if flag else 'None'}" for name, flag in flags.items()
    ]
    return "{" + ", ".join(parts) + "}"
