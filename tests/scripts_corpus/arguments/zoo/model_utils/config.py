"""Arguments from a config, as the models of MindSpore have them."""
import argparse
import ast
import os

import yaml


def parse_cli_to_yaml(parser, cfg, helper=None, choices=None, cfg_path="default_config.yaml"):
    parser = argparse.ArgumentParser(description="[REPLACE THIS at config.py]", parents=[parser])
    helper = {} if helper is None else helper
    choices = {} if choices is None else choices
    for item in cfg:
        if not isinstance(cfg[item], list) and not isinstance(cfg[item], dict):
            help_description = helper[item] if item in helper else "Please reference to {}".format(cfg_path)
            choice = choices[item] if item in choices else None
            if isinstance(cfg[item], bool):
                parser.add_argument("--" + item, type=ast.literal_eval, default=cfg[item], choices=choice,
                                    help=help_description)
            else:
                parser.add_argument("--" + item, type=type(cfg[item]), default=cfg[item], choices=choice,
                                    help=help_description)
    return parser.parse_args()


def parse_yaml(yaml_path):
    with open(yaml_path, "r") as fin:
        cfgs = [x for x in yaml.load_all(fin.read(), Loader=yaml.FullLoader)]
    return cfgs[0], cfgs[1], cfgs[2]


def get_config():
    parser = argparse.ArgumentParser(description="default name", add_help=False)
    current_dir = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--config_path", type=str, default="default_config.yaml", help="Config file path")
    path_args, _ = parser.parse_known_args()
    default, helper, choices = parse_yaml(os.path.join(current_dir, "..", path_args.config_path))
    return parse_cli_to_yaml(parser=parser, cfg=default, helper=helper, choices=choices)


config = get_config()
