"""Options in classes, as image translation projects have them."""
import argparse


class BaseOptions:
    def __init__(self):
        self.initialized = False

    def initialize(self, parser):
        parser.add_argument("--dataroot", required=True, help="path to images")
        parser.add_argument("--name", type=str, default="experiment_name")
        parser.add_argument("--gpu_ids", type=str, default="0", help="gpu ids: e.g. 0  0,1,2. use -1 for CPU")
        self.initialized = True
        return parser

    def gather_options(self):
        if not self.initialized:
            parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
            parser = self.initialize(parser)
        opt, _ = parser.parse_known_args()
        self.parser = parser
        return parser.parse_args()

    def parse(self):
        opt = self.gather_options()
        opt.isTrain = self.isTrain
        return opt


class TrainOptions(BaseOptions):
    def initialize(self, parser):
        parser = BaseOptions.initialize(self, parser)
        parser.add_argument("--n_epochs", type=int, default=100)
        parser.add_argument("--beta1", type=float, default=0.5)
        self.isTrain = True
        return parser


class SlowOptions(TrainOptions):
    def initialize(self, parser):
        parser = super().initialize(parser)
        parser.set_defaults(n_epochs=500)
        return parser


if __name__ == "__main__":
    opt = SlowOptions().parse()
