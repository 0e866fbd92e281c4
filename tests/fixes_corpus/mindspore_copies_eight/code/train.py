import argparse
import os

import mindspore
import mindspore.dataset as ds
import moxing as mox

parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
args, _ = parser.parse_known_args()

target = "CPU"
mindspore.set_context(device_target=target)
local_data = "/cache/data"
mox.file.copy_parallel(args.data_url, local_data)
data = ds.Cifar10Dataset("/cache/data/train", shuffle=True)
os.makedirs("/cache/out", exist_ok=True)
with open("/cache/out/log.txt", "w") as log:
    log.write("done")
mox.file.copy_parallel("/cache/out", args.train_url)
