import argparse


def get_parser():
    parser = argparse.ArgumentParser()
    model = parser.add_argument_group("model", "what is trained")
    model.add_argument("--hidden", type=int, default=128)
    model.add_argument("--layers", type=int, default=2 * 3)
    data = parser.add_argument_group(title="data")
    data.add_argument("--root", default="./data")
    one_of = data.add_mutually_exclusive_group(required=True)
    one_of.add_argument("--train", action="store_true")
    one_of.add_argument("--eval", action="store_true")
    return parser


def main():
    args = get_parser().parse_args()
    print(args)


if __name__ == "__main__":
    main()
