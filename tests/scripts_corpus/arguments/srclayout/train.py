import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "src"))

from mylib.cli import make

if __name__ == "__main__":
    make().parse_args()
