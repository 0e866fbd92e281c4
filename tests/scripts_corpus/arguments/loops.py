import argparse

SIZES = {"train": 128, "eval": 256}
RATES = [("encoder", 1e-3), ("decoder", 5e-4)]
LOSSES = ["l1", "l2"]

parser = argparse.ArgumentParser()
for split, size in SIZES.items():
    parser.add_argument(f"--{split}-batch-size", type=int, default=size, help="batch size of %s" % split)
for name, rate in RATES:
    parser.add_argument("--" + name + "_lr", type=float, default=rate)
for place, loss in enumerate(LOSSES):
    parser.add_argument("--{}_weight".format(loss), type=float, default=place + 0.5)
for number in range(2):
    parser.add_argument(f"--stage{number}", type=int, default=2 ** number)
parser.add_argument("--loss", choices=LOSSES, default=LOSSES[0])
parser.add_argument("--split", choices=SIZES.keys(), default=list(SIZES)[1])
parser.add_argument("--scale", choices=[2 * n for n in range(1, 4)], type=int, default=4)
parser.add_argument("--bits", choices=range(1, 5), type=int, default=1)
args = parser.parse_args()
