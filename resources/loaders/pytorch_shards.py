"""Reads the tar shards of `traindeck obs pack` in PyTorch, sample by sample, without unpacking them:

    loader = DataLoader(Shards("/cache/shards", decode), batch_size=32, num_workers=4)

A sample is a dict: "__key__" its path without the ending, "__class__" the number of its folder in `classes`, and the
bytes of its files by their endings, e.g. sample["jpg"]; `decode` makes of it what your model takes. Every rank and
every worker reads its own part. Call `set_epoch(epoch)` before each epoch for another order. Needs Python 3.7 or newer.
"""
import json
import os
import random

from torch.utils.data import IterableDataset, get_worker_info


class Shards(IterableDataset):
    def __init__(self, folder, decode=dict, shuffle=True, seed=0):
        self.folder, self.decode, self.shuffle, self.seed, self.epoch = folder, decode, shuffle, seed, 0
        samples = {}
        with open(os.path.join(folder, "index.jsonl"), encoding="utf-8") as lines:
            for entry in map(json.loads, lines):
                head, name = os.path.split(entry["path"])
                stem, _, ending = name.partition(".")
                samples.setdefault((head, stem or name), {})[ending] = (entry["shard"], entry["offset"], entry["size"])
        self.samples = sorted(samples.items())
        self.classes = sorted({os.path.basename(head) for (head, _), _ in self.samples})

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return len(self.samples) // int(os.environ.get("WORLD_SIZE", 1))

    def __iter__(self):
        rank, ranks, worker = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)), get_worker_info()
        order = list(range(len(self.samples)))
        if self.shuffle:
            random.Random(self.seed + self.epoch).shuffle(order)
        mine = order[rank : len(order) // ranks * ranks : ranks]  # as many for each rank, or one would wait for ever
        for number in mine[worker.id :: worker.num_workers] if worker else mine:
            yield self.decode(self.read(number))

    def read(self, number):
        (head, stem), files = self.samples[number]
        sample = {"__key__": (head + "/" + stem).lstrip("/"), "__class__": self.classes.index(os.path.basename(head))}
        for ending, (shard, offset, size) in files.items():
            with open(os.path.join(self.folder, shard), "rb") as archive:
                archive.seek(offset)
                sample[ending] = archive.read(size)
        return sample
