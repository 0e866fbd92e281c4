import argparse


def train(args): ...


def evaluate(args): ...


def main(argv=None):
    parser = argparse.ArgumentParser(prog="net")
    parser.add_argument("--verbose", action="count", default=0)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("train", help="train it")
    one.add_argument("--epochs", type=int, default=5)
    one.set_defaults(func=train)
    two = commands.add_parser("eval", aliases=["e"])
    two.add_argument("checkpoint")
    two.add_argument("--epochs", type=int, default=1)
    two.set_defaults(func=evaluate)
    deeper = two.add_subparsers()
    deeper.add_parser("fast").add_argument("--k", type=int, default=3)
    args = parser.parse_args(argv)
    args.func(args)


if __name__ == "__main__":
    main()
