"""Hashes of many images: in the order of their names, read in the order in which they are stored."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from drivehierarchy_data.editions import Edition
from drivehierarchy_data.shards import ImageLocation
from lm_eval_drivehierarchy.sft.leakage import hashes_by_name
from lm_eval_drivehierarchy.sft.likeness import perceptual_hash


def test_hashes_have_the_order_of_names_and_files_are_read_once(
    train_edition: Edition, monkeypatch: pytest.MonkeyPatch
) -> None:
    images: dict[str, ImageLocation] = {}
    for task in train_edition.tasks():
        for document in train_edition.documents(task):
            images |= {location.name: location for location in document["images"]}
    expected = [perceptual_hash(images[name].read(), name) for name in sorted(images)]
    read, plainly = [], pq.ParquetFile.read_row_group

    def counting(file: pq.ParquetFile, group: int, **kwargs: object) -> object:
        read.append(group)
        return plainly(file, group, **kwargs)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counting)
    done: list[int] = []
    assert np.array_equal(hashes_by_name(images, done.append), np.array(expected))
    assert done[-1] == len(images) > 20
    assert len(read) <= len({location.shard for location in images.values()})  # files of one row group
