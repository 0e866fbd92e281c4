"""The steps from an empty journal of transfers to today's; numbered by their place, never edited after a release."""

from __future__ import annotations

_FIRST = (
    """CREATE TABLE transfers (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        profile TEXT NOT NULL,
        source TEXT NOT NULL,
        target TEXT NOT NULL,
        rules TEXT NOT NULL,
        state TEXT NOT NULL,
        created TEXT NOT NULL,
        root TEXT NOT NULL DEFAULT '',
        is_planned INTEGER NOT NULL DEFAULT 0,
        has_gaps INTEGER NOT NULL DEFAULT 0,
        fed_to TEXT NOT NULL DEFAULT '',
        place REAL NOT NULL DEFAULT 0,
        started TEXT,
        ended TEXT,
        error TEXT)""",
    # No row number of its own: a million names stand once in the file, in the order of a listing.
    """CREATE TABLE items (
        transfer INTEGER NOT NULL,
        key TEXT NOT NULL,
        name TEXT NOT NULL,
        size_bytes INTEGER NOT NULL,
        modified_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        mode INTEGER NOT NULL,
        etag TEXT NOT NULL,
        action INTEGER NOT NULL,
        state INTEGER NOT NULL,
        upload_id TEXT NOT NULL DEFAULT '',
        part_bytes INTEGER NOT NULL DEFAULT 0,
        is_verified INTEGER NOT NULL DEFAULT 0,
        error TEXT,
        PRIMARY KEY (transfer, key)) WITHOUT ROWID""",
    "CREATE INDEX open_items ON items (transfer, key) WHERE state < 10",
    """CREATE TABLE parts (
        transfer INTEGER NOT NULL,
        key TEXT NOT NULL,
        number INTEGER NOT NULL,
        size_bytes INTEGER NOT NULL,
        etag TEXT NOT NULL,
        PRIMARY KEY (transfer, key, number)) WITHOUT ROWID""",
)
# What files of this computer were like when they had the content of an object.
_REMEMBER = (
    "CREATE TABLE known_places (id INTEGER PRIMARY KEY, words TEXT NOT NULL UNIQUE)",
    """CREATE TABLE known (
        place INTEGER NOT NULL,
        key TEXT NOT NULL,
        size_bytes INTEGER NOT NULL,
        modified_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        etag TEXT NOT NULL,
        PRIMARY KEY (place, key)) WITHOUT ROWID""",
    # Taken out of the list by somebody, and still to be taken back at the service.
    "ALTER TABLE transfers ADD COLUMN is_dropped INTEGER NOT NULL DEFAULT 0",
)
_KEEP_SHARDS = (
    # What is in an archive that is being made: a page for each file would be a hundred times as much.
    """CREATE TABLE shards (
        transfer INTEGER NOT NULL,
        key TEXT NOT NULL,
        members BLOB NOT NULL,
        digests BLOB NOT NULL DEFAULT x'',
        UNIQUE (transfer, key))""",
)
# Uploads and downloads may be of some names below their source only. Nothing is stored otherwise, but a program that
# does not know of it would move all of that folder.
_NAME_FILES = ()

# A program that knows no filters, no links that are kept and nothing that is to be left alone would move all of it.
_CHOOSE_FILES = ("ALTER TABLE items ADD COLUMN replaces INTEGER NOT NULL DEFAULT 0",)

# As text: the numbers of SQLite are too small for it.
_KEEP_CRC64 = ("ALTER TABLE parts ADD COLUMN crc64 TEXT NOT NULL DEFAULT ''",)

STEPS: tuple[tuple[str, ...], ...] = (_FIRST, _REMEMBER, _KEEP_SHARDS, _NAME_FILES, _CHOOSE_FILES, _KEEP_CRC64)
