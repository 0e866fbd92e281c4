"""Left as it is: torch_npu replaces what it calls."""
import torch
from torch import nn

model = nn.Linear(2, 2).cuda()
torch.cuda.synchronize()
assert torch.cuda.is_available()
