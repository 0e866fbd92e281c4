import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

local_rank = int(os.environ.get("LOCAL_RANK", 0))
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl", rank=0, world_size=1)
model = DDP(torch.nn.Linear(2, 2).cuda(local_rank), device_ids=[local_rank], output_device=local_rank)
print(torch.cuda.memory_allocated(), torch.cuda.get_device_name(local_rank))
