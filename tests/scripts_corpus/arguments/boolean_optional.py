import argparse
from argparse import BooleanOptionalAction

parser = argparse.ArgumentParser()
parser.add_argument("--amp", action=argparse.BooleanOptionalAction, default=True, help="mixed precision")
parser.add_argument("--flip", "-f", action=BooleanOptionalAction)
parser.add_argument("--mixup", action=BooleanOptionalAction, default=False)
args = parser.parse_args()
