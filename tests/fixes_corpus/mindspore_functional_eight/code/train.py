import argparse

import mindspore as ms
from mindspore import dataset, nn

parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
args, _ = parser.parse_known_args()

ms.set_device("GPU")
ms.set_seed(1)
data = dataset.MindDataset(args.data_url + "/train.mindrecord", columns_list=["image", "label"])
net = nn.Dense(2, 2)
for epoch in range(2):
    for image, label in data:
        net(image)
# the end
ms.save_checkpoint(net, args.train_url + "/net.ckpt")
