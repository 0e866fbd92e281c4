"""What the engine's Python reads, and does not have: types, modules, functions and keywords that came later.

Source: “What's New in Python 3.7” to “What's New in Python 3.13” (docs.python.org), and PEP 585 and PEP 604.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial

from traindeck.domain.texts import text
from traindeck.services.scripts.imports import files_of, folder_of, local_imports, reached_from
from traindeck.services.scripts.python_source import PythonVersion, version_words
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule, at
from traindeck.services.scripts.rules.packages import is_listed
from traindeck.services.scripts.rules.source_view import Seen, SourceView

_GENERICS = frozenset({"list", "dict", "tuple", "set", "frozenset", "type"})
_OF_MODULES = (
    "collections.deque", "collections.defaultdict", "collections.OrderedDict", "collections.Counter",
    "collections.abc.",
)  # fmt: skip
_GENERICS_SINCE, _UNIONS_SINCE = (3, 9), (3, 10)


def _named(module: str, **since: str) -> Iterator[tuple[str, PythonVersion]]:
    """`v3_9="cache …"`: what came with 3.9."""
    for version, names in since.items():
        major, _, minor = version[1:].partition("_")
        yield from ((f"{module}.{name}" if module else name, (int(major), int(minor))) for name in names.split())


_MODULES: Mapping[str, PythonVersion] = dict(
    _named("", v3_7="dataclasses contextvars importlib.resources", v3_8="importlib.metadata", v3_9="zoneinfo graphlib",
           v3_11="tomllib")
)  # fmt: skip
_NAMES: Mapping[str, PythonVersion] = dict([
    *_named("functools", v3_8="cached_property singledispatchmethod", v3_9="cache"),
    *_named("math", v3_8="prod dist comb perm isqrt", v3_9="lcm nextafter ulp", v3_11="cbrt exp2"),
    *_named("itertools", v3_10="pairwise", v3_12="batched"),
    *_named("typing", v3_8="Literal Final Protocol TypedDict final runtime_checkable SupportsIndex get_args get_origin",
            v3_9="Annotated", v3_10="ParamSpec Concatenate TypeAlias TypeGuard",
            v3_11="Self Never LiteralString Required NotRequired Unpack TypeVarTuple assert_never assert_type "
                  "dataclass_transform", v3_12="override TypeAliasType"),
    *_named("contextlib", v3_7="nullcontext AsyncExitStack", v3_10="aclosing", v3_11="chdir"),
    *_named("enum", v3_11="StrEnum verify"), *_named("datetime", v3_11="UTC"),
    *_named("dataclasses", v3_10="KW_ONLY"), *_named("types", v3_10="UnionType NoneType EllipsisType"),
    *_named("asyncio", v3_7="run create_task", v3_9="to_thread", v3_11="TaskGroup timeout Runner"),
    *_named("statistics", v3_8="fmean geometric_mean quantiles NormalDist", v3_10="correlation linear_regression"),
    *_named("shlex", v3_8="join"), *_named("random", v3_9="randbytes"), *_named("ast", v3_9="unparse"),
    *_named("argparse", v3_9="BooleanOptionalAction"), *_named("time", v3_7="time_ns perf_counter_ns"),
    *_named("operator", v3_11="call"), *_named("inspect", v3_10="get_annotations"),
])  # fmt: skip
_KEYWORDS: Mapping[tuple[str, str], PythonVersion] = {
    ("zip", "strict"): (3, 10), ("dataclasses.dataclass", "slots"): (3, 10),
    ("dataclasses.dataclass", "kw_only"): (3, 10), ("dataclasses.field", "kw_only"): (3, 10),
    ("shutil.copytree", "dirs_exist_ok"): (3, 8), ("subprocess.run", "capture_output"): (3, 7),
    ("subprocess.run", "text"): (3, 7), ("logging.basicConfig", "force"): (3, 8),
    ("logging.basicConfig", "encoding"): (3, 9), ("itertools.accumulate", "initial"): (3, 8),
    ("bisect.bisect", "key"): (3, 10), ("bisect.bisect_left", "key"): (3, 10),
    ("argparse.ArgumentParser", "exit_on_error"): (3, 9), (".unlink", "missing_ok"): (3, 8),
}  # fmt: skip
_METHODS: Mapping[str, PythonVersion] = {
    "removeprefix": (3, 9), "removesuffix": (3, 9), "is_relative_to": (3, 9), "with_stem": (3, 9), "bit_count": (3, 10),
}  # fmt: skip
_HANDLED = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "NameError"})
_ASKED = ("version", "py3", "python", "hasattr")
_Later = tuple[SourceView, Seen, str, PythonVersion]


def _newer(look: ScriptLook) -> Iterable[Fault]:
    version = look.tree.version
    if version is None:
        return
    at_once = cache(lambda: frozenset(_run_at_once(look)))  # in most code nothing is newer, and nobody asks
    is_there = cache(partial(is_listed, look))  # dataclasses, for one, was a package of its own before
    for view, seen, what, needs in _all(look, version):
        around = seen.around
        is_handled = around.is_tried or around.is_fallback or bool(around.caught & _HANDLED)
        if needs <= version or is_handled or look.values(view).depends_on(around, *_ASKED):
            continue
        if look.is_idle(view, around) or (what in _MODULES and is_there(what)):
            continue
        why = text(
            "{what} needs {needed}, and the engine has {version}.",
            what=what, needed=version_words(needs), version=version_words(version),
        )  # fmt: skip
        hint = text("Write it as {version} takes it, or select an engine with a newer Python.",
                    version=version_words(version))  # fmt: skip
        is_sure = view.path in at_once() and not around.functions and not around.guards and not what.startswith(".")
        yield at(RED if is_sure and not look.job.is_rehearsal else AMBER, view, seen.node, why, hint)


def _run_at_once(look: ScriptLook) -> Iterable[str]:
    """The boot file, and what nothing keeps it from importing."""
    files, roots = look.tree.files, look.tree.roots

    def needed_by(path: str) -> Iterator[str]:
        module = files[path].module
        for wanted in local_imports(module) if module is not None else ():
            if wanted.is_sure:
                yield from files_of(wanted, path, (*roots, folder_of(path)))

    return reached_from([look.tree.boot], files, needed_by)


def _all(look: ScriptLook, version: PythonVersion) -> Iterator[_Later]:
    for view in look.views:
        yield from _imports(look, view)
        yield from _types(view, version)
        for name, seen in view.attributes:
            if name in _NAMES:
                yield view, seen, name, _NAMES[name]
        for call in view.calls:
            here = Seen(call.node, call.around)
            is_other = call.name.endswith(f".str.{call.method}") or call.method in view.defined
            is_method = isinstance(call.node.func, ast.Attribute) and not is_other
            if is_method and call.method in _METHODS:
                yield view, here, f".{call.method}()", _METHODS[call.method]
            for one in call.node.keywords:
                name = call.name if (call.name, one.arg) in _KEYWORDS else f".{call.method}" if is_method else ""
                if (name, one.arg) in _KEYWORDS:
                    yield view, here, f"{name}({one.arg}=…)", _KEYWORDS[name, str(one.arg)]


def _imports(look: ScriptLook, view: SourceView) -> Iterator[_Later]:
    for seen in view.imports:
        node = seen.node
        wanted = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            wanted = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        for name in wanted:
            needs = _MODULES.get(name) or _NAMES.get(name)
            if needs is not None and not look.is_own(name.partition(".")[0], view.path):
                yield view, seen, name, needs


def _types(view: SourceView, version: PythonVersion) -> Iterator[_Later]:
    """Of those that are worked out when the file runs."""
    if version >= _UNIONS_SINCE:
        return
    is_text = view.aliases.get("annotations") == "__future__.annotations"
    named = [one for several in view.assigned.values() for one in several if isinstance(one.node, ast.Subscript)]
    annotations = [] if is_text else view.annotations
    for seen, is_type in (*((one, True) for one in annotations), *((one, False) for one in named)):
        for node in ast.walk(seen.node):
            here = Seen(node, seen.around)
            if is_type and isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
                yield view, here, ast.unparse(node), _UNIONS_SINCE
                break
            if isinstance(node, ast.Subscript) and _is_generic(view, node.value):
                yield view, here, ast.unparse(node), _GENERICS_SINCE
                break


def _is_generic(view: SourceView, node: ast.expr) -> bool:
    if isinstance(node, ast.Name) and node.id in _GENERICS:
        return node.id not in view.assigned and node.id not in view.aliases and id(node) not in view.parameters
    name = view.name_of(node)
    return any(name == one or (one.endswith(".") and name.startswith(one)) for one in _OF_MODULES)


RULES = (ScriptRule("newer-python", "newer-python", text("Needs a newer Python"), _newer),)
