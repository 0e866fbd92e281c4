import argparse
from functools import partial

number = dict(type=int, default=1, metavar="N")
flag = {"action": "store_true", "help": "turn it on"}
names = ["-s", "--shared"]

parser = argparse.ArgumentParser()
parser.add_argument("--a", **number)
parser.add_argument("--b", **{**number, "default": 5})
parser.add_argument("--c", **flag)
parser.add_argument(*names, **number)
required = partial(parser.add_argument, required=True, type=str)
required("--url")
required("--key", help="which")
getattr(parser, "add_argument")("--late", type=float, default=0.5)
action = parser.add_argument("--changed", type=int, default=1)
action.default = 9
action.choices = [9, 10]
action.required = True
parser.parse_args()
