"""Starts; what is trained stands elsewhere."""
import argparse

from trainer import Trainer

parser = argparse.ArgumentParser()
parser.add_argument("--train_url", default=".")
args, _ = parser.parse_known_args()
Trainer(args.train_url).fit()
