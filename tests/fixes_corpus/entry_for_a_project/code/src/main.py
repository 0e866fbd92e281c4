"""Fails in the middle: what it wrote until then is kept."""
import argparse
import os
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--data_path", required=True)
parser.add_argument("--output", required=True)
parser.add_argument("--epochs", type=int, default=1)
args = parser.parse_args()
print("DATA", sorted(os.listdir(args.data_path)), args.epochs)
with open(os.path.join(args.output, "half.txt"), "w") as file:
    file.write("half")
sys.exit(3)
