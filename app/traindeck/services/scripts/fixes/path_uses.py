"""Paths that stand in a script where a folder of the platform is meant: what reads data, what writes results."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import libcst as cst

from traindeck.domain.texts import text
from traindeck.services.scripts.fixes.parsers import Parsed, parsed_arguments
from traindeck.services.scripts.fixes.sources import Source

_DATA_SETS = """
    ImageFolder DatasetFolder CIFAR10 CIFAR100 MNIST FashionMNIST KMNIST EMNIST SVHN STL10 ImageNet CocoDetection
    VOCDetection VOCSegmentation Cityscapes CelebA Places365 Food101 Flowers102
    ImageFolderDataset Cifar10Dataset Cifar100Dataset MnistDataset FashionMnistDataset CelebADataset VOCDataset
    CocoDataset MindDataset TFRecordDataset load_dataset image_dataset_from_directory flow_from_directory
"""
_READERS = frozenset(_DATA_SETS.split())
_READER_WORDS = ("root", "dataset_dir", "data_dir", "directory")
_SAVERS = {"torch.save": 1, "mindspore.save_checkpoint": 1, "mindspore.train.serialization.save_checkpoint": 1}
_KEEPERS = ("ModelCheckpoint",)


class PathUses:
    """Of arguments that are new: `missing` has their names, and whether each is an input."""

    def __init__(self, source: Source, missing: Mapping[str, bool]) -> None:
        self._source = source
        inputs = [name for name, is_input in missing.items() if is_input]
        outputs = [name for name, is_input in missing.items() if not is_input]
        self._input = inputs[0] if len(inputs) == 1 else ""
        self._output = outputs[0] if len(outputs) == 1 else ""
        self._scopes = _scopes(source.tree)
        places = list(parsed_arguments(source.tree))
        self._parsed = places[0] if len({one.name for one in places}) == 1 else None
        self._is_written = bool(self._output) and self._has_use(False)
        for name, is_input in missing.items():
            if not self._has_use(is_input):
                line = self._parsed.statement.lineno if self._parsed is not None else 0
                source.leave(line, text("Nothing reads {name} yet: use it where the path is written.", name=name))

    def written_at(self, line: int) -> str:
        """Behind the statement of this line there is a folder to be made; empty: there is none."""
        parsed = self._parsed
        is_there = parsed is not None and self._is_written and parsed.statement.lineno == line
        return f"{parsed.name}.{self._output}" if is_there and parsed is not None else ""

    def turned(self, call: cst.Call, line: int) -> cst.Call | None:
        """The call with the argument in the place of a path that was written down."""
        if self._parsed is None or not self._sees(line):
            return None
        dotted = self._source.dotted(call.func)
        name = cst.Module([]).code_for_node(call.func).rpartition(".")[2]
        if self._input and name in _READERS:
            return self._with_path(call, 0, _READER_WORDS, f"{self._parsed.name}.{self._input}")
        if self._output and dotted in _SAVERS:
            return self._with_file(call, _SAVERS[dotted], f"{self._parsed.name}.{self._output}")
        if self._output and name in _KEEPERS:
            return self._with_path(call, None, ("directory", "dirpath"), f"{self._parsed.name}.{self._output}")
        return None

    def _has_use(self, is_input: bool) -> bool:
        if self._parsed is None:
            return False
        for node in ast.walk(self._source.tree):
            if not isinstance(node, ast.Call) or not self._sees(node.lineno):
                continue
            called = cst.parse_expression(ast.unparse(node.func))
            dotted, name = self._source.dotted(called), ast.unparse(node.func).rpartition(".")[2]
            if is_input and name in _READERS and _constant(node, 0, _READER_WORDS):
                return True
            if not is_input and dotted in _SAVERS and _constant(node, _SAVERS[dotted], ()):
                return True
            if not is_input and name in _KEEPERS and _constant(node, None, ("directory", "dirpath")):
                return True
        return False

    def _sees(self, line: int) -> bool:
        """The variable with the arguments is known in the function of this line."""
        parsed = self._parsed
        if parsed is None:
            return False
        around = [one for one in self._scopes if one.lineno <= line <= (one.end_lineno or one.lineno)]
        if parsed.function is None:
            return not any(_has_own(one, parsed.name) for one in around) and _is_later(parsed, around, line)
        if not around:
            return False
        inner = around[-1]
        if inner is parsed.function:
            return line > parsed.statement.lineno
        names = [*inner.args.posonlyargs, *inner.args.args, *inner.args.kwonlyargs]
        return any(one.arg == parsed.name for one in names)

    def _with_path(self, call: cst.Call, at: int | None, words: tuple[str, ...], new: str) -> cst.Call | None:
        args = list(call.args)
        for number, one in enumerate(args):
            is_meant = one.keyword.value in words if one.keyword is not None else number == at
            if is_meant and not one.star and isinstance(one.value, cst.SimpleString):
                args[number] = one.with_changes(value=cst.parse_expression(new))
                return call.with_changes(args=args)
        return None

    def _with_file(self, call: cst.Call, at: int, new: str) -> cst.Call | None:
        args = list(call.args)
        if len(args) <= at or args[at].keyword is not None or not isinstance(args[at].value, cst.SimpleString):
            return None
        value = args[at].value
        assert isinstance(value, cst.SimpleString)
        words = value.raw_value
        if words.startswith("/") or "\\" in words:
            return None
        name = words.removeprefix("./").rpartition("/")[2]
        joined = cst.parse_expression(f"os.path.join({new}, {value.quote}{name}{value.quote})")
        args[at] = args[at].with_changes(value=joined)
        return call.with_changes(args=args)


def _constant(node: ast.Call, at: int | None, words: tuple[str, ...]) -> bool:
    values = [one.value for one in node.keywords if one.arg in words]
    if at is not None and len(node.args) > at:
        values.append(node.args[at])
    return any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in values)


def _scopes(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Outer ones before those inside them."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return sorted(found, key=lambda one: one.lineno)


def _has_own(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    if any(one.arg == name for one in arguments):
        return True
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(function)
    )


def _is_later(parsed: Parsed, around: list[ast.FunctionDef | ast.AsyncFunctionDef], line: int) -> bool:
    """What stands in the module itself runs in its order; a function is called when all is there."""
    return bool(around) or line > parsed.statement.lineno
