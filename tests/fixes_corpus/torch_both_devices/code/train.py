"""Knows both; nothing of it is to be turned."""
import torch

try:
    import torch_npu
except ImportError:
    torch_npu = None

if torch_npu is not None and torch.npu.is_available():
    x = torch.zeros(2).npu()
elif torch.cuda.is_available():
    x = torch.zeros(2).cuda()
else:
    x = torch.zeros(2)
kind = "npu" if torch_npu is not None else "cuda"
