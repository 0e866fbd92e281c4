import argparse

parser = argparse.ArgumentParser(conflict_handler="resolve")
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--opt", default="sgd", choices=("sgd", "adam"))
parser.add_argument("--lr", type=float, default=0.2)
parser.add_argument("--steps", type=int, default=1_000)
parser.add_argument("--mask", type=int, default=0xFF)
parser.add_argument("--text", default="a" "b" r"\n")
parser.add_argument("--none", type=int, default=None)
parser.parse_args()
