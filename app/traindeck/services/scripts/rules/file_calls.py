"""Which calls read or write a file, and where in them its path stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from traindeck.services.scripts.rules.frame import ScriptLook
from traindeck.services.scripts.rules.source_view import SeenCall, SourceView

_READS: Mapping[str, tuple[int, str]] = {
    "io.open": (0, "file"),
    "os.listdir": (0, "path"), "os.scandir": (0, "path"), "os.walk": (0, "top"), "os.chdir": (0, "path"),
    "os.stat": (0, "path"), "os.path.getsize": (0, "filename"),
    "glob.glob": (0, "pathname"), "glob.iglob": (0, "pathname"),
    "numpy.load": (0, "file"), "numpy.loadtxt": (0, "fname"), "numpy.genfromtxt": (0, "fname"),
    "numpy.fromfile": (0, "file"), "numpy.memmap": (0, "filename"),
    "pandas.read_csv": (0, "filepath_or_buffer"), "pandas.read_table": (0, "filepath_or_buffer"),
    "pandas.read_json": (0, "path_or_buf"), "pandas.read_excel": (0, "io"),
    "pandas.read_pickle": (0, "filepath_or_buffer"),
    "pandas.read_parquet": (0, "path"), "pandas.read_hdf": (0, "path_or_buf"),
    "torch.load": (0, "f"), "torch.jit.load": (0, "f"), "joblib.load": (0, "filename"),
    "PIL.Image.open": (0, "fp"), "cv2.imread": (0, "filename"), "cv2.VideoCapture": (0, "filename"),
    "imageio.imread": (0, "uri"), "skimage.io.imread": (0, "fname"), "scipy.io.loadmat": (0, "file_name"),
    "h5py.File": (0, "name"), "netCDF4.Dataset": (0, "filename"), "rasterio.open": (0, "fp"),
    "soundfile.read": (0, "file"), "librosa.load": (0, "path"), "torchaudio.load": (0, "uri"),
    "zipfile.ZipFile": (0, "file"), "tarfile.open": (0, "name"), "gzip.open": (0, "filename"), "lmdb.open": (0, "path"),
    "shutil.copy": (0, "src"), "shutil.copyfile": (0, "src"), "shutil.copytree": (0, "src"),
    "shutil.unpack_archive": (0, "filename"),
    "torchvision.datasets.ImageFolder": (0, "root"), "torchvision.datasets.DatasetFolder": (0, "root"),
    "torchvision.io.read_image": (0, "path"),
    "mindspore.load_checkpoint": (0, "ckpt_file_name"),
    "mindspore.train.serialization.load_checkpoint": (0, "ckpt_file_name"),
    "mindspore.dataset.ImageFolderDataset": (0, "dataset_dir"), "mindspore.dataset.Cifar10Dataset": (0, "dataset_dir"),
    "mindspore.dataset.Cifar100Dataset": (0, "dataset_dir"), "mindspore.dataset.MnistDataset": (0, "dataset_dir"),
    "mindspore.dataset.MindDataset": (0, "dataset_files"), "mindspore.dataset.TFRecordDataset": (0, "dataset_files"),
    "mindspore.dataset.CocoDataset": (0, "dataset_dir"), "mindspore.dataset.VOCDataset": (0, "dataset_dir"),
    "mindspore.dataset.TextFileDataset": (0, "dataset_files"), "mindspore.dataset.CSVDataset": (0, "dataset_files"),
    "tensorflow.keras.models.load_model": (0, "filepath"), "keras.models.load_model": (0, "filepath"),
    "yaml.safe_load": (0, "stream"),
}  # fmt: skip
_WRITES: Mapping[str, tuple[int | None, str]] = {
    "os.makedirs": (0, "name"), "os.mkdir": (0, "path"), "os.remove": (0, "path"), "os.rename": (1, "dst"),
    "os.replace": (1, "dst"),
    "numpy.save": (0, "file"), "numpy.savez": (0, "file"), "numpy.savez_compressed": (0, "file"),
    "numpy.savetxt": (0, "fname"),
    "torch.save": (1, "f"), "torch.jit.save": (1, "f"), "torchvision.utils.save_image": (1, "fp"),
    "joblib.dump": (1, "filename"), "cv2.imwrite": (0, "filename"), "cv2.VideoWriter": (0, "filename"),
    "imageio.imwrite": (0, "uri"), "matplotlib.pyplot.savefig": (0, "fname"),
    "mindspore.save_checkpoint": (1, "ckpt_file_name"),
    "mindspore.train.serialization.save_checkpoint": (1, "ckpt_file_name"),
    "mindspore.export": (2, "file_name"), "mindspore.train.serialization.export": (2, "file_name"),
    "mindspore.ModelCheckpoint": (1, "directory"), "mindspore.train.callback.ModelCheckpoint": (1, "directory"),
    "mindspore.train.ModelCheckpoint": (1, "directory"),
    "torch.utils.tensorboard.SummaryWriter": (0, "log_dir"), "tensorboardX.SummaryWriter": (0, "log_dir"),
    "torch.utils.tensorboard.writer.SummaryWriter": (0, "log_dir"),
    "pytorch_lightning.callbacks.ModelCheckpoint": (0, "dirpath"),
    "lightning.pytorch.callbacks.ModelCheckpoint": (0, "dirpath"),
    "lightning.Trainer": (None, "default_root_dir"), "lightning.pytorch.Trainer": (None, "default_root_dir"),
    "transformers.TrainingArguments": (0, "output_dir"), "transformers.Seq2SeqTrainingArguments": (0, "output_dir"),
    "tensorflow.keras.callbacks.ModelCheckpoint": (0, "filepath"), "keras.callbacks.ModelCheckpoint": (0, "filepath"),
    "logging.FileHandler": (0, "filename"), "pytorch_lightning.Trainer": (None, "default_root_dir"),
    "shutil.copy#to": (1, "dst"), "shutil.copyfile#to": (1, "dst"), "shutil.copytree#to": (1, "dst"),
    "shutil.make_archive": (0, "base_name"),
}  # fmt: skip
_SAVING_METHODS: Mapping[str, tuple[int | None, str]] = {
    "to_csv": (0, "path_or_buf"), "to_json": (0, "path_or_buf"), "to_pickle": (0, "path"), "to_parquet": (0, "path"),
    "to_excel": (0, "excel_writer"), "savefig": (0, "fname"), "save_pretrained": (0, "save_directory"),
    "save_weights": (0, "filepath"), "write_text": (None, ""), "write_bytes": (None, ""),
    "save_model": (0, "fname"),
}  # fmt: skip
_READING_METHODS = frozenset({"read_text", "read_bytes", "iterdir", "rglob"})
RESULTS = frozenset({
    "torch.save", "torch.jit.save", "numpy.save", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt",
    "joblib.dump", "torchvision.utils.save_image", "mindspore.save_checkpoint",
    "mindspore.train.serialization.save_checkpoint",
    "mindspore.export", "mindspore.train.serialization.export", "mindspore.ModelCheckpoint",
    "matplotlib.pyplot.savefig", "mindspore.train.callback.ModelCheckpoint", "mindspore.train.ModelCheckpoint",
    "cv2.imwrite",
    ".to_csv", ".to_json", ".to_pickle", ".to_parquet", ".savefig", ".save_pretrained", ".save_weights", ".save_model",
    "torch.utils.tensorboard.SummaryWriter", "tensorboardX.SummaryWriter", "open",
    "pytorch_lightning.callbacks.ModelCheckpoint", "lightning.pytorch.callbacks.ModelCheckpoint",
    "transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments",
    "tensorflow.keras.callbacks.ModelCheckpoint", "keras.callbacks.ModelCheckpoint",
})  # fmt: skip
"""What leaves something that somebody wants."""


NOT_THERE = ("OSError", "IOError", "FileNotFoundError", "EnvironmentError")


@dataclass(frozen=True, slots=True)
class FileCall:
    """A call that opens something by a path."""

    view: SourceView
    call: SeenCall
    path: ast.expr
    is_write: bool
    name: str
    """As people know it: `torch.save`."""


def file_calls(look: ScriptLook) -> Iterator[FileCall]:
    """All of them that are done."""
    for view, call in look.all_calls():
        yield from _of(view, call)


def _of(view: SourceView, call: SeenCall) -> Iterator[FileCall]:
    if call.name in ("open", "io.open", "codecs.open"):
        path = call.argument(0, "file")
        if path is not None:
            yield FileCall(view, call, path, _is_written(call), "open")
        return
    read = _READS.get(call.name)
    if read is not None and (path := call.argument(*read)) is not None:
        yield FileCall(view, call, path, is_write=False, name=call.name)
    for name in (call.name, f"{call.name}#to"):
        written = _WRITES.get(name)
        if written is not None and (path := call.argument(*written)) is not None:
            yield FileCall(view, call, path, is_write=True, name=call.name)
    if isinstance(call.node.func, ast.Attribute) and call.name not in _READS and call.name not in _WRITES:
        yield from _of_method(view, call, call.node.func)


def _of_method(view: SourceView, call: SeenCall, func: ast.Attribute) -> Iterator[FileCall]:
    if func.attr in _READING_METHODS:
        yield FileCall(view, call, func.value, is_write=False, name=f".{func.attr}")
    known = _SAVING_METHODS.get(func.attr)
    if known is None:
        return
    path = func.value if known[0] is None else call.argument(*known)
    if path is not None:
        yield FileCall(view, call, path, is_write=True, name=f".{func.attr}")


def _is_written(call: SeenCall) -> bool:
    mode = call.argument(1, "mode")
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and bool(set(mode.value) & set("wax"))
