import argparse

common = argparse.ArgumentParser(add_help=False)
common.add_argument("--lr", type=float, default=0.01)
common.add_argument("--seed", type=int, default=0)
common.set_defaults(seed=42, epochs=7)

parser = argparse.ArgumentParser(parents=[common])
parser.add_argument("--epochs", type=int)
parser.add_argument("--batch", type=int, default=16)
parser.set_defaults(batch=64, lr=0.5)
args, unknown = parser.parse_known_args()
