import argparse


def get_args():
    parser = argparse.ArgumentParser()
    group = parser.add_argument_group("places")
    group.add_argument("--input-dir")
    group.add_argument("--output-dir", default="out")
    return parser.parse_args()
