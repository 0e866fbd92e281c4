import argparse

first = argparse.ArgumentParser(add_help=False)
first.add_argument("--config", default="")
known, rest = first.parse_known_args()

second = argparse.ArgumentParser(argument_default=argparse.SUPPRESS)
second.add_argument("--lr", type=float, default=0.1)
second.add_argument("--note")
args = second.parse_args(rest)
