from nets import build
from opts import base_parser
from opts.extra import LOSSES, add_extra

if __name__ == "__main__":
    parser = base_parser()
    add_extra(parser)
    parser.add_argument("--loss", choices=LOSSES, default=LOSSES[0])
    args = parser.parse_args()
    build(args)
