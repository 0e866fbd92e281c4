import argparse


def add_optimizer(parser, prefix="", lr=1e-3):
    group = parser.add_argument_group(prefix or "optimizer")
    group.add_argument(f"--{prefix}lr", type=float, default=lr)
    group.add_argument(f"--{prefix}betas", type=float, nargs=2, default=(0.9, 0.999))


def add_data(p: argparse.ArgumentParser) -> argparse.ArgumentParser:
    p.add_argument("--data_url", type=str, default="./data")
    p.add_argument("--train_url", type=str, default="./out")
    return p


def never_called(parser):
    parser.add_argument("--ghost", type=int)


def parse_args():
    parser = add_data(argparse.ArgumentParser())
    add_optimizer(parser)
    add_optimizer(parser, "critic-", lr=3e-4)
    add_optimizer(prefix="actor-", parser=parser)
    return parser.parse_args()


if __name__ == "__main__":
    options = parse_args()
