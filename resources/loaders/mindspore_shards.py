"""Reads the tar shards of `traindeck obs pack` in MindSpore, sample by sample, without unpacking them:

    dataset = shards_dataset("/cache/shards", "jpg").map(vision.Decode(), "jpg").batch(32)

Columns are the bytes of a sample's file with this ending, and the number of its class: its folder in `Shards.classes`.
Every device reads its own part (RANK_SIZE, RANK_ID, as ModelArts sets them). Needs Python 3.7 or newer.
"""
import json
import os

import numpy as np
from mindspore.dataset import GeneratorDataset


class Shards:
    def __init__(self, folder, ending):
        self.folder, self.files = folder, []
        with open(os.path.join(folder, "index.jsonl"), encoding="utf-8") as lines:
            for entry in map(json.loads, lines):
                head, name = os.path.split(entry["path"])
                if name.partition(".")[2] == ending:
                    self.files.append((head, name, entry["shard"], entry["offset"], entry["size"]))
        self.files.sort()
        self.classes = sorted({os.path.basename(file[0]) for file in self.files})

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        head, _, shard, offset, size = self.files[number]
        with open(os.path.join(self.folder, shard), "rb") as archive:
            archive.seek(offset)
            label = self.classes.index(os.path.basename(head))
            return np.frombuffer(archive.read(size), np.uint8), np.int32(label)


def shards_dataset(folder, ending="jpg", shuffle=True, workers=4):
    share = {"num_shards": int(os.environ.get("RANK_SIZE", 1)), "shard_id": int(os.environ.get("RANK_ID", 0))}
    source = Shards(folder, ending)
    return GeneratorDataset(source, [ending, "label"], num_parallel_workers=workers, shuffle=shuffle, **share)
