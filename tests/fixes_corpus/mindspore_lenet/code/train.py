import argparse

import mindspore.nn as nn
from mindspore import Model, context
from mindspore.train.callback import LossMonitor

parser = argparse.ArgumentParser(description="LeNet")
parser.add_argument('--device_target', type=str, default="GPU", choices=['GPU', 'CPU'])
parser.add_argument('--data_url', type=str, default="./MNIST")
args, unknown = parser.parse_known_args()

if __name__ == "__main__":
    GRAPH_MODE = "GRAPH_MODE"
    context.set_context(mode=context.GRAPH_MODE, device_target=args.device_target)
    model = Model(nn.Dense(2, 2), nn.SoftmaxCrossEntropyWithLogits())
    model.train(1, args.data_url, callbacks=[LossMonitor()])
