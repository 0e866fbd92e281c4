"""What can be typed after `traindeck obs`."""

from __future__ import annotations

from argparse import Action, ArgumentTypeError
from datetime import timedelta
from typing import Any

from traindeck.cli.parser_parts import Adder, Parser, count, duration, leaf, share, size, yes
from traindeck.domain.texts import say

_TEMPLATES = ("private", "public-read", "public-read-write", "public-read-list", "public-read-write-delete")


def add_obs(obs: Adder) -> None:
    leaf(obs, "ls", say("list buckets, or what is in one"), _ls, _filters, help_names=_LONG_HELP)
    leaf(obs, "du", say("count objects and bytes below folders"), _paths, _du, _filters, help_names=_LONG_HELP)
    leaf(obs, "find", say("find objects by name or size, everywhere below a folder"), _path, _find, _filters)
    leaf(obs, "tree", say("show folders and objects as a tree"), _path, _tree)
    leaf(obs, "mb", say("make a bucket"), _bucket, _mb, yes)
    leaf(obs, "rb", say("remove a bucket"), _bucket, _rb, yes)
    leaf(obs, "policy", say("show or change who may reach a bucket"), _bucket, _policy, yes)
    leaf(obs, "versioning", say("show, enable or suspend versioning of a bucket"), _bucket, _versioning)
    leaf(obs, "tagging", say("show or change the tags of a bucket or an object"), _path, _tagging)
    leaf(obs, "lifecycle", say("show or change the lifecycle rules of a bucket"), _bucket, _rules, yes)
    leaf(obs, "cors", say("show or change the CORS rules of a bucket"), _bucket, _rules, yes)
    leaf(obs, "cp", say("copy files, folders and objects"), _sides, _cp, _verify, *_MOVING, _said_of_copies)
    leaf(obs, "mv", say("move or rename files, folders and objects"), _sides, _mv, *_MOVING)
    leaf(
        obs,
        "sync",
        say("make a folder like another one; only what differs is moved"),
        _sync,
        _filters,
        _how_it_moves,
        _store_md5,
        yes,
    )
    leaf(obs, "pack", say("pack many small files into a few tar shards with an index"), _pack, _filters, yes)
    leaf(obs, "mini", say("make a small dataset from a large one, the same each time"), _mini)
    leaf(obs, "cat", say("print objects as they are, one after the other"), _paths, _cat)
    leaf(obs, "fragments", say("list unfinished uploads, or throw them away"), _fragments, yes)
    leaf(obs, "rm", say("remove objects"), _paths, _rm, _filters, yes)
    leaf(obs, "stat", say("show all that is known of an object, a folder or a bucket"), _path, _stat)
    leaf(obs, "url", say("make a link by which anybody can read or write one object for a while"), _path, _url)


def _ls(ls: Parser) -> None:
    ls.option("path", "PATH", say("obs://bucket/folder/; without it the buckets"), nargs="?")
    ls.flag("-r", "--recursive", means=say("everything below, not one level"))
    _human(ls)


def _du(du: Parser) -> None:
    depth = du.add_mutually_exclusive_group()
    depth.add_argument("-d", "--depth", type=count, default=0, metavar="N", help=say("also for folders so deep"))
    depth.add_argument("-s", "--summarize", action="store_true", help=say("only the sum of each, which is the usual"))
    du.flag("-c", "--total", means=say("also the sum of all"))
    _human(du)


def _find(find: Parser) -> None:
    find.option("words", "WORD", say("what the name holds, whatever the case"), nargs="*")
    find.option("--name", "PATTERN", say("what the whole name is like, for example '*.jpg'"))
    find.option("--larger", "SIZE", say("for example 10MB"), type=size)
    find.option("--smaller", "SIZE", say("for example 1GiB"), type=size)


def _mb(mb: Parser) -> None:
    mb.option("--class", "CLASS", say("STANDARD, WARM or COLD"), dest="storage_class")
    mb.option("--access", None, say("who gets in; without it only your account"), choices=_TEMPLATES)


def _rb(rb: Parser) -> None:
    rb.flag("--force", means=say("delete everything in it first, older versions as well"))


