import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--hidden-one", type=int, default=1, help=argparse.SUPPRESS)
parser.add_argument("--local_rank", "--local-rank", type=int, default=-1)
parser.add_argument("--absent", default=argparse.SUPPRESS)
parser.add_argument("-b", type=int, default=2)
parser.add_argument("-single", type=int, default=3)
parser.parse_args()
