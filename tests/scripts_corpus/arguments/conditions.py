import argparse
import os
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
if os.environ.get("WITH_EXTRA_OF_THE_CORPUS"):
    BATCH = 64
else:
    BATCH = 32
DEBUG = False
if DEBUG:
    parser.add_argument("--trace", type=int)
else:
    parser.add_argument("--silent", action="store_true")
if sys.version_info >= (3, 2):
    parser.add_argument("--modern", type=int, default=1)
try:
    parser.add_argument("--tried", default="x")
except Exception:
    pass
with open(os.devnull) as nothing:
    parser.add_argument("--inside", type=int, default=3)
if (count := len("abc")) > 2:
    parser.add_argument("--counted", type=int, default=count)
args = parser.parse_args()
