import argparse


class MyParser(argparse.ArgumentParser):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.add_argument("--config", type=str, default="base")
        self.add_argument("--gpu", type=int, default=0)

    def error(self, message):
        raise SystemExit(message)


parser = MyParser(description="mine")
parser.add_argument("--depth", type=int, default=18)
options = parser.parse_args()
