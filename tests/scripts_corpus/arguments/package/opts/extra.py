LOSSES = ["ce", "mse"]


def add_extra(parser):
    parser.add_argument("--extra", type=float, default=0.25)


if __name__ == "__main__":
    import argparse

    own = argparse.ArgumentParser()
    own.add_argument("--not-of-train", type=int)
    own.parse_args()
