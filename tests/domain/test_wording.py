"""The words a user reads: the glossary is kept, in both languages, and nothing is said beside the catalogue."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import catalogues
import pytest

import traindeck
from support.sources import tree

PACKAGE = Path(traindeck.__file__).parent
HAN = "\u4e00-\u9fff"
# What the glossary replaces: pattern, the word to use, and the sentences in which it means something else.
ENGLISH = [
    (r"\(s\)", "count_text", ("time (s)",)),
    (r"\banybod(y|ies)\b|\bsomebody\b|\beverybody\b", "anyone, someone, everyone", ()),
    (r"\bfavourite|\bauthoris|\borganis|\bcolour|\bcancelled|\bcentre\b", "US spelling", ()),
    (r"\bthrow[ns]? away\b|\bthrowing away\b", "delete", ()),
    (r"\bfor good\b", "permanently", ()),
    (r"\bunfinished uploads?\b", "fragment", ("The unfinished upload of",)),
    (r"\bfetch(ed|ing)?\b", "download", ()),
    (r"\bcode folder\b", "code directory", ()),
    (r"\bown image\b|\bimage of your own\b", "custom image", ()),
    (r"\blive jobs?\b|\blive runs?\b", "active job", ()),
    (r"\banswer(s|ed|ing)?\b", "response, respond", ("answer yes to all prompts",)),
    (r"\bbills\b|\band bill\b", "is charged", ()),
    (r"\bgood for\b", "valid for", ()),
    (r"\bolder versions?\b|\bold versions?\b", "previous version", ()),
    (r"\bmarks? of delet", "delete marker", ()),
    (r"\bis there already\b|\bthere already\b|\bis there twice\b", "already exists, appears twice", ()),
    (r"\bGo on\b", "Continue, Resume", ()),
    (r"\b(?-i:[Aa]ccount|[Jj]ob|[Rr]un|[Pp]roject) (?-i:id)\b", "ID", ()),
    (r"\bmay not\b", "cannot, do not have permission to", ()),
    (r"\bchosen\b|\bchoose\b", "select", ("(choose from %(choices)s)",)),
    (r"\b(Upload|Delete|Replace) what\b", "name the thing", ()),
    (r"\bwho gets in\b|\bwho may reach\b", "access", ()),
    (
        r"\bprofile\b(?! (add|use|list|check|remove)\b)", "account",
        ("--profile", "“profile:{name}”", "{profile}", "$PROFILE"),
    ),
    (r"\b(OBS|IAM|ModelArts) address\b|\baddress of (OBS|IAM|ModelArts)\b", "endpoint", ()),
]  # fmt: skip
CHINESE = [
    ("私有访问密钥", "秘密访问密钥", ()),
    ("重新运行", "再次运行", ()),
    ("显示日志", "查看日志", ()),
    ("代码文件夹", "代码目录", ()),
    ("断点", "检查点", ("断点续",)),
    ("排队中", "等待中", ()),
    ("最长运行时间", "自动停止", ()),
    ("发送作业|已发送。", "提交", ()),
    ("取回", "下载, 恢复", ()),
    ("丢弃", "删除", ()),
    ("旧版本", "历史版本", ()),
    ("(?<!多)版本控制", "多版本控制", ()),
    ("应答", "响应", ()),
    ("小云|盒子", "本机模拟环境", ()),
    ("未完成的上传", "碎片", ("{place}”未完成的上传",)),
    ("重新读取|重新查看", "重新加载, 刷新", ()),
    ("没有改动任何内容|没有任何改动", "未做任何更改", ()),
    ("核对", "校验", ()),
    ("本地", "本机", ()),
    ("服务(?!端|器|名)", "OBS, ModelArts, 服务端", ("旧版服务的引擎", "日志投递服务")),
    ("无权限|无权", "没有…的权限", ()),
    ("略过", "跳过", ()),
    ("点击", "单击", ()),
    ("你|(?<!识)别的|别处|再试", "您, 其他, 其他地方, 重试", ()),
    ("标头", "HTTP 头, 头域", ()),
    ("不再询问", "不询问", ()),
]
LEADING = {
    "&Look in:",
    "Files of &type:",
    "Large files:",
    "Left out:",
    "Links whose content goes along:",
    "Save it in the same folder, under this name:",
    "The report contains, without secrets:",
    "To read the shards in training, save a file of a few lines:",
    "Type “{word}” to confirm:",
    "{count} file there was edited or comes from elsewhere, and was kept:",
    "{count} files there were edited or come from elsewhere, and were kept:",
    "usage: ",
    "{title}:",
}
# What a reader reads as it stands: code, names of programs and of formats, what one types.
SAME = re.compile(
    r"[\W\d_]*|[A-Z][\w.+ ]*|.*\b(NAME|MD5|OBS|DNS|TLS|ETag|content-type)\b.*|[^a-z]*(\{[^}]*\}[^a-z]*)+s?|\[y/N\]"
)
SETTERS = {
    "setText", "setToolTip", "setPlaceholderText", "setWindowTitle", "setAccessibleName", "setAccessibleDescription",
    "setStatusTip", "setWhatsThis", "setTitle", "setSpecialValueText", "setSuffix", "setPrefix", "setHeaderLabels",
    "setTabText", "setTabToolTip", "setItemText", "setPlainText", "setHtml", "setInformativeText", "setLabelText",
    "addAction", "addMenu", "addItem", "addItems", "addTab", "addRow", "addSection", "addButton", "insertItem",
    "QLabel", "QPushButton", "QToolButton", "QCheckBox", "QAction", "QRadioButton", "QGroupBox", "QMenu",
    "QDockWidget", "QListWidgetItem", "QTreeWidgetItem", "QTableWidgetItem", "QStandardItem", "showMessage",
    "push_button", "tool_button", "card", "note", "line", "result", "print", "write", "drawText",
}  # fmt: skip
PICTURED = {"push_button": slice(1), "tool_button": slice(1, None)}
# The same in what is given by name, to whatever.
GIVEN = {"help", "description", "epilog", "usage", "placeholder", "tool_tip", "hint", "title", "label", "tip", "words"}
# What is filled in, and what stands for code.
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|%\([a-z_]+\)[sr]|%[sr]|主机:端口|镜像:标签")
NO_WORDS = {"TrainDeck", "OBS", "ModelArts", "IAM", "obs://bucket/folder/", "*.tmp\ncache/"}


@cache
def entries() -> list[tuple[str, str]]:
    """Every form of every sentence, with its Chinese."""
    return [*_entries()]


def _entries() -> Iterator[tuple[str, str]]:
    for message in catalogues.read(catalogues.FOLDER / "zh_CN.po"):
        words = message.string if isinstance(message.string, str) else "".join(message.string or ())
        for form in [message.id] if isinstance(message.id, str) else message.id:
            if form:
                yield form, words


def prose(name: str) -> str:
    """A document without what is code in it."""
    text = (catalogues.ROOT / name).read_text(encoding="utf-8")
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def found(words: str, pattern: str, fine: tuple[str, ...]) -> bool:
    for phrase in fine:
        words = words.replace(phrase, "")
    return re.search(pattern, words, re.IGNORECASE) is not None


@pytest.mark.parametrize(("pattern", "instead", "fine"), ENGLISH, ids=[instead for _, instead, _ in ENGLISH])
def test_english_keeps_the_glossary(pattern: str, instead: str, fine: tuple[str, ...]) -> None:
    assert [words for words, _ in entries() if found(words, pattern, fine)] == [], f"use: {instead}"


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "SECURITY.md"])
def test_english_documents_keep_the_glossary(name: str) -> None:
    document = prose(name)
    assert [(instead, pattern) for pattern, instead, fine in ENGLISH if found(document, pattern, fine)] == []


def test_the_chinese_document_keeps_the_glossary() -> None:
    document = prose("README.zh-CN.md")
    assert [(instead, pattern) for pattern, instead, fine in CHINESE if found(document, pattern, fine)] == []


@pytest.mark.parametrize(("pattern", "instead", "fine"), CHINESE, ids=[pattern for pattern, _, _ in CHINESE])
def test_chinese_keeps_the_glossary(pattern: str, instead: str, fine: tuple[str, ...]) -> None:
    assert [words for _, words in entries() if found(words, pattern, fine)] == [], f"use: {instead}"


def test_no_translation_is_left_undone() -> None:
    undone = [en for en, zh in entries() if not zh.strip() or (zh == en and not SAME.fullmatch(en))]
    assert undone == []
    assert [zh for _, zh in entries() if re.search(r"TODO|FIXME|XXX", zh)] == []


def test_no_label_ends_with_a_colon() -> None:
    """A colon stands only where a sentence leads to what follows, and in Qt's own dialog, whose labels have one."""
    assert {en for en, zh in entries() if en.endswith(":") or zh.endswith("：")} == LEADING


