import argparse
import math
import os

DEFAULT_LR = 0.05
EPOCHS, BATCH = 10, 32
MODELS = ("small", "base")
KB = 1024
ROOT = os.path.join("data", "cifar")
NAME = "run-" + MODELS[-1]

parser = argparse.ArgumentParser()
add = parser.add_argument
add("--lr", type=float, default=DEFAULT_LR)
add("--warmup", type=float, default=DEFAULT_LR / 10)
add("--epochs", type=int, default=EPOCHS)
add("--batch", type=int, default=BATCH * 2)
add("--model", choices=MODELS, default=MODELS[0], help="one of " + ", ".join(MODELS))
add("--cache", type=int, default=64 * KB)
add("--root", default=ROOT)
add("--name", default=NAME.upper())
add("--offset", type=int, default=-1)
add("--limit", type=float, default=float("inf"))
add("--ratio", type=float, default=1 if BATCH > 16 else 2)
add("--pair", nargs="+", type=int, default=[EPOCHS, *range(2)])
parser.parse_args()
