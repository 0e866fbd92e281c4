import argparse

from .constants import *
from . import constants as C


def base_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--height", type=int, default=C.HEIGHT)
    return parser
