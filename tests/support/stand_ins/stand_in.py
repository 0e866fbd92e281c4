"""Stands in for what trains on an NPU: takes every call, writes it down, and refuses what an Ascend would refuse.

It runs inside a job, by whatever Python that has. Each call is a line `CALL name arguments` on standard output.
"""

import importlib.abc
import importlib.machinery
import os
import sys

PACKAGES = ("torch", "torch_npu", "torchvision", "mindspore", "tensorflow", "npu_bridge")
_ASCEND = {"has_npu": False, "is_transferred": False, "joined": False}


def refuse(words):
    raise RuntimeError(words)


class Thing:
    """An answer to any question."""

    def __init__(self, name, values=()):
        self.__dict__.update(_name=name, _values=dict(values))

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name in self._values:
            return self._values[name]
        whole = f"{self._name}.{name}"
        if whole == "torch.npu" and not _ASCEND["has_npu"]:
            raise AttributeError("module 'torch' has no attribute 'npu'")
        found = CONSTANTS.get(whole)
        if found is not None:
            return found
        return TYPES[name] if name in TYPES else Thing(whole)

    def __setattr__(self, name, value):
        self._values[name] = value

    def __call__(self, *args, **words):
        name = self._name
        shown = ", ".join([word_of(one) for one in args] + [f"{k}={word_of(v)}" for k, v in words.items()])
        print(f"CALL {name}({shown})", flush=True)
        check(name, args, words)
        if len(args) == 1 and not words and callable(args[0]) and not isinstance(args[0], (Thing, type)):
            return args[0]
        if name.endswith("is_available"):
            return ".cuda." not in name or _ASCEND["is_transferred"]
        return Thing(name.rpartition(".")[2])

    def __iter__(self):
        return iter([Thing(f"{self._name}[0]"), Thing(f"{self._name}[1]")])

    def __mro_entries__(self, bases):
        return (Base,)

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        return False

    def __getitem__(self, key):
        return Thing(f"{self._name}[]")

    def __len__(self):
        return 2

    def __float__(self):
        return 0.5

    def __int__(self):
        return 1

    def __index__(self):
        return 1

    def __format__(self, spec):
        return format(0.5, spec)

    def _same(self, *others):
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = _same
    __iadd__ = __matmul__ = __pow__ = _same

    def __lt__(self, other):
        return False

    __gt__ = __le__ = __ge__ = __lt__


class Base:
    """Of classes that derive from one of a stand-in."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Thing(f"{type(self).__name__}.{name}")

    def __call__(self, *args, **words):
        return Thing(f"{type(self).__name__}()")


def word_of(value):
    if isinstance(value, Thing):
        return value._name
    return repr(value) if isinstance(value, (str, int, float, bool, type(None))) else type(value).__name__


def check(name, args, words):
    last = name.rpartition(".")[2]
    if last == "cuda" and not _ASCEND["is_transferred"]:
        refuse("Torch not compiled with CUDA enabled")
    if last in ("npu", "npu_init") and not _ASCEND["has_npu"]:
        refuse("'Tensor' object has no attribute 'npu'")
    said = [one for one in list(args) + list(words.values()) if isinstance(one, str)]
    is_cuda = any(one == "cuda" or one.startswith(("cuda:", "torch.cuda")) for one in said)
    if is_cuda and not _ASCEND["is_transferred"]:
        refuse(f"no NVIDIA driver: {said}")
    if last == "init_process_group":
        if "nccl" in said and not _ASCEND["is_transferred"]:
            refuse("nccl is not there")
        _ASCEND["joined"] = True
    if last == "DistributedSampler" and not _ASCEND["joined"]:
        refuse("Default process group has not been initialized")
    if last == "DataParallel":
        refuse("DataParallel does not run here")
    if name.startswith("mindspore") and last in ("set_context", "set_device"):
        target = words.get("device_target", args[0] if args and last == "set_device" else "Ascend")
        if target != "Ascend":
            refuse(f"device {target} is not there")
    if name.startswith("mindspore") and last == "init" and "nccl" in said:
        refuse("nccl is not there")
    if name.startswith("tensorflow") and last in ("Session", "InteractiveSession", "MonitoredTrainingSession"):
        config = words.get("config") or (args[2] if len(args) > 2 else None)
        if not isinstance(config, Config) or not config.is_for_npu:
            refuse("no optimizer for the NPU")
    if last == "save" and name == "torch.save":
        with open(args[1], "w") as file:
            file.write(os.environ.get("RANK_ID", "0"))
    if last == "save_checkpoint":
        with open(args[1], "w") as file:
            file.write(os.environ.get("RANK_ID", "0"))


class Config:
    """tf.ConfigProto as far as the NPU is set in it."""

    def __init__(self, **words):
        self.graph_options = self.rewrite_options = self
        self.custom_optimizers = Optimizers()
        self.gpu_options = Thing("gpu_options")

    @property
    def is_for_npu(self):
        return [one.name for one in self.custom_optimizers] == ["NpuOptimizer"]


class Optimizers(list):
    def add(self):
        found = Thing("optimizer", {"parameter_map": Parameters()})
        self.append(found)
        return found


class Parameters(dict):
    def __missing__(self, key):
        return self.setdefault(key, Thing(key))


class Sampler(Thing):
    pass


class Device(str):
    @property
    def type(self):
        return str(self).partition(":")[0]


def device(words, *_):
    print(f"CALL torch.device({words!r})", flush=True)
    check("torch.device", (words,), {})
    return Device(words)


TYPES = {"ConfigProto": Config}
CONSTANTS = {"torch.device": device}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Every module of these packages is a Thing."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in PACKAGES and "." in name:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        install(module.__name__)


def install(name):
    """Called by the module that is imported under this name."""
    if name.partition(".")[0] == "torch_npu":
        _ASCEND["has_npu"] = True
    if name == "torch_npu.contrib":
        _ASCEND["is_transferred"] = True
    whole = name.replace("torch_npu.npu", "torch.npu")
    found = Thing(whole, {"__path__": [], "__name__": name, "__spec__": None})
    found.__dict__.update(__path__=[], __name__=name, __spec__=sys.modules[name].__spec__)
    sys.modules[name] = found
    if not any(isinstance(one, Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, Finder())