def test_chinese_has_chinese_marks() -> None:
    """Full-width marks beside Chinese and no space beside them, one between Chinese and Latin letters, one ellipsis."""
    wrong = []
    for _, words in entries():
        bare = _PLACEHOLDER.sub("", words)
        if re.search(rf"[{HAN}][,;?!]|[{HAN}]\((?!&|[A-Z]{{2}})|……|\.\.\.|[{HAN}]:(?!/)", bare):
            wrong.append(words)
        if re.search(r"(?<!=) [“”，。；：？（）]|[“”，。；：？（）] ", words):
            wrong.append(words)
        if re.search(rf"[{HAN}][A-Za-z0-9]|[A-Za-z0-9][{HAN}]", bare):
            wrong.append(words)
    assert wrong == []


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def literals(node: ast.expr) -> Iterator[str]:
    """What an expression puts into words itself, not what it calls for them."""
    match node:
        case ast.Constant(value=str(words)):
            yield words
        case ast.JoinedStr(values=inner) | ast.BoolOp(values=inner) | ast.List(elts=inner) | ast.Tuple(elts=inner):
            for part in inner:
                yield from literals(part)
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            yield from literals(one)
            yield from literals(other)


def is_past_the_catalogue(call: ast.Call) -> bool:
    name, given = name_of(call), [item.value for item in call.keywords if item.arg in GIVEN]
    if name in SETTERS:
        # Beside the words of a button stands what it looks like.
        given += call.args[PICTURED.get(name, slice(None))]
    pieces = [piece for part in given for piece in literals(part)]
    return any(re.search(r"[A-Za-z]{3}", piece) and piece.strip() not in NO_WORDS for piece in pieces)


