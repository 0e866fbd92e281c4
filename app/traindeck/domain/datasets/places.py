"""Where a dataset is."""

from __future__ import annotations

from pathlib import Path

from traindeck.domain.storage.objects import ObjectPath

DatasetFolder = ObjectPath | Path
"""A folder of a bucket, or of this computer."""
