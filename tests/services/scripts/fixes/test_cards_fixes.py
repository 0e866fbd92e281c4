"""One process for each card: who joins, who gets which data, who saves."""

from __future__ import annotations

import libcst as cst
import pytest

from support.fixed_scripts import BOOT, after, fixed
from traindeck.domain.scripts.script_job import AcceleratorKind, ScriptJob
from traindeck.services.scripts.fixes.sources import appended

TORCH, MINDSPORE = "eight-cards-pytorch", "eight-cards-mindspore"
ASCEND = ScriptJob(flavor_kind=AcceleratorKind.ASCEND, cards=8, has_form=True)
MODEL = "import torch\nmodel = Net()\nopt = torch.optim.SGD(model.parameters(), lr=1)\n"
DATA = "from torch.utils.data import DataLoader\n"


def test_the_model_is_wrapped_before_its_optimizer() -> None:
    found = after(TORCH, MODEL, ASCEND)
    wrapped = "if WORLD_SIZE > 1:\n    model = DistributedDataParallel(model, device_ids=[LOCAL_RANK])\nopt = "
    assert wrapped in found and found.index("init_distributed()\nmodel = Net()") > 0
    assert 'init_process_group("hccl"' in found and "torch.npu.set_device(LOCAL_RANK)" in found


def test_on_gpus_it_is_nccl_and_said_who_starts_the_processes() -> None:
    gpu = ScriptJob(flavor_kind=AcceleratorKind.GPU, cards=8, has_form=True)
    found = fixed(TORCH, {BOOT: MODEL}, gpu)
    assert b'init_process_group("nccl"' in (found.changes[0].after or b"")
    assert any("torchrun" in one.reason.in_english() for one in found.not_fixed)


@pytest.mark.parametrize(
    ("line", "has_sampler"),
    [
        ("train = DataLoader(data, 8, shuffle=True)", True),
        ("train_loader = DataLoader(data, batch_size=8)", True),
        ("test_loader = DataLoader(data, shuffle=False)", False),
        ("test_loader = DataLoader(data, batch_size=8)", False),
        ("train_loader = DataLoader(data, 8, True)", False),
        ("train_loader = DataLoader(data, shuffle=args.shuffle)", False),
        ("train_loader = DataLoader(data, sampler=mine)", False),
    ],
)
def test_only_what_trains_gets_its_share(line: str, has_sampler: bool) -> None:
    found = after(TORCH, MODEL + DATA + line + "\n", ASCEND)
    assert ("DistributedSampler(data" in found) == has_sampler


def test_the_order_of_samples_is_kept_where_nothing_was_shuffled() -> None:
    found = after(TORCH, MODEL + DATA + "train_loader = DataLoader(data, batch_size=8)\n", ASCEND)
    assert "DistributedSampler(data, shuffle=False) if WORLD_SIZE > 1 else None" in found


def test_what_trains_on_several_cards_already_stays() -> None:
    words = (
        "import torch\nimport torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        "from torch.utils.data.distributed import DistributedSampler\n"
        "dist.init_process_group('hccl')\nmodel = DDP(net)\nopt = torch.optim.SGD(model.parameters())\n"
        "train = torch.utils.data.DataLoader(d, sampler=DistributedSampler(d))\n"
        "for epoch in range(3):\n    train.sampler.set_epoch(epoch)\n"
        "if dist.get_rank() == 0:\n    torch.save({}, 'x')\n"
    )
    assert after(TORCH, words, ASCEND) == words


def test_a_variable_of_the_environment_is_no_constant_that_is_missing() -> None:
    words = "import os\nimport torch\nn = os.environ['WORLD_SIZE']\nd = 'cuda:0'\n"
    words += "torch.distributed.init_process_group('hccl')\n"
    found = after(TORCH, words, ASCEND)
    assert "LOCAL_RANK = " in found and "WORLD_SIZE = " not in found


def test_data_parallel_becomes_one_process_for_each() -> None:
    found = after(TORCH, "import torch.nn as nn\nimport torch\nm = nn.DataParallel(net, device_ids=[0, 1])\n", ASCEND)
    wrapped = 'DistributedDataParallel(net.to(f"npu:{LOCAL_RANK}"), device_ids=[LOCAL_RANK]) if WORLD_SIZE > 1 else net'
    assert wrapped in found, "it takes only models that are on their card already"


