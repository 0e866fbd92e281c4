import torch
from torch.cuda.amp import autocast, GradScaler

scaler = GradScaler()
other = torch.amp.GradScaler(init_scale=1024.0)
torch.cuda.manual_seed_all(1)
torch.set_default_tensor_type("torch.cuda.FloatTensor")
noise = torch.cuda.FloatTensor(3)

model = torch.nn.Linear(3, 3).cuda()
for step in range(3):
    with autocast(enabled=True):
        loss = model(noise)
    with torch.autocast(device_type="cuda", dtype=torch.float16):
        loss = loss + model(noise)
    scaler.scale(loss).backward()
    scaler.step(None)
    scaler.update()
print("a word about cuda is no device", 'and "cuda" in quotes neither')
