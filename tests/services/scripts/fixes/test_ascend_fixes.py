"""From CUDA to NPU: what is the same is turned, what is not is said, what knows both is left alone."""

from __future__ import annotations

import pytest

from support.fixed_scripts import BOOT, after, fixed, script
from traindeck.domain.scripts.script_job import AcceleratorKind, ScriptJob

TORCH, TRANSFER, MINDSPORE, TENSORFLOW = (
    "ascend-pytorch",
    "ascend-pytorch-transfer",
    "ascend-mindspore",
    "ascend-tensorflow",
)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("x = t.cuda()", "x = t.npu()"),
        ("x = t.cuda(args.gpu, non_blocking=True)", "x = t.npu(args.gpu, non_blocking=True)"),
        ("x = torch.cuda.is_available()", "x = torch.npu.is_available()"),
        ("x = t.to('cuda:1')", "x = t.to('npu:1')"),
        ('x = t.to(f"cuda:{rank}")', 'x = t.to(f"npu:{rank}")'),
        ('x = t.to("cuda:" + str(rank))', 'x = t.to("npu:" + str(rank))'),
        ("d = torch.device('cuda', rank)", "d = torch.device('npu', rank)"),
        ("p('cpu:gloo,cuda:nccl')", "p('cpu:gloo,npu:hccl')"),
        ("t.type('torch.cuda.HalfTensor')", "t.type('torch.npu.HalfTensor')"),
        ("with torch.autocast('cuda'): pass", "with torch.autocast('npu'): pass"),
        ("s = torch.amp.GradScaler()", 's = torch.amp.GradScaler("npu")'),
        ("m = torch.load(p, map_location='cuda')", "m = torch.load(p, map_location='npu')"),
        ("ok = x.device.type == 'cuda' and x.is_cuda", "ok = x.device.type == 'npu' and x.is_npu"),
    ],
)
def test_each_is_turned(before: str, expected: str) -> None:
    found = after(TORCH, f"import torch\n{before}\n")
    assert found == f"import torch\nimport torch_npu\n{expected}\n"


def test_a_backend_that_is_asked_for_is_that_of_npus() -> None:
    """PyTorch without CUDA has no nccl: asked for that, the script would take gloo."""
    asked = "import torch.distributed as dist\nb = 'nccl' if dist.is_nccl_available() else 'gloo'\n"
    assert "'hccl' if torch_npu.distributed.is_available() else 'gloo'" in after(TORCH, asked)


@pytest.mark.parametrize(
    ("used", "written"),
    [
        ("from src.config import DEVICE\nms.set_context(device_target=DEVICE)", "DEVICE = {}\nOTHER = 'CPU'\n"),
        ("from src import config\nms.set_device(config.DEVICE)", "DEVICE = {}\nOTHER = 'CPU'\n"),
        ("from src.config import C\nms.set_context(device_target=C.device)", "class C:\n    device = {}\n"),
    ],
)
def test_a_device_is_turned_where_it_is_written(used: str, written: str) -> None:
    files = {BOOT: f"import mindspore as ms\n{used}\n", "src/config.py": written.format("'GPU'")}
    found = fixed(MINDSPORE, files)
    assert [(one.path, one.after) for one in found.changes] == [("src/config.py", written.format("'Ascend'").encode())]


@pytest.mark.parametrize(
    "line",
    [
        "# t.cuda() and torch.cuda",
        "'''\nt.cuda()\n'''",
        "x = {'cuda': 1}['cuda']",
        "print('all of cuda:0 is here')",
        "b = b'cuda'",
        "import numba.cuda\nnumba.cuda.jit(f)",
        "p.add_argument('--cuda', action='store_true')",
        "x = args.cuda",
        "if torch.npu.is_available():\n    x = t.npu()\nelif torch.cuda.is_available():\n    x = t.cuda()",
        "d = 'npu' if has_npu else 'cuda'",
        "if device_is_ascend:\n    pass\nelse:\n    x.cuda()",
    ],
)
def test_what_is_no_device_or_knows_both_stays(line: str) -> None:
    words = f"import torch\n{line}\n"
    assert after(TORCH, words) == words


def test_an_input_is_no_npu() -> None:
    assert "x.npu()" in after(TORCH, "import torch\nif len(inputs) > 1:\n    x.cuda()\n")


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("g = torch.cuda.CUDAGraph()", "CUDAGraph"),
        ("torch.cuda.nvtx.range_push('a')", "nvtx"),
        ("m = torch.nn.DataParallel(m).cuda()", "DataParallel"),
        ("import apex", "apex"),
        ("from flash_attn import flash_attn_func", "flash_attn"),
        ("from torch.cuda.graphs import graph_pool_handle", "graph"),
        ("x = x.contiguous(memory_format=torch.channels_last).cuda()", "channels_last"),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '0'", "CUDA_VISIBLE_DEVICES"),
        ("class M:\n    def cuda(self): pass", "cuda"),
    ],
)
def test_what_cannot_be_turned_is_said_with_its_place(line: str, word: str) -> None:
    found = fixed(TORCH, {BOOT: f"import torch\n{line}\n"})
    assert [one for one in found.not_fixed if word in one.reason.in_english() and one.line >= 2], found.not_fixed


def test_what_is_tried_is_not_spoken_of() -> None:
    words = "import torch\ntry:\n    import apex\nexcept ImportError:\n    apex = None\nx = t.cuda()\n"
    assert not fixed(TORCH, {BOOT: words}).not_fixed


