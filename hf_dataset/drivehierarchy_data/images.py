"""Images as the bytes of their files: recorded by content, decoded only where pixels are needed."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

from PIL import Image, UnidentifiedImageError

from .errors import ImageError

if TYPE_CHECKING:
    from .shards import ImageLocation

EXTENSIONS = {"JPEG": "jpg", "PNG": "png"}
"""Formats that an edition holds, and how their files are called."""

MEDIA_TYPES = {"jpg": "image/jpeg", "png": "image/png"}


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """One image file in memory: its bytes, and width and height in pixels.

    `name` is made of the content, so whoever holds the name can tell whether the bytes are still the right ones.
    """

    data: bytes
    width: int
    height: int
    name: str

    def encoded(self) -> EncodedImage:
        """The image itself, see `PendingImage`."""
        return self

    @classmethod
    def of(cls, data: bytes, width: int, height: int, image_format: str = "JPEG") -> EncodedImage:
        """An image that the caller has just encoded itself, so that its size and format are known."""
        return cls(data, width, height, content_name(data, EXTENSIONS[image_format]))

    @classmethod
    def checked(cls, data: bytes, origin: str) -> EncodedImage:
        """An image from elsewhere: decoded once, completely, to know that it is whole. `origin` is for the message.

        Raises ImageError for bytes that do not decode and for formats other than JPEG and PNG.
        """
        return cls._described(data, decode(data, origin), origin)

    @classmethod
    def trusted(cls, data: bytes, origin: str) -> EncodedImage:
        """An image whose bytes something else vouches for, such as the checksum of an archive: only its header is read.

        Raises ImageError as `checked` does, but not for damage behind the header.
        """
        return cls._described(data, _opened(data, origin), origin)

    @classmethod
    def _described(cls, data: bytes, image: Image.Image, origin: str) -> EncodedImage:
        extension = EXTENSIONS.get(image.format or "")
        if extension is None:
            raise ImageError(f"{origin}: format {image.format} is not supported; convert it to JPEG or PNG")
        return cls(data, image.width, image.height, content_name(data, extension))


class PendingImage:
    """An image of known width and height (pixels) that is made when its bytes are first asked for."""

    def __init__(self, width: int, height: int, make: Callable[[], EncodedImage]) -> None:
        self.width, self.height = width, height
        self._make = make
        self._made: EncodedImage | None = None

    def encoded(self) -> EncodedImage:
        """The finished image."""
        if self._made is None:
            self._made = self._make()
        return self._made


def content_name(data: bytes, extension: str) -> str:
    """File name of an image: the first 32 hexadecimal digits of its SHA-256, and the extension of its format."""
    return f"{hashlib.sha256(data).hexdigest()[:32]}.{extension}"


def read_image(path: Path) -> EncodedImage:
    """The image file at `path`, checked to decode. Raises ImageError for a missing, unreadable or corrupt file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ImageError(f"{path}: cannot be read ({error.strerror or error})") from error
    return EncodedImage.checked(data, str(path))


def decode(data: bytes, origin: str) -> Image.Image:
    """Decoded pixels of an image file. Raises ImageError naming `origin` when the bytes are cut or damaged."""
    image = _opened(data, origin)
    try:
        image.load()
    except (OSError, SyntaxError, ValueError) as error:
        raise ImageError(f"{origin}: not a readable image ({error})") from error
    return image


def _opened(data: bytes, origin: str) -> Image.Image:
    try:
        return Image.open(io.BytesIO(data))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ImageError(f"{origin}: not a readable image ({error})") from error


def pixel_digest(image: Image.Image) -> str:
    """Digest of size and RGB pixels: equal for every lossless re-encoding of the same picture."""
    rgb = image.convert("RGB")
    return hashlib.sha256(f"{rgb.width}x{rgb.height}".encode() + rgb.tobytes()).hexdigest()


class ImageSequence(str):
    """The images of one item, still in their file: iterating or indexing decodes, and nothing is kept.

    An evaluation harness holds the images of every item at once, logs them and hashes them. Decoded, the 32,000
    frames of a full edition are 138 GB; as a list of pictures each would be re-encoded for every log line and every
    cache key. So this is a string - the content names of the images, which is all that a log or a cache key needs -
    that yields `PIL.Image.Image` objects when a model class iterates over it, indexes or slices it.
    """

    locations: tuple[ImageLocation, ...]

    def __new__(cls, locations: Sequence[ImageLocation]) -> ImageSequence:
        self = super().__new__(cls, " ".join(location.name for location in locations))
        self.locations = tuple(locations)
        return self

    def __getnewargs__(self) -> tuple[tuple[ImageLocation, ...]]:  # type: ignore[override]
        return (self.locations,)

    def __len__(self) -> int:
        return len(self.locations)

    def __bool__(self) -> bool:
        return bool(self.locations)

    def __iter__(self) -> Iterator[Image.Image]:  # type: ignore[override]
        return (location.decode() for location in self.locations)

    @overload  # type: ignore[override]
    def __getitem__(self, index: int) -> Image.Image: ...

    @overload
    def __getitem__(self, index: slice) -> list[Image.Image]: ...

    def __getitem__(self, index: int | slice) -> Image.Image | list[Image.Image]:
        if isinstance(index, slice):
            return [location.decode() for location in self.locations[index]]
        return self.locations[index].decode()
