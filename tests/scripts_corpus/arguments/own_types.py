import argparse
import ast
import json
from functools import partial
from pathlib import Path


def str2bool(v):
    if isinstance(v, bool):
        return v
    if v.lower() in ("yes", "true", "t", "y", "1"):
        return True
    if v.lower() in ("no", "false", "f", "n", "0"):
        return False
    raise argparse.ArgumentTypeError("Boolean value expected.")


def positive(text):
    value = int(text)
    if value <= 0:
        raise ValueError(text)
    return value


def fraction(text: str) -> float:
    """Between zero and one."""
    found = float(text)
    assert 0 <= found <= 1
    return found


parser = argparse.ArgumentParser()
parser.add_argument("--amp", type=str2bool, default=False, nargs="?", const=True)
parser.add_argument("--flip", type=lambda x: x.lower() in ("true", "1"), default=True)
parser.add_argument("--trap", type=bool, default=False)
parser.add_argument("--steps", type=positive, default=10)
parser.add_argument("--large", type=lambda s: int(float(s)), default=1000)
parser.add_argument("--drop", type=fraction, default=0.1)
parser.add_argument("--dir", type=Path, default=Path("out"))
parser.add_argument("--sizes", type=lambda s: [int(one) for one in s.split(",")], default=[1, 2])
parser.add_argument("--kwargs", type=json.loads, default={})
parser.add_argument("--shape", type=ast.literal_eval, default=(1, 2))
parser.add_argument("--plain")
parser.add_argument("--lower", type=str.lower, default="a")
args = parser.parse_args()
