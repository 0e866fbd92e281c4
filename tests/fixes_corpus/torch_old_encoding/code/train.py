# -*- coding: gbk -*-
"""训练脚本"""
import torch


def main():
	# 放到显卡上
	x = torch.zeros(3).cuda()

	print("完成", x.is_cuda)


main()