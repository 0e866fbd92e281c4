"""PyTorch checkpoints: their pickle is read as a list of instructions; nothing it asks for is ever run."""

from __future__ import annotations

import io
import pickletools
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import prod

from traindeck.domain.previews import Fact, Tensor, TensorsPage
from traindeck.domain.texts import Text, text
from traindeck.services.previews.steps import ByteSource, Reading, Steps, damaged, plain

OLD_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
"""How a checkpoint of PyTorch before 1.6 begins."""

_BREATH = 20_000
_MOST_NODES = 300_000
_DEEPEST = 40
_MOST_FACTS = 40
_MOST_OLD = 8 << 20
_LARGEST = 1 << 63
_DTYPES = {
    "FloatStorage": ("float32", 4), "DoubleStorage": ("float64", 8), "HalfStorage": ("float16", 2),
    "BFloat16Storage": ("bfloat16", 2), "LongStorage": ("int64", 8), "IntStorage": ("int32", 4),
    "ShortStorage": ("int16", 2), "CharStorage": ("int8", 1), "ByteStorage": ("uint8", 1),
    "BoolStorage": ("bool", 1), "ComplexFloatStorage": ("complex64", 8), "ComplexDoubleStorage": ("complex128", 16),
    "QInt8Storage": ("qint8", 1), "QUInt8Storage": ("quint8", 1), "QInt32Storage": ("qint32", 4),
    "float32": ("float32", 4), "float64": ("float64", 8), "float16": ("float16", 2), "bfloat16": ("bfloat16", 2),
    "int64": ("int64", 8), "int32": ("int32", 4), "int16": ("int16", 2), "int8": ("int8", 1), "uint8": ("uint8", 1),
    "bool": ("bool", 1), "float8_e4m3fn": ("float8_e4m3fn", 1), "float8_e5m2": ("float8_e5m2", 1),
}  # fmt: skip
# What a checkpoint of tensors is made of; anything else is worth a word before somebody loads it.
_USUAL = ("torch.", "collections.", "numpy.", "argparse.", "_codecs.", "pathlib.", "datetime.")
_USUAL_BUILTINS = {"set", "frozenset", "dict", "list", "tuple", "int", "float", "bool", "str", "bytearray", "complex"}


