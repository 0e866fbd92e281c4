import argparse


def main(args):
    return args


def parse():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument(
        "--batch-size",
        type=int,
        default=64,
        help=(
            "input batch size "
            "for training"
        ),
    )
    parser.add_argument("--dry-run", action="store_true", default=False)
    parser.add_argument("--gamma", type=float, default=0.7)
    return parser.parse_args()


if "__main__" == __name__:
    main(parse())
