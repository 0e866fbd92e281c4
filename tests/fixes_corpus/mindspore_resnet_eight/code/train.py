"""ResNet-50 on CIFAR-10."""
import argparse

import mindspore.dataset as ds
from mindspore import Model, context, nn
from mindspore.train.callback import CheckpointConfig, LossMonitor, ModelCheckpoint, TimeMonitor

parser = argparse.ArgumentParser()
parser.add_argument("--data_url", required=True)
parser.add_argument("--train_url", required=True)
parser.add_argument("--epoch_size", type=int, default=1)
args_opt, _ = parser.parse_known_args()


def create_dataset(path, batch_size=32):
    train_data = ds.Cifar10Dataset(path, shuffle=True)
    return train_data.batch(batch_size, drop_remainder=True)


def create_eval_dataset(path):
    return ds.Cifar10Dataset(path, usage="test", shuffle=False)


if __name__ == "__main__":
    context.set_context(mode=context.GRAPH_MODE, device_target="GPU")
    data = create_dataset(args_opt.data_url)
    evaluated = create_eval_dataset(args_opt.data_url)
    net = nn.Dense(2, 2)
    model = Model(net, loss_fn=nn.SoftmaxCrossEntropyWithLogits(sparse=True), metrics={"acc"})

    config_ck = CheckpointConfig(save_checkpoint_steps=10, keep_checkpoint_max=3)
    ckpoint_cb = ModelCheckpoint(prefix="resnet", directory=args_opt.train_url, config=config_ck)
    model.train(args_opt.epoch_size, data, callbacks=[TimeMonitor(), LossMonitor(), ckpoint_cb])
    model.eval(evaluated)