def _policy(policy: Parser) -> None:
    policy.epilog = say(
        "“show” (if nothing is said), “set TEMPLATE”, “set --file FILE” or “delete”. The last two templates are older "
        "forms, in which everybody also sees the list, or may delete. “private” also takes away what the grants give "
        "to everybody."
    )
    policy.add_argument("what", nargs="?", choices=("show", "set", "delete"), default="show")
    policy.option("template", "TEMPLATE", ", ".join(_TEMPLATES), nargs="?", choices=_TEMPLATES)
    policy.option("--file", "FILE", say("a policy as JSON; “-” for standard input"))
    policy.flag("--acl", means=say("the grants (ACL) instead of the policy"))


def _versioning(versioning: Parser) -> None:
    versioning.epilog = say("Versioning can be suspended but never removed; versions that exist stay.")
    versioning.add_argument("what", nargs="?", choices=("show", "enable", "suspend"), default="show")


def _tagging(tagging: Parser) -> None:
    tagging.epilog = say(
        "“show” (if nothing is said), “set NAME=VALUE…”, which leaves the others, or “delete NAME…”; without a name "
        "all are deleted."
    )
    tagging.add_argument("what", nargs="?", choices=("show", "set", "delete"), default="show")
    tagging.option("tags", "NAME[=VALUE]", say("the tags"), nargs="*")


def _rules(rules: Parser) -> None:
    rules.epilog = say(
        "“show” (if nothing is said), “set --file FILE” or “delete”. A file is JSON as “show --json” prints it, with "
        "the names that other tools for object storage use; what it leaves out is no longer set."
    )
    rules.add_argument("what", nargs="?", choices=("show", "set", "delete"), default="show")
    rules.option("--file", "FILE", say("rules as JSON; “-” for standard input"), default="")


def _tree(tree: Parser) -> None:
    tree.option("-L", "N", say("show at most N levels"), type=count, dest="levels")
    tree.flag("-d", "--folders", means=say("folders only"))


def _mini(mini: Parser) -> None:
    mini.epilog = say(
        "Either side may be obs://bucket/folder/. A class is a folder that holds files; files of one sample (a.jpg and "
        "a.txt) stay together, also across folders. Which are kept depends on their names alone, so that the same "
        "command makes the same dataset anywhere. Without DST it is called like SRC with “_mini”."
    )
    mini.add_argument("source", metavar="SRC")
    mini.add_argument("target", nargs="?", metavar="DST")
    how_many = mini.add_mutually_exclusive_group(required=True)
    how_many.add_argument("--per-class", type=count, metavar="N", help=say("keep N samples of each class"))
    how_many.add_argument(
        "--share", type=share, metavar="SHARE", help=say("keep a share of each class, as 5%% or 0.05")
    )
    mini.option("--seed", "WORD", say("any text; another one selects other samples"), default="")
    mini.flag("-n", "--dry-run", means=say("only show what would be kept"))


def _cp(cp: Parser) -> None:
    cp.epilog = say(
        "Either side may be obs://bucket/key. A folder is copied whole: one folder alone gives its content to the "
        "destination, several sources keep their names below it. “-” is standard input or output."
    )


def _mv(mv: Parser) -> None:
    mv.epilog = say(
        "Either side may be obs://bucket/key, and names work as in “cp”. Everything is copied and looked at first; "
        "then what arrived, and is still the same at its source, is removed there. A move that was interrupted goes on "
        "where it stood when the same command is given again. What a link that is followed leads to stays there."
    )


def _sync(sync: Parser) -> None:
    sync.epilog = say(
        "Either side may be obs://bucket/folder/. What “.traindeckignore” in the folder names is left alone on both "
        "sides. With --compare time a file is equal when it has the size, time and inode it had when its MD5 was last "
        "that of the object: this is remembered, and costs no request. Where nothing is remembered, or one of them "
        "changed, the MD5 of the file decides; above 64 MiB the time that was kept with the object is enough, and an "
        "object that tells neither is moved again. An older time alone never makes two files equal."
    )
    sync.add_argument("source", metavar="SRC")
    sync.add_argument("target", metavar="DST")
    ways = ("time", "size", "md5")
    sync.option("--compare", None, say("what tells that two files are the same"), choices=ways, default="time")
    _verify(sync)
    sync.flag("-n", "--dry-run", means=say("only list what would change"))
    sync.flag("--delete", means=say("remove what is not on the other side"))
    sync.option("--max-delete", "N", say("change nothing if more would be removed"), type=count, default=1000)
    _chosen_files(sync)
    _links(sync)
    sync.flag("--keep-times", means=say("keep the times of files"))
    sync.flag("--keep-modes", means=say("keep the rights of files"))


