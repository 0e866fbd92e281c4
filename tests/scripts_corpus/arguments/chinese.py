# -*- coding: utf-8 -*-
import argparse

解析器 = argparse.ArgumentParser(description="训练")
解析器.add_argument("--学习率", "--lr", type=float, default=0.01, help="学习率（默认 %(default)s）")
解析器.add_argument("--模型", default="小", choices=["小", "大"], help="""模型的
大小""")
解析器.parse_args()
