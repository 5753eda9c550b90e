"""Samples as lines of the frameworks' dataset files; paths of images are relative to the folder of the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from ..prompts import IMAGE_PLACEHOLDER
from .recipe import DATASETS, TRAIN_FILE, VALIDATION_FILE, Framework
from .samples import Sample


def messages_row(sample: Sample, images: Sequence[str]) -> dict[str, Any]:
    """A line for ms-swift and LLaMA-Factory: `<image>` stands where the next image goes.

    The parts follow each other without a separator, as chat templates put the parts of a message together.
    """
    user = "".join(part.get("text", IMAGE_PLACEHOLDER) for part in sample.parts)
    return {
        "messages": [
            {"role": "system", "content": sample.system},
            {"role": "user", "content": user},
            {"role": "assistant", "content": sample.answer},
        ],
        "images": list(images),
    }


def prompt_completion_row(sample: Sample, images: Sequence[str]) -> dict[str, Any]:
    """A line for TRL, which then computes the loss on the answer alone."""

    def message(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "content": [{"type": "text", "text": text}]}

    user = {"role": "user", "content": [dict(part) for part in sample.parts]}
    return {
        "prompt": [message("system", sample.system), user],
        "completion": [message("assistant", sample.answer)],
        "images": list(images),
    }


ROWS: Final[Mapping[Framework, Callable[[Sample, Sequence[str]], dict[str, Any]]]] = MappingProxyType(
    {"ms-swift": messages_row, "llamafactory": messages_row, "trl": prompt_completion_row}
)
"""Framework -> what makes a line of a sample and the paths of its images."""


def dataset_info() -> str:
    """LLaMA-Factory's dataset_info.json for the two files."""
    return (
        json.dumps(
            {
                name: {
                    "file_name": file,
                    "formatting": "sharegpt",
                    "columns": {"messages": "messages", "images": "images"},
                    "tags": {
                        "role_tag": "role",
                        "content_tag": "content",
                        "user_tag": "user",
                        "assistant_tag": "assistant",
                        "system_tag": "system",
                    },
                }
                for name, file in zip(DATASETS, (TRAIN_FILE, VALIDATION_FILE), strict=True)
            },
            indent=2,
        )
        + "\n"
    )
