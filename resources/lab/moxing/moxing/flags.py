"""Values that scripts ask MoXing for: what was set, what the command line says, else what the job is."""

import os
import sys

_set = {}


def get_flag(flag_name):
    """Return None for a name that is unknown."""
    if flag_name in _set:
        return _set[flag_name]
    arguments = sys.argv[1:]
    for place, argument in enumerate(arguments):
        name, sign, value = argument.partition("=")
        if name in ("--" + flag_name, "-" + flag_name):
            if sign:
                return _typed(value)
            following = arguments[place + 1 : place + 2]
            return _typed(following[0]) if following and not following[0].startswith("--") else True
    known = _of_the_job()
    return known.get(flag_name)


def set_flag(flag_name, value):
    _set[flag_name] = value


# The name older scripts know the same by.
get_hyper_parameter = get_flag
set_hyper_parameter = set_flag


def _of_the_job():
    def number(name, default):
        return int(os.environ.get(name) or default)

    return {
        "num_gpus": max(1, number("MA_NUM_GPUS", 1)),
        "worker_hosts": os.environ.get("VC_WORKER_HOSTS", ""),
        "ps_hosts": "",
        "job_name": os.environ.get("MA_TASK_NAME", "worker"),
        "task_index": number("VC_TASK_INDEX", 0),
        "rank": number("RANK_ID", number("VC_TASK_INDEX", 0)),
        "is_training": True,
    }


def _typed(text):
    if text in ("True", "true", "False", "false"):
        return text in ("True", "true")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