def _pack(pack: Parser) -> None:
    from traindeck.domain.transfers.packing import SHARD_BYTES, SHARD_FILES

    pack.epilog = say(
        "Either side may be obs://bucket/folder/ or a folder of this computer. The shards are plain tar files, as "
        "WebDataset reads them; files of one sample stay together. “index.jsonl” beside them says where each file is."
    )
    pack.add_argument("source", metavar="SRC")
    pack.add_argument("target", nargs="?", metavar="DST")
    how_large, how_many = say("how large a shard gets, for example 256MiB"), say("how many files a shard gets at most")
    pack.option("--shard-size", "SIZE", how_large, type=size, default=SHARD_BYTES)
    pack.option("--files-per-shard", "N", how_many, type=count, default=SHARD_FILES)
    _chosen_files(pack)
    _links(pack)
    pack.flag("--skip-unreadable", means=say("leave out what cannot be read, and say so"))
    _limit(pack)
    pack.flag("-n", "--dry-run", means=say("only list what would be made"))
    instead = pack.add_mutually_exclusive_group()
    instead.add_argument("--list", action="store_true", help=say("list the files that are packed at SRC"))
    instead.add_argument("--unpack", action="store_true", help=say("unpack what is packed at SRC into the folder DST"))
    only = say("unpack only files of such names, for example 'train/*.jpg'; nothing else is fetched")
    pack.option("--only", "PATTERN", only, action="append", default=[])


def _cat(cat: Parser) -> None:
    from traindeck.cli.obs.cat import part

    which = cat.add_mutually_exclusive_group()
    which.add_argument(
        "--range", type=part, metavar="FROM-TO",
        help=say("only these bytes of each, counted from 0: 0-99, 100- for all from there, =-100 for the last ones"),
    )  # fmt: skip
    which.add_argument("--head", type=size, metavar="SIZE", help=say("only the beginning of each, for example 10kB"))


def _fragments(fragments: Parser) -> None:
    fragments.epilog = say(
        "Uploads by parts that were never finished cost money and are in no listing. Those that a transfer of this "
        "computer goes on with are marked and kept."
    )
    fragments.add_argument("path", metavar="BUCKET[/PREFIX]")
    fragments.flag("--abort", means=say("throw them away, for good"))
    fragments.option("--older-than", "AGE", say("only those so old, for example 7d"), type=duration)


def _rm(rm: Parser) -> None:
    rm.flag("-r", "--recursive", means=say("everything below a folder or in a bucket"))
    rm.flag("-n", "--dry-run", means=say("only say what would be removed"))
    instead = rm.add_mutually_exclusive_group()
    undo = say("bring back what was removed there, where the bucket keeps versions")
    instead.add_argument("--undo", action="store_true", help=undo)
    one = say("remove this version of one object for good, as “stat --versions” names it")
    instead.add_argument("--version", metavar="ID", dest="version_id", help=one)
    all_of_them = say("remove for good, with older versions and marks of deletion")
    instead.add_argument("--all-versions", action="store_true", help=all_of_them)


def _stat(stat: Parser) -> None:
    stat.flag("--versions", means=say("also the versions of an object"))


def _url(url: Parser) -> None:
    url.epilog = say(
        "Whoever has the link needs no keys. It is printed and kept nowhere. A link for writing is used without a "
        "content type, for example: curl -T FILE LINK"
    )
    url.option("--expires", "TIME", say("for example 30m, 1h or 7d"), type=duration, default=timedelta(hours=1))
    url.option("--method", None, say("GET to read, PUT to write"), choices=("GET", "PUT"), default="GET")
    url.option("--version", "ID", say("which version, as “stat” names it"), dest="version_id")


# What several take


def _path(parser: Parser) -> None:
    parser.add_argument("path", metavar="PATH")