@dataclass(frozen=True, slots=True)
class _Name:
    """Something of a module that the pickle names."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(slots=True, eq=False)
class _Made:
    """What would be made by calling something."""

    maker: object
    arguments: object
    pairs: list[tuple[object, object]] = field(default_factory=list)
    state: object = None


@dataclass(slots=True, eq=False)
class _Pairs:
    pairs: list[tuple[object, object]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _Storage:
    """Where the numbers of a tensor are."""

    what: object


# Where the operands of an instruction begin.
_MARK = object()
_CONSTANTS: dict[str, Callable[[], object]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "MARK": lambda: _MARK,
    "EMPTY_DICT": _Pairs,
    "EMPTY_LIST": list,
    "EMPTY_SET": list,
    "EMPTY_TUPLE": tuple,
}


class _Machine:
    """The stack a pickle works on, filled with descriptions in place of objects."""

    def __init__(self) -> None:
        self.stack: list[object] = []
        self.names: dict[str, None] = {}
        self._memo: dict[object, object] = {}

    def do(self, code: str, arg: object) -> None:
        stack = self.stack
        match code:
            case "BINPUT" | "LONG_BINPUT" | "PUT":
                self._memo[arg] = stack[-1]
            case "MEMOIZE":
                self._memo[len(self._memo)] = stack[-1]
            case "BINGET" | "LONG_BINGET" | "GET":
                stack.append(self._memo[arg])
            case "DICT":
                stack.append(_Pairs(_paired(self._to_mark())))
            case "LIST" | "FROZENSET":
                stack.append(self._to_mark())
            case "TUPLE":
                stack.append(tuple(self._to_mark()))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                count = int(code[-1])
                parts = tuple(stack[-count:])
                self._drop(count)
                stack.append(parts)
            case "APPEND":
                self._extend([stack.pop()])
            case "APPENDS" | "ADDITEMS":
                self._extend(self._to_mark())
            case "SETITEM":
                value, key = stack.pop(), stack.pop()
                self._set([key, value])
            case "SETITEMS":
                self._set(self._to_mark())
            case "POP":
                stack.pop()
            case "POP_MARK":
                self._to_mark()
            case "DUP":
                stack.append(stack[-1])
            case "GLOBAL":
                stack.append(self._named(*str(arg).partition(" ")[::2]))
            case "STACK_GLOBAL":
                last, module = stack.pop(), stack.pop()
                stack.append(self._named(str(module)[:200], str(last)[:200]))
            case "REDUCE" | "NEWOBJ":
                arguments, called = stack.pop(), stack.pop()
                stack.append(_made(called, arguments))
            case "NEWOBJ_EX":
                self._drop(2)
                stack.append(_Made(stack.pop(), None))
            case "OBJ":
                operands = self._to_mark()
                stack.append(_Made(operands[0], tuple(operands[1:])))
            case "INST":
                maker = self._named(*str(arg).partition(" ")[::2])
                stack.append(_Made(maker, tuple(self._to_mark())))
            case "BUILD":
                state = stack.pop()
                if isinstance(stack[-1], _Made):
                    stack[-1].state = state
            case "PERSID":
                stack.append(_Storage(arg))
            case "BINPERSID":
                stack.append(_Storage(stack.pop()))
            case "PROTO" | "FRAME" | "STOP" | "READONLY_BUFFER":
                pass
            case _ if code in _CONSTANTS:
                stack.append(_CONSTANTS[code]())
            case _:
                stack.append(arg)  # a number or words; of bytes, buffers and extensions nothing is shown

    def _named(self, module: str, name: str) -> _Name:
        found = _Name(module, name)
        self.names[str(found)] = None
        return found

    def _to_mark(self) -> list[object]:
        at = len(self.stack) - 1
        while self.stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise IndexError("no mark")
        found = self.stack[at + 1 :]
        del self.stack[at:]
        return found

    def _drop(self, count: int) -> None:
        if len(self.stack) < count:
            raise IndexError("an empty stack")
        del self.stack[-count:]

    def _extend(self, items: list[object]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1] += items

    def _set(self, flat: list[object]) -> None:
        if isinstance(self.stack[-1], _Pairs | _Made):
            self.stack[-1].pairs += _paired(flat)


def checkpoint_page(content: bytes, what: Text) -> Reading[TensorsPage]:
    """What the pickle of a checkpoint describes."""
    machine = _Machine()
    yield from _run(io.BytesIO(content), machine)
    return _page(machine, what)


def old_checkpoint_steps(source: ByteSource) -> Steps:
    """Before PyTorch 1.6: five pickles in a row, the fourth describes the tensors, whose numbers come behind all."""
    content = yield from source.take(0, _MOST_OLD)
    stream = io.BytesIO(content)
    machine = _Machine()
    for _ in range(4):
        machine = _Machine()
        yield from _run(stream, machine)
    yield _page(machine, text("PyTorch checkpoint (before 1.6)"))


def _run(stream: io.BytesIO, machine: _Machine) -> Reading[None]:
    """Up to the end of one pickle."""
    try:
        for number, (opcode, arg, _) in enumerate(pickletools.genops(stream)):
            if number % _BREATH == _BREATH - 1:
                yield None
            machine.do(opcode.name, arg)
    except (ValueError, IndexError, KeyError, OverflowError, TypeError, struct.error) as error:
        raise damaged(f"pickle: {type(error).__name__}: {error}"[:200]) from error
    if not machine.stack:
        raise damaged("an empty pickle")


def _page(machine: _Machine, what: Text) -> TensorsPage:
    tensors: list[Tensor] = []
    facts: list[Fact] = []
    notes: list[Text] = []
    for number, (name, value) in enumerate(_leaves(machine.stack[-1])):
        if number >= _MOST_NODES:
            notes.append(text("Not all of its content is shown."))
            break
        if isinstance(value, Tensor):
            tensors.append(replace(value, name=plain(name)))
        elif isinstance(value, int | float | str) and len(facts) < _MOST_FACTS and name:
            facts.append(Fact(plain(name)[:80], plain(str(value))[:200]))
    unusual = [name for name in machine.names if not _is_usual(name)]
    if unusual:
        names = ", ".join(plain(name)[:80] for name in unusual[:6])
        notes.append(text("Loading this file runs code from: {names}. Load it only if you trust it.", names=names))
    return TensorsPage(what, tuple(facts), tuple(tensors), notes=tuple(notes))


def _is_usual(name: str) -> bool:
    module, _, last = name.rpartition(".")
    if module in ("builtins", "__builtin__"):
        return last in _USUAL_BUILTINS
    return name.startswith(_USUAL)


def _leaves(root: object) -> Iterator[tuple[str, object]]:
    """Tensors and plain values with the names that lead to them; one that is there twice is told of twice."""
    waiting: list[tuple[str, object, int]] = [("", root, 0)]
    visited = 0
    while waiting and visited < _MOST_NODES:
        visited += 1
        name, value, depth = waiting.pop()
        children: list[tuple[object, object]] = []
        if isinstance(value, _Pairs):
            children = value.pairs
        elif isinstance(value, _Made):
            children = value.pairs or (value.state.pairs if isinstance(value.state, _Pairs) else [])
        elif isinstance(value, list | tuple):
            children = list(enumerate(value))
        else:
            yield name, value
            continue
        if depth < _DEEPEST:
            for key, child in reversed(children[: _MOST_NODES - len(waiting)]):
                part = key if isinstance(key, str) else str(key) if isinstance(key, int) else "?"
                waiting.append((f"{name}.{part}"[-300:] if name else part[:300], child, depth + 1))


def _made(maker: object, arguments: object) -> object:
    """A tensor where the call makes one."""
    if isinstance(maker, _Name) and isinstance(arguments, tuple):
        if maker.module == "torch._utils" and maker.name in (
            "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_qtensor",
        ):  # fmt: skip
            return _tensor(arguments) or _Made(maker, arguments)
        if maker.name.startswith("_rebuild_parameter") and arguments:
            return arguments[0]
    return _Made(maker, arguments)


def _tensor(arguments: tuple[object, ...]) -> Tensor | None:
    if len(arguments) < 4 or not isinstance(arguments[0], _Storage):
        return None
    shape = arguments[2]
    if isinstance(shape, _Made) and isinstance(shape.arguments, tuple) and shape.arguments:  # torch.Size
        shape = shape.arguments[0]
    if not isinstance(shape, tuple) or len(shape) > 64:
        return None
    if not all(type(length) is int and 0 <= length < _LARGEST for length in shape):
        return None
    kind = arguments[6] if len(arguments) > 6 else None
    what = arguments[0].what
    if not isinstance(kind, _Name) and isinstance(what, tuple) and len(what) > 1:
        kind = what[1]
    title = kind.name if isinstance(kind, _Name) else "?"
    dtype, item_bytes = _DTYPES.get(title, (plain(title)[:40], 0))
    return Tensor("", dtype, shape, item_bytes * prod(shape) if item_bytes else None)


def _paired(flat: list[object]) -> list[tuple[object, object]]:
    return list(zip(flat[::2], flat[1::2], strict=False))
