"""Where lines are put into a module: imports among the imports, calls before what is run first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from traindeck.services.scripts.fixes.sources import CodeStatement, statements


def with_imports(module: cst.Module, lines: Iterable[str]) -> cst.Module:
    """These imports, as far as the module does not have them, behind those it has."""
    there = {module.code_for_node(one).strip() for one in module.body}
    there |= {words.partition("#")[0].strip() for words in there}
    wanted = [line for line in lines if line not in there]
    return with_lines(module, after_imports(module), "\n".join(wanted) + "\n") if wanted else module


def with_lines(module: cst.Module, at: int, words: str, blank: bool = False) -> cst.Module:
    """`words` before the statement of this number; `blank`: with blank lines around, as before a function."""
    new = statements(module, words)
    body = list(module.body)
    if blank and new:
        lines = [cst.EmptyLine(indent=False)] * 2
        new[0] = new[0].with_changes(leading_lines=lines)
        if at < len(body):
            follower = body[at]
            missing = 2 - _blanks(follower)
            if missing > 0:
                body[at] = follower.with_changes(
                    leading_lines=[*([cst.EmptyLine(indent=False)] * missing), *follower.leading_lines]
                )
    if at == 0 and body and new:
        # The comment on top of a file, and what tells its encoding, stay on top.
        new[0] = new[0].with_changes(leading_lines=[*body[0].leading_lines, *new[0].leading_lines])
        body[0] = body[0].with_changes(leading_lines=[])
    return module.with_changes(body=[*body[:at], *new, *body[at:]])


def _blanks(statement: CodeStatement) -> int:
    count = 0
    for line in statement.leading_lines:
        if line.comment is not None:
            break
        count += 1
    return count


def after_imports(module: cst.Module) -> int:
    """The number of the statement behind the imports on top; also behind a docstring and `from __future__`."""
    found = 0
    for number, statement in enumerate(module.body):
        if is_import(statement) or (number == 0 and _is_docstring(statement)):
            found = number + 1
        elif not _may_stand_between(statement):
            break
    return found


def before_work(module: cst.Module) -> int:
    """The number of the first statement that does something: no import, no definition, no constant."""
    for number, statement in enumerate(module.body):
        is_quiet = (
            is_import(statement)
            or isinstance(statement, cst.FunctionDef | cst.ClassDef)
            or (number == 0 and _is_docstring(statement))
            or _may_stand_between(statement)
        )
        if not is_quiet:
            return number
    return len(module.body)


def is_import(statement: cst.CSTNode) -> bool:
    if isinstance(statement, cst.SimpleStatementLine):
        return any(isinstance(small, cst.Import | cst.ImportFrom) for small in statement.body)
    # An import that is tried counts; one that hangs on what is installed too.
    if isinstance(statement, cst.Try):
        return _all_imports(statement.body)
    return isinstance(statement, cst.If) and _all_imports(statement.body)


def _all_imports(body: cst.BaseSuite) -> bool:
    return any(is_import(one) for one in body.body)


def _is_docstring(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and all(
        isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString | cst.ConcatenatedString)
        for small in statement.body
    )


def _may_stand_between(statement: cst.CSTNode) -> bool:
    """What people write among their imports: constants, paths, warnings, a seed of the environment."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    return all(
        (
            isinstance(small, cst.Assign)
            and isinstance(small.value, cst.SimpleString | cst.Integer | cst.Float | cst.Name)
        )
        or _sets_surroundings(small)
        for small in statement.body
    )


_SURROUNDINGS = ("os.environ", "sys.path", "warnings.", "logging.basicConfig", "matplotlib.use")


def _sets_surroundings(small: cst.CSTNode) -> bool:
    words = cst.Module([]).code_for_node(small)
    return words.startswith(_SURROUNDINGS)


def replaced(body: Sequence[CodeStatement], old: CodeStatement, new: Sequence[CodeStatement]) -> list[CodeStatement]:
    """The body with `new` in the place of a statement."""
    return [one for line in body for one in (new if line is old else [line])]


def main_guard(module: cst.Module) -> cst.If | None:
    """What runs only where the file itself is started."""
    return next((one for one in module.body if isinstance(one, cst.If) and is_main_guard(one)), None)


def is_main_guard(node: cst.If) -> bool:
    words = cst.Module([]).code_for_node(node.test).replace("'", '"').replace(" ", "")
    return words.strip("()") in ('__name__=="__main__"', '"__main__"==__name__')


def with_first_line(module: cst.Module, new: Sequence[CodeStatement]) -> cst.Module:
    """The lines first in what runs where the file is started."""
    guard = main_guard(module)
    assert guard is not None
    if not isinstance(guard.body, cst.IndentedBlock):
        at = list(module.body).index(guard)
        return module.with_changes(body=[*module.body[:at], *new, *module.body[at:]])
    block = guard.body.with_changes(body=[*new, *guard.body.body])
    return module.with_changes(body=replaced(module.body, guard, [guard.with_changes(body=block)]))
