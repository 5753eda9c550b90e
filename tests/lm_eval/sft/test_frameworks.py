"""Exports in the frameworks' own readers; each test is skipped where its framework is not installed."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from drivehierarchy_data.editions import Edition
from lm_eval_drivehierarchy.sft.export import export
from tests.lm_eval.sft.conftest import silent

TASKS = ["r1_3", "r2_1", "r3_2"]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_ms_swift_reads_an_export(train_edition: Edition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("swift.dataset", reason="ms-swift is not installed")
    from swift.dataset import load_dataset
    from swift.template.vision_utils import load_image

    export(train_edition, TASKS, "ms-swift", tmp_path, progress=silent)
    monkeypatch.setenv("ROOT_IMAGE_DIR", str(tmp_path))
    found, _ = load_dataset([str(tmp_path / "train.jsonl")], split_dataset_ratio=0.0)
    written = lines(tmp_path / "train.jsonl")
    shown = []
    for row in found:
        paths = [image["path"] for image in row["images"]]
        assert [load_image(path).size for path in paths] == [(96, 54)] * len(paths)
        shown.append(json.dumps([[[m["role"], m["content"]] for m in row["messages"]], paths]))
    expected = [json.dumps([[[m["role"], m["content"]] for m in row["messages"]], row["images"]]) for row in written]
    assert sorted(shown) == sorted(expected)


def test_trl_reads_an_export(train_edition: Edition, tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="trl is not installed")
    pytest.importorskip("peft", reason="peft is not installed")
    from trl.data_utils import prepare_multimodal_messages

    export(train_edition, TASKS, "trl", tmp_path, progress=silent)
    spec = importlib.util.spec_from_file_location("exported_train", tmp_path / "train.py")
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = program
    spec.loader.exec_module(program)
    data = program.load_data()
    for split in ("train", "validation"):
        written = lines(tmp_path / f"{split}.jsonl")
        assert len(data[split]) == len(written)
        for row, line in zip(data[split], written, strict=True):
            prompt = prepare_multimodal_messages(row["prompt"], images=row["images"])
            shown = [part for part in prompt[1]["content"] if part["type"] == "image"]
            assert [part["image"].size for part in shown] == [(96, 54)] * len(line["images"])
            assert row["completion"][0]["content"][0]["text"] == line["completion"][0]["content"][0]["text"]


def test_llamafactory_reads_an_export(train_edition: Edition, tmp_path: Path) -> None:
    pytest.importorskip("llamafactory.data.converter", reason="LLaMA-Factory is not installed")
    from datasets import load_dataset
    from llamafactory.data.converter import align_dataset
    from llamafactory.data.parser import get_dataset_list
    from llamafactory.hparams.data_args import DataArguments
    from transformers import TrainingArguments

    export(train_edition, TASKS, "llamafactory", tmp_path, progress=silent)
    folder = str(tmp_path)
    arguments = DataArguments(dataset="drivehierarchy_train", dataset_dir=folder, media_dir=folder)
    (attributes,) = get_dataset_list(["drivehierarchy_train"], folder)
    raw = load_dataset("json", data_files=str(tmp_path / attributes.dataset_name), split="train")
    found = align_dataset(raw, attributes, arguments, TrainingArguments(str(tmp_path / "out"), use_cpu=True))
    for row, line in zip(found, lines(tmp_path / "train.jsonl"), strict=True):
        system, user, assistant = (message["content"] for message in line["messages"])
        assert (row["_system"], row["_prompt"][0]["content"], row["_response"][0]["content"]) == (
            system,
            user,
            assistant,
        )
        assert row["_images"] == [str(tmp_path / path) for path in line["images"]]