def is_put_together(call: ast.Call) -> bool:
    """Or chosen between, so that it is in no catalogue."""
    given = call.args[: len(catalogues.SAYING.get(name_of(call), ((), 0))[0])]
    return any(not isinstance(part, ast.Constant) and any(literals(part)) for part in given)


@cache
def places_of_calls() -> dict[str, list[str]]:
    """Where sentences are said in a wrong way; each source is read once."""
    found: dict[str, list[str]] = {is_past_the_catalogue.__name__: [], is_put_together.__name__: []}
    for path in sorted(PACKAGE.rglob("*.py")):
        is_shown = path.relative_to(PACKAGE).parts[0] in ("ui", "cli", "viewmodels")
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call):
                place = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                if is_shown and is_past_the_catalogue(node):
                    found[is_past_the_catalogue.__name__].append(place)
                if is_put_together(node):
                    found[is_put_together.__name__].append(place)
    return found


def test_nothing_is_said_past_the_catalogue() -> None:
    assert places_of_calls()[is_past_the_catalogue.__name__] == []


def test_a_sentence_is_written_whole_where_it_is_said() -> None:
    assert places_of_calls()[is_put_together.__name__] == []


# A number of which something is, said in one form: pattern and why it is never one.
NEVER_ONE = [
    (r"\{most\}", "a limit of the service or of ours"),
    (r"\{least\} to \{most\}", "from one limit to another"),
    (r"More than \{objects\} objects|first \{objects\}", "as many as were looked at before it took too long"),
    (r"(Copied|Moved) \{count\} objects and folders", "one is told by its name"),
    (r"restored for \{days\} days", "one is allowed"),
    (r"\{one\} and \{other\} bytes", "two numbers"),
    (r"\{count\} of \{all\} runs", "a part of all, as in 1 of 3"),
    (r"run \{number\} to this folder", "the number of a run"),
    (r"The policy has \{size\} bytes", "more than the limit"),
]
NO_NUMBER = {
    "name", "place", "target", "host", "title", "path", "bucket", "rule", "what", "trouble", "reason", "job", "field",
    "file", "price", "currency",
}  # fmt: skip


