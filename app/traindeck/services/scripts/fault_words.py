"""What keeps a file from being read as Python, in words."""

from __future__ import annotations

from traindeck.domain.texts import Text, text
from traindeck.services.scripts.python_source import OWN, PythonVersion, SourceFault, version_words


def fault_words(
    path: str, fault: SourceFault, words: str, found_at: int | None, version: PythonVersion | None
) -> tuple[Text, Text]:
    """What is wrong with a file, and what to do; `words` are Python's own, or the encoding it may be in."""
    line = found_at or "?"
    match fault:
        case SourceFault.PAGE:
            return (
                text("{file} is a web page, not Python.", file=path),
                text("Download the file itself: on GitHub with “Raw”, on Gitee with “原始数据”."),
            )
        case SourceFault.NOTEBOOK:
            return (
                text("{file} is a Jupyter notebook, not Python.", file=path),
                text("Export it: jupyter nbconvert --to script NOTEBOOK"),
            )
        case SourceFault.NULS:
            return (
                text("{file}, line {line}: there are zero bytes in it.", file=path, line=line),
                text("It is damaged or not a text file. Restore it, or save it again as UTF-8."),
            )
        case SourceFault.ENCODING:
            said = text("{file}, line {line}: it is not UTF-8.", file=path, line=line)
            if words:
                said = text("{file}, line {line}: it is {encoding}, not UTF-8.", file=path, line=line, encoding=words)
            return said, text("Save it as UTF-8. Python does not read it as it is.")
    return (
        text(
            "{file}, line {line}: {problem} ({python})",
            file=path, line=line, problem=words, python=version_words(version or OWN),
        ),
        text("Correct the line: the job would end at once."),
    )  # fmt: skip
