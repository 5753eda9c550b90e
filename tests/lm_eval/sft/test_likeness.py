"""The perceptual hash on pictures of the sim edition: copies are found, other drives are not."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageEnhance

from drivehierarchy_data.errors import ImageError
from drivehierarchy_data.items import Item
from lm_eval_drivehierarchy.sft.likeness import BITS, SAME_PICTURE, hashes_of, nearest, perceptual_hash


def encoded(image: Image.Image, image_format: str = "JPEG", **options: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, image_format, **options)
    return buffer.getvalue()


COPIES: dict[str, Callable[[Image.Image], bytes]] = {
    "compressed": lambda image: encoded(image, quality=40),
    "half": lambda image: encoded(image.resize((image.width // 2, image.height // 2)), quality=80),
    "png": lambda image: encoded(image, "PNG"),
    "brighter": lambda image: encoded(ImageEnhance.Brightness(image).enhance(1.08), quality=85),
}


@pytest.mark.parametrize("kind", COPIES)
def test_copies_have_nearly_the_same_hash(kind: str, sim_items: list[Item]) -> None:
    for item in sim_items[::4]:
        data = item.images[0].data
        copy = COPIES[kind](Image.open(io.BytesIO(data)).convert("RGB"))
        assert np.sum(perceptual_hash(data, "a") != perceptual_hash(copy, "b")) <= SAME_PICTURE


def test_pictures_of_other_drives_are_far_away(sim_items: list[Item]) -> None:
    pictures = {image.name: (item.scene_id, image.data) for item in sim_items for image in item.images[:2]}
    entries = list(pictures.values())
    hashes = hashes_of([lambda data=data: (data, "a picture") for _, data in entries], lambda done: None)
    scenes = np.array([scene for scene, _ in entries])
    assert len(set(scenes)) > 3
    for scene in set(scenes):
        _, distances = nearest(hashes[scenes == scene], hashes[scenes != scene])
        assert distances.min() > SAME_PICTURE


@given(st.integers(1, 40), st.integers(1, 700), st.integers(0, 100))
def test_nearest_is_the_least_number_of_differing_bits(few: int, many: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    others, hashes = rng.random((few, BITS)) < 0.5, rng.random((many, BITS)) < 0.5
    rows, distances = nearest(hashes, others)
    sample = rng.integers(0, many, 5)
    expected = (hashes[sample, None, :] != others[None]).sum(axis=2)
    assert distances[sample].tolist() == expected.min(axis=1).tolist()
    assert expected[np.arange(5), rows[sample]].tolist() == distances[sample].tolist()


def test_a_damaged_image_is_named(sim_items: list[Item]) -> None:
    with pytest.raises(ImageError, match="picture 7"):
        perceptual_hash(sim_items[0].images[0].data[:700], "picture 7")
