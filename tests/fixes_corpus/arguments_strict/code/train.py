import argparse
import os

from torchvision import datasets


def main():
    parser = argparse.ArgumentParser(description="strict")
    parser.add_argument("--data-dir", default="./data",
                        help="where the data is")
    parser.add_argument("--save_dir", default="./out")
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()

    data = datasets.FakeData(args.data_dir)
    print("DATA", sorted(os.listdir(args.data_dir)))
    with open(os.path.join(args.save_dir, "model.txt"), "w") as file:
        file.write("trained")


if __name__ == '__main__':
    main()