def test_a_number_before_a_noun_has_its_singular() -> None:
    """The nouns are those that some sentence counts."""
    sentences = [*catalogues.said()]
    words = [[{*re.findall(r"[a-z]+", form.lower())} for form in said.forms] for said in sentences]
    nouns = {noun for one, many in (pair for pair in words if len(pair) == 2) for noun in many - one if noun[-1] == "s"}
    nouns |= {noun.removesuffix("s") for noun in nouns} | {"characters", "seconds", "folders", "shards", "parts"}
    noun = rf"(?:[ -][a-z]+){{0,2}}[ -](?:{'|'.join(sorted(nouns))})\b"
    wrong = {}
    for forms, _, place in sentences:
        found = re.search(
            rf"\{{(?!(?:{'|'.join(NO_NUMBER)})\}})[a-z_]+(?::[^{{}}]*)?\}}{noun}", forms[0], re.IGNORECASE
        )
        if len(forms) == 1 and found and not any(re.search(pattern, forms[0]) for pattern, _ in NEVER_ONE):
            wrong[forms[0]] = place
    assert wrong == {}
    assert [
        pattern for pattern, _ in NEVER_ONE if not any(re.search(pattern, said.forms[0]) for said in sentences)
    ] == []


# What English says with one word for several things, and the rooms that say it without telling which is meant.
ONE_MEANING = {
    "Failed": {"domain/jobs"},  # a run
    "Run": {"cli/billing.py", "cli/job", "domain/jobs", "ui/jobs"},  # one of the list
    "Open": {"ui/storage"},
    "Copy": {"ui/shell", "ui/storage"},
    "Move": {"ui/storage", "viewmodels/transfers"},
    "Restore": {"ui/storage"},  # what is archived
    "Archive": {"domain/storage"},  # of an object: what is archived
    "Done": {"ui/shell", "viewmodels/transfers"},
    "Show": {"ui/shell"},  # a button
    "Class": {"cli/obs", "ui/datasets"},  # of a dataset
    "Order": {"services/previews", "ui/previews"},  # of an array
    "empty": {"services/storage"},  # a place
    "failed": {"cli/diag.py", "cli/profile.py"},  # a check
    "current": {"cli/obs"},  # a version
    "new": {"cli/config.py"},  # an account
    "Other": {"viewmodels/shell", "ui/shell", "domain/settings.py"},
}


def test_a_word_with_several_meanings_says_which() -> None:
    told: dict[str, set[str]] = {}
    for forms, context, place in catalogues.said():
        if not context and forms[0] in ONE_MEANING:
            told.setdefault(forms[0], set()).add("/".join(place.partition(":")[0].split("/")[:2]))
    assert {word: rooms for word, rooms in told.items() if not rooms <= ONE_MEANING[word]} == {}
    assert [word for word in ONE_MEANING if word not in told] == []
