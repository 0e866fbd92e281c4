"""What can be typed after `traindeck obs`."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta

from traindeck.cli.parser_parts import Adder, count, duration, leaf, size, yes
from traindeck.domain.texts import say

_TEMPLATES = ("private", "public-read", "public-read-write", "public-read-list", "public-read-write-delete")


def add_obs(obs: Adder) -> None:
    leaf(obs, "ls", say("list buckets, or what is in one"), _ls)
    leaf(obs, "du", say("count objects and bytes below a folder"), _du)
    leaf(obs, "find", say("find objects by name or size, everywhere below a folder"), _find)
    leaf(obs, "mb", say("make a bucket"), _mb)
    leaf(obs, "rb", say("remove a bucket"), _rb)
    leaf(obs, "policy", say("show or change who may reach a bucket"), _policy)
    leaf(obs, "cp", say("copy files, folders and objects"), _cp)
    leaf(obs, "mv", say("move or rename files, folders and objects"), _mv)
    leaf(obs, "sync", say("make a folder like another one; only what differs is moved"), _sync)
    leaf(obs, "pack", say("pack many small files into a few tar shards with an index"), _pack)
    leaf(obs, "cat", say("print objects as they are, one after the other"), _cat)
    leaf(obs, "fragments", say("list unfinished uploads, or throw them away"), _fragments)
    leaf(obs, "rm", say("remove objects"), _rm)
    leaf(obs, "stat", say("show all that is known of an object, a folder or a bucket"), _stat)
    leaf(obs, "url", say("make a link by which anybody can read or write one object for a while"), _url)


def _ls(ls: ArgumentParser) -> None:
    ls.add_argument("path", nargs="?", metavar="PATH", help=say("obs://bucket/folder/; without it the buckets"))
    ls.add_argument("-r", "--recursive", action="store_true", help=say("everything below, not one level"))


def _du(du: ArgumentParser) -> None:
    du.add_argument("path", metavar="PATH")
    du.add_argument("-d", "--depth", type=count, default=0, metavar="N", help=say("also for folders so deep"))


def _find(find: ArgumentParser) -> None:
    find.add_argument("path", metavar="PATH")
    find.add_argument("words", nargs="*", metavar="WORD", help=say("what the name holds, whatever the case"))
    find.add_argument("--name", metavar="PATTERN", help=say("what the whole name is like, for example '*.jpg'"))
    find.add_argument("--larger", type=size, metavar="SIZE", help=say("for example 10MB"))
    find.add_argument("--smaller", type=size, metavar="SIZE", help=say("for example 1GiB"))


def _mb(mb: ArgumentParser) -> None:
    mb.add_argument("bucket", metavar="BUCKET")
    mb.add_argument("--class", dest="storage_class", metavar="CLASS", help=say("STANDARD, WARM or COLD"))
    mb.add_argument("--access", choices=_TEMPLATES, help=say("who gets in; without it only your account"))
    yes(mb)


def _rb(rb: ArgumentParser) -> None:
    rb.add_argument("bucket", metavar="BUCKET")
    rb.add_argument("--force", action="store_true", help=say("delete everything in it first, older versions as well"))
    yes(rb)


def _policy(policy: ArgumentParser) -> None:
    policy.epilog = say(
        "“show” (if nothing is said), “set TEMPLATE”, “set --file FILE” or “delete”. The last two templates are older "
        "forms, in which everybody also sees the list, or may delete. “private” also takes away what the grants give "
        "to everybody."
    )
    policy.add_argument("bucket", metavar="BUCKET")
    policy.add_argument("what", nargs="?", choices=("show", "set", "delete"), default="show")
    policy.add_argument("template", nargs="?", choices=_TEMPLATES, metavar="TEMPLATE", help=", ".join(_TEMPLATES))
    policy.add_argument("--file", metavar="FILE", help=say("a policy as JSON; “-” for standard input"))
    policy.add_argument("--acl", action="store_true", help=say("the grants (ACL) instead of the policy"))
    yes(policy)


def _cp(cp: ArgumentParser) -> None:
    cp.epilog = say(
        "Either side may be obs://bucket/key. A folder is copied whole: one folder alone gives its content to the "
        "destination, several sources keep their names below it. “-” is standard input or output."
    )
    cp.add_argument("sources", nargs="+", metavar="SRC")
    cp.add_argument("target", metavar="DST")
    _verify(cp)
    _limit(cp)


def _mv(mv: ArgumentParser) -> None:
    mv.epilog = say(
        "Either side may be obs://bucket/key, and names work as in “cp”. Everything is copied and looked at first; "
        "then what arrived, and is still the same at its source, is removed there. A move that was interrupted goes on "
        "where it stood when the same command is given again. Links are left alone."
    )
    mv.add_argument("sources", nargs="+", metavar="SRC")
    mv.add_argument("target", metavar="DST")


def _sync(sync: ArgumentParser) -> None:
    sync.epilog = say(
        "Either side may be obs://bucket/folder/. What “.traindeckignore” in the folder names is left alone on both "
        "sides. With --compare time a file is equal when it has the size, time and inode it had when its MD5 was last "
        "that of the object: this is remembered, and costs no request. Where nothing is remembered, or one of them "
        "changed, the MD5 of the file decides; above 64 MiB the time that was kept with the object is enough, and an "
        "object that tells neither is moved again. An older time alone never makes two files equal."
    )
    sync.add_argument("source", metavar="SRC")
    sync.add_argument("target", metavar="DST")
    sync.add_argument(
        "--compare", choices=("time", "size", "md5"), default="time", help=say("what tells that two files are the same")
    )
    _verify(sync)
    sync.add_argument("-n", "--dry-run", action="store_true", help=say("only list what would change"))
    sync.add_argument("--delete", action="store_true", help=say("remove what is not on the other side"))
    sync.add_argument(
        "--max-delete", type=count, default=1000, metavar="N", help=say("change nothing if more would be removed")
    )
    sync.add_argument("--ignore", action="append", default=[], metavar="RULE", help=say("leave out, as in .gitignore"))
    sync.add_argument("--links", choices=("follow", "skip"), default="follow", help=say("what to do with links"))
    sync.add_argument("--empty-folders", action="store_true", help=say("folders without files too"))
    sync.add_argument("--keep-times", action="store_true", help=say("keep the times of files"))
    sync.add_argument("--keep-modes", action="store_true", help=say("keep the rights of files"))
    _limit(sync)
    yes(sync)


def _pack(pack: ArgumentParser) -> None:
    from traindeck.domain.transfers.packing import SHARD_BYTES, SHARD_FILES

    pack.epilog = say(
        "Either side may be obs://bucket/folder/ or a folder of this computer. The shards are plain tar files, as "
        "WebDataset reads them; files of one sample stay together. “index.jsonl” beside them says where each file is."
    )
    pack.add_argument("source", metavar="SRC")
    pack.add_argument("target", nargs="?", metavar="DST")
    pack.add_argument(
        "--shard-size",
        type=size,
        default=SHARD_BYTES,
        metavar="SIZE",
        help=say("how large a shard gets, for example 256MiB"),
    )
    pack.add_argument(
        "--files-per-shard",
        type=count,
        default=SHARD_FILES,
        metavar="N",
        help=say("how many files a shard gets at most"),
    )
    pack.add_argument("--ignore", action="append", default=[], metavar="RULE", help=say("leave out, as in .gitignore"))
    pack.add_argument("--links", choices=("follow", "skip"), default="follow", help=say("what to do with links"))
    pack.add_argument("--empty-folders", action="store_true", help=say("folders without files too"))
    pack.add_argument("--skip-unreadable", action="store_true", help=say("leave out what cannot be read, and say so"))
    _limit(pack)
    pack.add_argument("-n", "--dry-run", action="store_true", help=say("only list what would be made"))
    instead = pack.add_mutually_exclusive_group()
    instead.add_argument("--list", action="store_true", help=say("list the files that are packed at SRC"))
    instead.add_argument("--unpack", action="store_true", help=say("unpack what is packed at SRC into the folder DST"))
    pack.add_argument(
        "--only", action="append", default=[], metavar="PATTERN",
        help=say("unpack only files of such names, for example 'train/*.jpg'; nothing else is fetched"),
    )  # fmt: skip
    yes(pack)


def _cat(cat: ArgumentParser) -> None:
    from traindeck.cli.obs.cat import part

    cat.add_argument("paths", nargs="+", metavar="PATH")
    which = cat.add_mutually_exclusive_group()
    which.add_argument(
        "--range", type=part, metavar="FROM-TO",
        help=say("only these bytes of each, counted from 0: 0-99, 100- for all from there, =-100 for the last ones"),
    )  # fmt: skip
    which.add_argument("--head", type=size, metavar="SIZE", help=say("only the beginning of each, for example 10kB"))


def _fragments(fragments: ArgumentParser) -> None:
    fragments.epilog = say(
        "Uploads by parts that were never finished cost money and are in no listing. Those that a transfer of this "
        "computer goes on with are marked and kept."
    )
    fragments.add_argument("path", metavar="BUCKET[/PREFIX]")
    fragments.add_argument("--abort", action="store_true", help=say("throw them away, for good"))
    fragments.add_argument("--older-than", type=duration, metavar="AGE", help=say("only those so old, for example 7d"))
    yes(fragments)


def _rm(rm: ArgumentParser) -> None:
    rm.add_argument("paths", nargs="+", metavar="PATH")
    rm.add_argument("-r", "--recursive", action="store_true", help=say("everything below a folder or in a bucket"))
    rm.add_argument("--dry-run", action="store_true", help=say("only say what would be removed"))
    rm.add_argument(
        "--undo", action="store_true", help=say("bring back what was removed there, where the bucket keeps versions")
    )
    yes(rm)


def _stat(stat: ArgumentParser) -> None:
    stat.add_argument("path", metavar="PATH")
    stat.add_argument("--versions", action="store_true", help=say("also the versions of an object"))


def _url(url: ArgumentParser) -> None:
    url.epilog = say(
        "Whoever has the link needs no keys. It is printed and kept nowhere. A link for writing is used without a "
        "content type, for example: curl -T FILE LINK"
    )
    url.add_argument("path", metavar="PATH")
    url.add_argument(
        "--expires", type=duration, default=timedelta(hours=1), metavar="TIME", help=say("for example 30m, 1h or 7d")
    )
    url.add_argument("--method", choices=("GET", "PUT"), default="GET", help=say("GET to read, PUT to write"))
    url.add_argument("--version", dest="version_id", metavar="ID", help=say("which version, as “stat” names it"))


def _verify(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--verify", action="store_true",
        help=say("move nothing: compare size and MD5 of every file; the exit code is 1 when something differs"),
    )  # fmt: skip


def _limit(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--limit", type=size, default=0, metavar="SIZE", help=say("move at most so much a second, for example 5MB")
    )
