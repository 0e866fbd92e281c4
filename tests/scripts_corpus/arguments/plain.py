import argparse

parser = argparse.ArgumentParser(description="ImageNet training")
parser.add_argument("data", metavar="DIR", nargs="?", default="imagenet", help="path to dataset")
parser.add_argument("-a", "--arch", metavar="ARCH", default="resnet18", choices=["resnet18", "resnet50", "vgg16"])
parser.add_argument("-j", "--workers", default=4, type=int, metavar="N", help="data loading workers (default: %(default)s)")
parser.add_argument("--epochs", default=90, type=int)
parser.add_argument("--lr", "--learning-rate", default=0.1, type=float, dest="lr", help="initial rate, 100%% of it")
parser.add_argument("--momentum", default=9e-1, type=float)
parser.add_argument("--wd", "--weight-decay", default=1e-4, type=float, dest="weight_decay")
parser.add_argument("-p", "--print-freq", default=10, type=int)
parser.add_argument("--resume", default="", type=str)
parser.add_argument("-e", "--evaluate", dest="evaluate", action="store_true")
parser.add_argument("--pretrained", action="store_true", help="use pre-trained model")
parser.add_argument("--seed", default=None, type=int)
parser.add_argument("--no-cuda", action="store_false", dest="cuda")
parser.add_argument("--out", required=True)

if __name__ == "__main__":
    args = parser.parse_args()