def test_settings_that_name_a_device_are_shown() -> None:
    found = fixed(TORCH, {BOOT: "import torch\n", "conf/a.yaml": "lr: 1\ndevice: cuda:0  # here\nnote: cudart\n"})
    assert [(one.file, one.line) for one in found.not_fixed] == [("conf/a.yaml", 2)]


def test_a_file_that_nobody_reaches_and_one_of_another_framework_stay() -> None:
    found = fixed(
        TORCH,
        {BOOT: "import torch\nimport a\n", "a.py": "import jax\nx.cuda()\n", "test_b.py": "import torch\nx.cuda()\n"},
    )
    assert found.changes == ()


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("from torch.cuda import amp", "from torch_npu.npu import amp"),
        (
            "from torch.cuda.amp import GradScaler as S, autocast",
            "from torch_npu.npu.amp import GradScaler as S, autocast",
        ),
        ("import torch.cuda.amp as amp", "import torch_npu.npu.amp as amp"),
    ],
)
def test_imports_are_turned(before: str, expected: str) -> None:
    assert expected in after(TORCH, f"import torch\n{before}\n")


def test_the_import_stands_where_python_lets_it() -> None:
    words = '#!/usr/bin/env python\n# coding: utf-8\n"""Doc."""\nfrom __future__ import annotations\nimport os\n\n'
    words += "x = t.cuda()\n"
    found = after(TORCH, words + "import torch.nn as nn\n")
    assert found.index("from __future__") < found.index("import torch_npu")
    lazy = after(TORCH, "import os\n\n\ndef f():\n    import torch\n    return torch.zeros(1).cuda()\n")
    assert lazy.startswith("import os\nimport torch_npu\n")


def test_transfer_is_two_lines_in_the_file_that_is_started() -> None:
    found = fixed(TRANSFER, {BOOT: "import torch\nimport a\nx.cuda()\n", "a.py": "import torch\ny.cuda()\n"})
    (change,) = found.changes
    lines = (change.after or b"").decode().splitlines()
    assert lines[:3] == ["import torch", "import torch_npu", "from torch_npu.contrib import transfer_to_npu"]
    assert not fixed(TRANSFER, {BOOT: change.after or b""}).changes
    assert not fixed(TORCH, {BOOT: change.after or b""}).changes, "then nothing else is to be turned"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("context.set_context(mode=0, device_target='GPU')", "context.set_context(mode=0, device_target='Ascend')"),
        ('ms.set_context(device_target="CPU")', 'ms.set_context(device_target="Ascend")'),
        ("ms.set_device('GPU', 0)", "ms.set_device('Ascend', 0)"),
        ("init('nccl')", "init('hccl')"),
        (
            "target = 'GPU'\nms.set_context(device_target=target)",
            "target = 'Ascend'\nms.set_context(device_target=target)",
        ),
        ("def f(device_target='GPU'): pass", "def f(device_target='Ascend'): pass"),
        ("p.add_argument('--device_target', default='CPU')", "p.add_argument('--device_target', default='Ascend')"),
    ],
)
def test_mindspore_devices_are_turned(before: str, expected: str) -> None:
    head = "import mindspore as ms\nfrom mindspore import context\nfrom mindspore.communication import init\n"
    assert after(MINDSPORE, head + before) == head + expected


@pytest.mark.parametrize(
    "line",
    [
        "ms.set_context(device_target='Ascend')",
        "if a.target == 'Ascend':\n    pass\nelif a.target == 'GPU':\n    ms.set_context(device_target='GPU')",
        "kind = 'GPU'",
        "print('GPU')",
    ],
)
def test_mindspore_that_is_right_stays(line: str) -> None:
    words = f"import mindspore as ms\n{line}\n"
    assert after(MINDSPORE, words) == words


def test_sessions_are_turned_once_and_only_where_the_engine_has_the_bridge() -> None:
    words = "import tensorflow as tf\ns = tf.Session('', None, config)\nt = tf.train.MonitoredTrainingSession(**more)\n"
    found = fixed(TENSORFLOW, {BOOT: words})
    assert "tf.Session('', None, npu_config(config))" in (found.changes[0].after or b"").decode()
    assert [one.line for one in found.not_fixed] == [3]
    gpu = ScriptJob(
        engine="TensorFlow", engine_version="tensorflow_2.1.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64",
        flavor_kind=AcceleratorKind.GPU, has_form=True,
    )  # fmt: skip
    refused = fixed(TENSORFLOW, {BOOT: words}, gpu)
    assert not refused.changes and "no NPU bridge" in refused.not_fixed[0].reason.in_english()


@pytest.mark.parametrize(
    "line",
    [
        "with tf.device('/gpu:0'): pass",
        "e = tf.estimator.Estimator(f)",
        "m.fit(x)  # keras",
        "d = tf.distribute.MirroredStrategy()",
    ],
)
def test_tensorflow_that_needs_another_way_is_said(line: str) -> None:
    assert fixed(TENSORFLOW, {BOOT: f"import tensorflow as tf\n{line}\n"}).not_fixed


def test_a_script_of_another_framework_is_none_of_their_business() -> None:
    words = script("import paddle\nx = paddle.to_tensor(1)\npaddle.set_device('GPU')\n")
    for fix in (TORCH, TRANSFER, MINDSPORE, TENSORFLOW):
        assert not fixed(fix, {BOOT: words}).changes and not fixed(fix, {BOOT: words}).not_fixed
