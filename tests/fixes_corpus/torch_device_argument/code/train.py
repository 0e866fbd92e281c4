import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cuda or cpu")
parser.add_argument("--gpu", type=int, default=0)
args, _ = parser.parse_known_args()
settings = {"cuda": "not a device here"}

where = torch.device(args.device)
if args.device == "cuda":
    torch.cuda.set_device(f"cuda:{args.gpu}")
x = torch.zeros(2).to("cuda:{}".format(args.gpu))
y = x.to("cuda:%d" % args.gpu)
assert where.type == "cuda", where
print(settings["cuda"])
