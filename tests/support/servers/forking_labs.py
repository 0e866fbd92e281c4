"""Loads the Lab, and becomes one for each request."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[2])  # where `support` is
    from support.servers.forking import requested
    from traindeck.lab.__main__ import main

    sys.exit(main(requested(int(sys.argv[1]))))
