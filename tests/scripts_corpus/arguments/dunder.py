import argparse


def build():
    p = argparse.ArgumentParser()

    def add(name, default, **more):
        p.add_argument(f"--{name}", type=type(default), default=default, **more)

    add("lr", 0.1)
    add("epochs", 3, help="how long")
    add("name", "x", choices=["x", "y"])
    return p


if __name__ == "__main__":
    args, _ = build().parse_known_args()
