"""`traindeck obs`: buckets and objects."""

from __future__ import annotations

from traindeck.cli.bucket_commands import mb, rb
from traindeck.cli.copying import copy
from traindeck.cli.fact_commands import stat, url
from traindeck.cli.fragments import fragments
from traindeck.cli.listing_commands import du, find, ls
from traindeck.cli.moving import move
from traindeck.cli.policy_command import policy
from traindeck.cli.removing import rm
from traindeck.cli.syncing import sync

COMMANDS = {
    "ls": ls,
    "du": du,
    "find": find,
    "mb": mb,
    "rb": rb,
    "policy": policy,
    "cp": copy,
    "mv": move,
    "sync": sync,
    "rm": rm,
    "stat": stat,
    "url": url,
    "fragments": fragments,
}
