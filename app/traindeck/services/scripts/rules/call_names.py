"""Names of calls that several rules ask for."""

from __future__ import annotations

# Source: “mox.file与本地接口的对应关系和切换” (MoXing开发指南, ModelArts): copy_parallel stands for shutil.copytree.
MOX_FOLDERS = frozenset({"moxing.file.copy_parallel", "moxing.framework.file.copy_parallel", "mox.file.copy_parallel"})
MOX_FILES = frozenset({"moxing.file.copy", "moxing.framework.file.copy", "mox.file.copy"})
LOCAL_COPIES = frozenset({
    "shutil.copytree", "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "distutils.dir_util.copy_tree",
})  # fmt: skip
COPIES = MOX_FOLDERS | MOX_FILES | LOCAL_COPIES

TORCH_STARTS = frozenset({
    "torch.distributed.init_process_group", "horovod.torch.init", "deepspeed.init_distributed", "deepspeed.initialize",
    "accelerate.Accelerator", "torch.distributed.device_mesh.init_device_mesh",
})  # fmt: skip
MINDSPORE_STARTS = frozenset({
    "mindspore.communication.init", "mindspore.communication.management.init", "horovod.tensorflow.init",
    "hccl.manage.api.create_group",
})  # fmt: skip
OTHER_STARTS = frozenset({
    "pytorch_lightning.Trainer", "lightning.Trainer", "lightning.pytorch.Trainer", "transformers.Trainer",
    "transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments", "mmcv.runner.init_dist",
    "mmengine.runner.Runner", "tensorflow.distribute.MirroredStrategy", "horovod.keras.init",
    "horovod.tensorflow.keras.init", "tensorflow.distribute.MultiWorkerMirroredStrategy", "fastmoe.init",
    "torch.multiprocessing.spawn", "npu_bridge.npu_init.init_resource",
})  # fmt: skip