def test_spawned_processes_are_left_to_the_user() -> None:
    words = MODEL + "import torch.multiprocessing as mp\nmp.spawn(main, nprocs=8)\n"
    assert any(
        "starts processes itself" in one.reason.in_english() for one in fixed(TORCH, {BOOT: words}, ASCEND).not_fixed
    )


MIND = "import mindspore as ms\nimport mindspore.dataset as ds\nms.set_context(device_target='Ascend')\n"


@pytest.mark.parametrize(
    ("line", "is_shared"),
    [
        ("data = ds.ImageFolderDataset(path)", True),
        ("train = ds.MindDataset(path, shuffle=True)", True),
        ("eval_data = ds.Cifar10Dataset(path)", False),
        ("data = ds.Cifar10Dataset(path, usage='test')", False),
        ("data = ds.Cifar10Dataset(path, num_shards=2, shard_id=r)", False),
        ("data = ds.GeneratorDataset(g, ['x'], sampler=s)", False),
    ],
)
def test_mindspore_data_that_trains_is_shared_out(line: str, is_shared: bool) -> None:
    assert ("num_shards=RANK_SIZE, shard_id=RANK_ID" in after(MINDSPORE, MIND + line + "\n", ASCEND)) == is_shared


def test_a_device_that_is_set_stays_the_users_unless_it_is_a_number() -> None:
    own = "import os\nimport mindspore as ms\n"
    own += "ms.set_context(device_target='Ascend', device_id=int(os.environ['DEVICE_ID']))\n"
    found = after(MINDSPORE, own, ASCEND)
    assert "device_id=int(os.environ['DEVICE_ID']))\nif RANK_SIZE > 1:\n    init()\n" in found
    assert "device_id=DEVICE_ID)" in after(MINDSPORE, own.replace("int(os.environ['DEVICE_ID'])", "0"), ASCEND)


def test_names_of_the_script_are_not_taken() -> None:
    own = "import os\nimport mindspore as ms\nRANK_ID = int(os.getenv('RANK_ID'))\n"
    own += "ms.set_context(device_target='Ascend')\n"
    found = after(MINDSPORE, own + "ms.save_checkpoint(n, 'x')\n", ASCEND)
    assert found.count("RANK_ID = ") == 1 and "if RANK_ID == 0:\n    ms.save_checkpoint(n, 'x')\n" in found


def test_checkpoints_are_kept_by_one_process_however_they_are_handed_over() -> None:
    found = after(
        MINDSPORE,
        MIND + "from mindspore.train import ModelCheckpoint\nck = ModelCheckpoint('a')\ncb = [a, ck]\ncb.append(ck)\n"
        "if get_rank() == 0:\n    other = [ck]\n",
        ASCEND,
    )
    assert "cb = [a, *([ck] if RANK_ID == 0 else [])]" in found and "if RANK_ID == 0:\n    cb.append(ck)" in found
    assert "    other = [ck]" in found


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("f(\n    a,\n    b=1,  # two\n)", "f(\n    a,\n    b=1,  # two\n    c=2,\n)"),
        ("f(\n    a,\n    b=1  # two\n)", "f(\n    a,\n    b=1,  # two\n    c=2\n)"),
        ("f(\n    a,  # one\n    b=1\n)", "f(\n    a,  # one\n    b=1,\n    c=2\n)"),
        ("f(a, b=1)", "f(a, b=1, c=2)"),
        ("f(a, b=1,)", "f(a, b=1, c=2)"),
        ("f(\n    a\n)", "f(\n    a,\n    c=2\n)"),
        ("f(a,\n  b=1)", "f(a,\n  b=1,\n  c=2)"),
        ("f()", "f(c=2)"),
    ],
)
def test_an_argument_is_added_in_the_way_the_others_stand(before: str, expected: str) -> None:
    call = cst.parse_expression(before)
    assert isinstance(call, cst.Call)
    assert cst.Module([]).code_for_node(appended(call, "c=2")) == expected
