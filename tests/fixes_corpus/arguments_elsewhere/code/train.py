import torch
from options import get_args

args = get_args()
model = torch.nn.Linear(2, 2)
torch.save(model.state_dict(), args.output_dir + "/model.pth")
