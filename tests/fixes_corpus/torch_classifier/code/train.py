"""A classifier, as most are written."""
import argparse
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

parser = argparse.ArgumentParser()
parser.add_argument("--data_url", default="data")
parser.add_argument("--train_url", default="out")
parser.add_argument("--epochs", type=int, default=2)
args, unknown = parser.parse_known_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)


def main():
    # the first card
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

    loader = DataLoader(datasets.FakeData(args.data_url, transform=transforms.ToTensor()), batch_size=8)
    model = Net().to(device)
    criterion = nn.CrossEntropyLoss().cuda()   # two blanks before this comment
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(args.epochs):
        for images, labels in loader:
            images = images.cuda(non_blocking=True); labels = labels.cuda(non_blocking=True)
            loss = criterion(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss %.3f" % float(loss))
    torch.save(model.state_dict(), os.path.join(args.train_url, "model.pth"))


if __name__ == "__main__":
    main()
