import argparse


def build(args):
    return args


def get_test_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only-in-tests", type=int)
    return parser.parse_args()
