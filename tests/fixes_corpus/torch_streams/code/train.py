import torch

torch.backends.cudnn.benchmark = True
stream = torch.cuda.Stream()
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
x = torch.zeros(1, device="cuda")
with torch.cuda.stream(stream):
    start.record()
    y = x.cuda() if torch.cuda.is_available() else x
    end.record()
torch.cuda.current_stream().wait_stream(stream)
torch.cuda.empty_cache()
print(torch.cuda.max_memory_allocated())
