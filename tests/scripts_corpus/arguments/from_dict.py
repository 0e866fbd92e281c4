import argparse

CONFIG = {
    "batch_size": 32,
    "learning_rate": 1e-3,
    "dataset": "cifar10",
}

parser = argparse.ArgumentParser()
for key, value in CONFIG.items():
    parser.add_argument("--" + key, type=type(value), default=value)
for key in ("momentum", "decay"):
    if key == "momentum":
        parser.add_argument(f"--{key}", type=float, default=0.9)
        continue
    parser.add_argument(f"--{key}", type=float, default=None)
parser.parse_args()
