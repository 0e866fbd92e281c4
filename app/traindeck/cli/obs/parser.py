"""What can be typed after `traindeck obs`."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import timedelta

from traindeck.cli.parser_parts import Parser, Subcommands, count, duration, filters, leaf, share, size, yes
from traindeck.domain.texts import say

_TEMPLATES = ("private", "public-read", "public-read-write", "public-read-list", "public-read-write-delete")


def add_obs(obs: Subcommands) -> None:
    leaf(obs, "ls", say("list buckets, or the contents of a bucket"), _ls, filters, help_names=_LONG_HELP)
    leaf(
        obs,
        "du",
        say("count objects and bytes in folders and their subfolders"),
        _paths,
        _du,
        filters,
        help_names=_LONG_HELP,
    )
    leaf(obs, "find", say("find objects by name or size, including subfolders"), _path, _find, filters)
    leaf(obs, "tree", say("show folders and objects as a tree"), _path, _tree)
    leaf(obs, "mb", say("create a bucket"), _bucket, _mb, yes)
    leaf(obs, "rb", say("delete a bucket"), _bucket, _rb, yes)
    leaf(obs, "policy", say("show or change the access policy of a bucket"), _bucket, _policy, yes)
    leaf(obs, "versioning", say("show, enable or suspend versioning of a bucket"), _bucket, _versioning)
    leaf(obs, "tagging", say("show or change the tags of a bucket or an object"), _path, _tagging)
    leaf(obs, "lifecycle", say("show or change the lifecycle rules of a bucket"), _bucket, _rules, yes)
    leaf(obs, "cors", say("show or change the CORS rules of a bucket"), _bucket, _rules, yes)
    leaf(obs, "cp", say("copy files, folders and objects"), _sides, _cp, _verify, *_MOVING, _said_of_copies)
    leaf(obs, "mv", say("move or rename files, folders and objects"), _sides, _mv, *_MOVING)
    leaf(
        obs,
        "sync",
        say("make one side match the other; transfers only differences"),
        _sync,
        filters,
        _how_it_moves,
        _store_md5,
        yes,
    )
    leaf(obs, "pack", say("pack many small files into a few tar shards with an index"), _pack, filters, yes)
    leaf(obs, "mini", say("create a small dataset from a large one, always the same"), _mini)
    leaf(obs, "cat", say("print the content of objects"), _paths, _cat)
    leaf(obs, "fragments", say("list or delete fragments (unfinished multipart uploads)"), _fragments, yes)
    leaf(obs, "rm", say("delete objects"), _paths, _rm, filters, yes)
    leaf(obs, "stat", say("show the properties of an object, folder or bucket"), _path, _stat)
    leaf(obs, "url", say("create a temporary link to one object"), _path, _url)


def _ls(ls: Parser) -> None:
    ls.option("path", "PATH", say("obs://bucket/folder/ (default: list buckets)"), nargs="?")
    ls.flag("-r", "--recursive", means=say("include all subfolders"))
    _human(ls)


def _du(du: Parser) -> None:
    depth = du.one_of()
    depth.add_argument(
        "-d", "--depth", type=count, default=0, metavar="N", help=say("also list folders down to this depth")
    )
    depth.add_argument("-s", "--summarize", action="store_true", help=say("only the total of each (default)"))
    du.flag("-c", "--total", means=say("also show the total"))
    _human(du)


def _find(find: Parser) -> None:
    find.option("words", "WORD", say("text in the name, ignoring case"), nargs="*")
    find.option("--name", "PATTERN", say("match the whole name against a pattern, e.g. '*.jpg'"))
    find.option("--larger", "SIZE", say("e.g. 10MB"), type=size)
    find.option("--smaller", "SIZE", say("e.g. 1GiB"), type=size)
    find.epilog = say(
        "With --report, the path is the folder of a dataset, here or in a bucket. Of a folder on this "
        "computer, up to 20,000 files are read to find broken pictures, duplicates and text "
        "encodings; of a bucket only with --contents."
    )
    find.flag("--report", means=say("report on a dataset: counts, classes, problems"))
    depth = find.one_of()
    depth.add_argument("--contents", action="store_true", help=say("report also on what is in the files of a bucket"))
    depth.add_argument("--names", action="store_true", help=say("report only what names and sizes tell"))


def _mb(mb: Parser) -> None:
    mb.option("--class", "CLASS", say("STANDARD, WARM or COLD"), dest="storage_class")
    mb.option("--access", None, say("access (default: only your account)"), choices=_TEMPLATES)


def _rb(rb: Parser) -> None:
    rb.flag("--force", means=say("delete everything in it first, including previous versions"))


def _policy(policy: Parser) -> None:
    policy.epilog = say(
        "“show” (default), “set TEMPLATE”, “set --file FILE” or “delete”. The last two templates "
        "are legacy forms with which anyone can also list, or delete. “private” also removes the "
        "permissions that grants give to everyone."
    )
    policy.add_argument("what", nargs="?", choices=("show", "set", "delete"), default="show")
    policy.option("template", "TEMPLATE", ", ".join(_TEMPLATES), nargs="?", choices=_TEMPLATES)
    policy.option("--file", "FILE", say("a policy as JSON; “-” for standard input"))
    policy.flag("--acl", means=say("the grants (ACL) instead of the policy"))


def _versioning(versioning: Parser) -> None:
    versioning.epilog = say("Versioning can be suspended but not removed. Existing versions are kept.")
    versioning.add_argument("what", nargs="?", choices=("show", "enable", "suspend"), default="show")


def _tagging(tagging: Parser) -> None:
    tagging.epilog = say(
        "“show” (default), “set NAME=VALUE…”, which keeps the other tags, or “delete NAME…”; "
        "without a name all tags are deleted."
    )
    tagging.add_argument("what", nargs="?", choices=("show", "set", "delete"), default="show")
    tagging.option("tags", "NAME[=VALUE]", say("the tags"), nargs="*")


def _rules(rules: Parser) -> None:
    rules.epilog = say(
        "“show” (default), “set --file FILE” or “delete”. The file is JSON as printed by “show "
        "--json”, with the names used by other object storage tools. Rules missing in it are no "
        "longer set."
    )
    rules.add_argument("what", nargs="?", choices=("show", "set", "delete"), default="show")
    rules.option("--file", "FILE", say("rules as JSON; “-” for standard input"), default="")


def _tree(tree: Parser) -> None:
    tree.option("-L", "N", say("show at most N levels"), type=count, dest="levels")
    tree.flag("-d", "--folders", means=say("folders only"))


def _mini(mini: Parser) -> None:
    mini.epilog = say(
        "Each side can be obs://bucket/folder/. Classes come from an index that names the files (CSV, "
        "JSON, COCO, Pascal VOC lists), which is written with only the kept samples, or else from the "
        "folders. Of CIFAR (binary), MNIST and TFRecord files, records are kept. Files of one sample "
        "(a.jpg and a.txt) stay together. The selection depends only on names, so the same command "
        "gives the same dataset everywhere. Without DST, the name is SRC with “_mini”."
    )
    mini.add_argument("source", metavar="SRC")
    mini.add_argument("target", nargs="?", metavar="DST")
    how_many = mini.one_of(is_required=True)
    how_many.add_argument("--per-class", type=count, metavar="N", help=say("keep N samples of each class"))
    how_many.add_argument(
        "--share", type=share, metavar="SHARE", help=say("keep a share of each class, e.g. 5%% or 0.05")
    )
    mini.option("--seed", "WORD", say("any text; another one selects other samples"), default="")
    classes = mini.one_of()
    classes.add_argument("--index", metavar="FILE", help=say("the index in SRC that names files and classes"))
    classes.add_argument(
        "--folders", action="store_true", help=say("the folders are the classes, whatever indexes say")
    )
    mini.option("--file-column", "NAME", say("the column of the index that names the files"))
    mini.option("--class-column", "NAME", say("the column of the index with the classes"))
    mini.flag("-n", "--dry-run", means=say("only show what would be kept"))


def _cp(cp: Parser) -> None:
    cp.epilog = say(
        "Each side can be obs://bucket/key. A folder is copied as a whole: with one source "
        "folder, its contents go into the destination; with several sources, each keeps its name "
        "there. “-” is standard input or output."
    )


def _mv(mv: Parser) -> None:
    mv.epilog = say(
        "Each side can be obs://bucket/key, and names work as in “cp”. Everything is copied and "
        "verified first; then each source that arrived and did not change is deleted. An "
        "interrupted move resumes when the same command is entered again. The target of a "
        "followed link is kept."
    )


def _sync(sync: Parser) -> None:
    sync.epilog = say(
        "Each side can be obs://bucket/folder/. Names listed in “.traindeckignore” are skipped "
        "on both sides. With --compare time, a file is identical if its size, time and inode are "
        "the same as when its MD5 last matched the object; this is remembered and needs no "
        "request. If nothing is remembered, or one of them changed, the MD5 of the file decides. "
        "Above 64 MiB, the time stored with the object is sufficient; an object without both is "
        "transferred again. An older time alone never makes two files identical."
    )
    sync.add_argument("source", metavar="SRC")
    sync.add_argument("target", metavar="DST")
    ways = ("time", "size", "md5")
    sync.option("--compare", None, say("how to tell whether two files are identical"), choices=ways, default="time")
    _verify(sync)
    sync.flag("-n", "--dry-run", means=say("only list what would change"))
    sync.flag("--delete", means=say("delete files that the other side does not have"))
    sync.option(
        "--max-delete",
        "N",
        say("change nothing if more than N files would be deleted (default: 1000)"),
        type=count,
        default=1000,
    )
    _chosen_files(sync)
    _links(sync)
    sync.flag("--keep-times", means=say("keep file times"))
    sync.flag("--keep-modes", means=say("keep file permissions"))


def _pack(pack: Parser) -> None:
    from traindeck.domain.transfers.packing import SHARD_BYTES, SHARD_FILES

    pack.epilog = say(
        "Each side can be obs://bucket/folder/ or a folder on this computer. Shards are plain "
        "tar files that WebDataset can read; files of one sample stay together. “index.jsonl” "
        "next to them lists where each file is."
    )
    pack.add_argument("source", metavar="SRC")
    pack.add_argument("target", nargs="?", metavar="DST")
    how_large, how_many = say("maximum size of a shard, e.g. 256MiB"), say("maximum number of files in a shard")
    pack.option("--shard-size", "SIZE", how_large, type=size, default=SHARD_BYTES)
    pack.option("--files-per-shard", "N", how_many, type=count, default=SHARD_FILES)
    _chosen_files(pack)
    _links(pack)
    pack.flag("--skip-unreadable", means=say("skip files that cannot be read, and report them"))
    _limit(pack)
    pack.flag("-n", "--dry-run", means=say("only list what would be created"))
    instead = pack.one_of()
    instead.add_argument("--list", action="store_true", help=say("list the files packed at SRC"))
    instead.add_argument("--unpack", action="store_true", help=say("unpack SRC into the folder DST"))
    only = say("unpack only files whose names match, e.g. 'train/*.jpg'; nothing else is downloaded")
    pack.option("--only", "PATTERN", only, action="append", default=[])
    loader = say("also write a file to the current folder that reads the shards in training")
    pack.option("--loader", "FRAMEWORK", loader, choices=("pytorch", "mindspore"))


def _cat(cat: Parser) -> None:
    from traindeck.cli.obs.cat import part

    which = cat.one_of()
    which.add_argument(
        "--range", type=part, metavar="FROM-TO",
        help=say(
            "only these bytes of each object, counted from 0: 0-99, 100- for the rest from there, "
            "--range=-100 for the last 100"
        ),
    )  # fmt: skip
    which.add_argument("--head", type=size, metavar="SIZE", help=say("only the beginning of each object, e.g. 10kB"))


def _fragments(fragments: Parser) -> None:
    fragments.epilog = say(
        "Fragments (unfinished multipart uploads) are charged but do not appear in listings. "
        "Those that a transfer on this computer needs are marked and kept."
    )
    fragments.add_argument("path", metavar="BUCKET[/PREFIX]")
    fragments.flag("--abort", means=say("delete permanently"))
    fragments.option("--older-than", "AGE", say("only older than this, e.g. 7d"), type=duration)


def _rm(rm: Parser) -> None:
    rm.flag("-r", "--recursive", means=say("everything in a folder or bucket, including subfolders"))
    rm.flag("-n", "--dry-run", means=say("only show what would be deleted"))
    instead = rm.one_of()
    undo = say("undelete objects, if versioning is enabled")
    instead.add_argument("--undo", action="store_true", help=undo)
    one = say("permanently delete this version of one object, as shown by “stat --versions”")
    instead.add_argument("--version", metavar="ID", dest="version_id", help=one)
    all_of_them = say("delete permanently, with previous versions and delete markers")
    instead.add_argument("--all-versions", action="store_true", help=all_of_them)


def _stat(stat: Parser) -> None:
    stat.flag("--versions", means=say("also list the versions of an object"))


def _url(url: Parser) -> None:
    url.epilog = say(
        "The link works without keys. It is printed but not stored. Use a write link without a "
        "content type, for example: curl -T FILE LINK"
    )
    url.option("--expires", "TIME", say("e.g. 30m, 1h or 7d"), type=duration, default=timedelta(hours=1))
    url.option("--method", None, say("GET to read, PUT to write"), choices=("GET", "PUT"), default="GET")
    url.option("--version", "ID", say("version, as shown by “stat --versions”"), dest="version_id")


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
    parser.option("--ignore", "RULE", say("skip names that match, as in .gitignore"), action="append", default=[])
    parser.flag("--empty-folders", means=say("include empty folders"))


def _verify(parser: Parser) -> None:
    words = say("transfer nothing: compare size and checksum of every file; exit code 1 if anything differs")
    parser.flag("--verify", means=words)


def _links(parser: Parser) -> None:
    parser.option(
        "--links", None, say(
            "follow or skip symbolic links: skip and report them, transfer their targets, or keep "
            "them as small objects that become links again"
        ),
        choices=("skip", "follow", "keep"), default="skip",
    )  # fmt: skip


def _plan_first(parser: Parser) -> None:
    parser.flag("-n", "--dry-run", means=say("only list what would be transferred, and what would be replaced"))
    parser.flag("--no-clobber", means=say("keep files that already exist at the destination"))


def _how_it_moves(parser: Parser) -> None:
    _limit(parser)
    parser.option("--parallel", "N", say("maximum number of parallel requests"), type=_parallel, default=0)
    part = say("part size of large objects, e.g. 32MiB (default: automatic)")
    parser.option("--part-size", "SIZE", part, type=_part_size, default=0)


def _parallel(value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= _MOST_PARALLEL:
        raise ArgumentTypeError(say("enter a number from 1 to {most}", most=_MOST_PARALLEL))
    return int(value)


def _part_size(value: str) -> int:
    from traindeck.domain.transfers.object_limits import LEAST_PART_BYTES, MOST_PART_BYTES

    found = size(value)
    if not LEAST_PART_BYTES <= found <= MOST_PART_BYTES:
        raise ArgumentTypeError(say("a part must be 100 KiB to 5 GiB"))
    return found


def _said_of_copies(cp: Parser) -> None:
    classes = say("STANDARD, WARM, COLD, DEEP_ARCHIVE or INTELLIGENT_TIERING")
    cp.option("--class", "CLASS", classes, dest="storage_class", type=_storage_class, default="")
    kept = say("metadata to store with the objects; can be repeated")
    cp.option("--metadata", "KEY=VALUE", kept, action="append", default=[], type=_metadata)
    cp.option("--content-type", "TYPE", say("by default from the name"), default="")


def _storage_class(value: str) -> str:
    from traindeck.domain.storage.object_facts import CLASSES

    if value and value.upper() not in CLASSES:  # argparse looks at the default, too
        raise ArgumentTypeError(say("“{name}” is not a storage class", name=value))
    return value.upper()


def _metadata(value: str) -> tuple[str, str]:
    name, sign, content = value.partition("=")
    if not sign or not name:
        raise ArgumentTypeError(say("enter it as KEY=VALUE"))
    return name.lower(), content


def _human(parser: Parser) -> None:
    """As other programs have it; -h asks for help everywhere else."""
    how = parser.one_of()
    human = say("show sizes in kB, MB, GB (default)")
    how.add_argument("-h", "--human-readable", action="store_true", help=human)
    how.add_argument("-b", "--bytes", action="store_true", help=say("show sizes in bytes"))


def _store_md5(parser: Parser) -> None:
    words = say("store the MD5 of large files too; they are read twice")
    parser.flag("--store-md5", means=words)


_MOVING = (filters, _links, _plan_first, _how_it_moves, _store_md5)
_MOST_PARALLEL = 256
_LONG_HELP = ("--help",)


def _limit(parser: Parser) -> None:
    parser.option("--limit", "SIZE", say("bandwidth limit per second, e.g. 5MB"), type=size, default=0)
