import argparse
from enum import Enum


class Precision(Enum):
    HALF = "fp16"
    FULL = "fp32"


class Mode(str, Enum):
    TRAIN = "train"
    TEST = "test"


parser = argparse.ArgumentParser()
parser.add_argument("--precision", choices=[one.value for one in Precision], default=Precision.HALF.value)
parser.add_argument("--mode", choices=[m.value for m in Mode], default="train")
args = parser.parse_args()
