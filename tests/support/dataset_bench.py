"""Datasets over the small cloud of the panels."""

from __future__ import annotations

from support.folder_cloud import FolderCloud
from traindeck.runtime.own_program import CHECKS_PICTURES, own_program
from traindeck.services.datasets.datasets import Datasets


def datasets_of(cloud: FolderCloud) -> Datasets:
    return Datasets(cloud.transfers, cloud.planes, cloud.disk, [*own_program(), CHECKS_PICTURES])