def _paths(parser: Parser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH")


def _bucket(parser: Parser) -> None:
    parser.add_argument("bucket", metavar="BUCKET")


def _sides(parser: Parser) -> None:
    parser.add_argument("sources", nargs="+", metavar="SRC")
    parser.add_argument("target", metavar="DST")


def _chosen_files(parser: Parser) -> None:
    parser.option("--ignore", "RULE", say("leave out, as in .gitignore"), action="append", default=[])
    parser.flag("--empty-folders", means=say("folders without files too"))


def _verify(parser: Parser) -> None:
    words = say("move nothing: compare size and MD5 of every file; the exit code is 1 when something differs")
    parser.flag("--verify", means=words)


def _filters(parser: Parser) -> None:
    """All that is said with them goes into one list, for their order is part of what they mean."""
    included = say("only files of such names, for example '*.jpg', 'train/**' or '/top.txt'; see --exclude")
    excluded = say(
        "no files of such names. “*” and “?” stay within a name, “**” does not; “/” at the beginning is the folder "
        "itself, at the end all below a folder; case matters. Of several --include and --exclude the last that fits "
        "decides; what none fits is taken, unless the first is --include"
    )
    parser.option("--include", "PATTERN", included, action=_Filter, dest="filters", type=_pattern, default=())
    parser.option("--exclude", "PATTERN", excluded, action=_Filter, dest="filters", type=_pattern, default=())


class _Filter(Action):
    def __call__(self, _: Any, namespace: Any, value: Any, name: str | None = None) -> None:
        setattr(namespace, self.dest, (*getattr(namespace, self.dest), (name == "--include", value)))


def _pattern(words: str) -> str:
    from traindeck.domain.transfers.name_filter import pattern_of

    try:
        pattern_of(words)
    except ValueError as error:
        raise ArgumentTypeError(
            say("“{pattern}” is no pattern; a bracket or its end is missing", pattern=words)
        ) from error
    return words


def _links(parser: Parser) -> None:
    parser.option(
        "--links", None, say("what to do with links: leave them out and say so, move what they lead to, or keep them "
                             "as small objects that become links again"),
        choices=("skip", "follow", "keep"), default="skip",
    )  # fmt: skip


def _plan_first(parser: Parser) -> None:
    parser.flag("-n", "--dry-run", means=say("only list what would be moved, and what it would replace"))
    parser.flag("--no-clobber", means=say("leave alone what is at the destination already"))


def _how_it_moves(parser: Parser) -> None:
    _limit(parser)
    parser.option("--parallel", "N", say("at most so many requests at a time"), type=_parallel, default=0)
    part = say("how large the parts of large objects are, for example 32MiB; else as it fits them")
    parser.option("--part-size", "SIZE", part, type=_part_size, default=0)


def _parallel(value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= _MOST_PARALLEL:
        raise ArgumentTypeError(say("give a number from 1 to {most}", most=_MOST_PARALLEL))
    return int(value)


def _part_size(value: str) -> int:
    from traindeck.domain.transfers.object_limits import LEAST_PART_BYTES, MOST_PART_BYTES

    found = size(value)
    if not LEAST_PART_BYTES <= found <= MOST_PART_BYTES:
        raise ArgumentTypeError(say("a part has 100 KiB to 5 GiB"))
    return found


def _said_of_copies(cp: Parser) -> None:
    classes = say("STANDARD, WARM, COLD, DEEP_ARCHIVE or INTELLIGENT_TIERING")
    cp.option("--class", "CLASS", classes, dest="storage_class", type=_storage_class, default="")
    kept = say("keep this with the objects; may be given more than once")
    cp.option("--metadata", "KEY=VALUE", kept, action="append", default=[], type=_metadata)
    cp.option("--content-type", "TYPE", say("else it follows from the name"), default="")


def _storage_class(value: str) -> str:
    from traindeck.domain.storage.object_facts import CLASSES

    if value and value.upper() not in CLASSES:  # argparse looks at the default, too
        raise ArgumentTypeError(say("“{name}” is no storage class", name=value))
    return value.upper()


def _metadata(value: str) -> tuple[str, str]:
    name, sign, content = value.partition("=")
    if not sign or not name:
        raise ArgumentTypeError(say("give it as KEY=VALUE"))
    return name.lower(), content


def _human(parser: Parser) -> None:
    """As other programs have it; -h asks for help everywhere else."""
    how = parser.add_mutually_exclusive_group()
    human = say("sizes as people read them, which is the usual")
    how.add_argument("-h", "--human-readable", action="store_true", help=human)
    how.add_argument("-b", "--bytes", action="store_true", help=say("sizes as numbers of bytes"))


def _store_md5(parser: Parser) -> None:
    words = say("keep the MD5 of the whole with large files as well; they are read twice for it")
    parser.flag("--store-md5", means=words)


_MOVING = (_filters, _links, _plan_first, _how_it_moves, _store_md5)
_MOST_PARALLEL = 256
_LONG_HELP = ("--help",)


def _limit(parser: Parser) -> None:
    parser.option("--limit", "SIZE", say("move at most so much a second, for example 5MB"), type=size, default=0)
