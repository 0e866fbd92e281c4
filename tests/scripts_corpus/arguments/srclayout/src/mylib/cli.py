from argparse import ArgumentParser as Parser


def make():
    parser = Parser()
    parser.add_argument("--from-src", type=int, default=7)
    return parser
