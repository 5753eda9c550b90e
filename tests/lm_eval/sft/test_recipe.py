"""The run scripts, run for real with stand-ins for the frameworks' commands: Table 10 arrives at each of them."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from drivehierarchy_data.editions import Edition
from lm_eval_drivehierarchy.sft.export import export
from lm_eval_drivehierarchy.sft.recipe import PAPER, SCRIPTS
from tests.lm_eval.sft.conftest import silent

STAND_IN = r"""#!/usr/bin/env bash
printf "%s\n" "$(basename "$0")" "$PWD" "${ROOT_IMAGE_DIR:-}" "${IMAGE_MAX_TOKEN_NUM:-}" "$@"
"""
TWO_DEVICES = '#!/usr/bin/env bash\nprintf "GPU 0\\nGPU 1\\n"\n'


@pytest.fixture
def run_script(tmp_path: Path, train_edition: Edition) -> Any:
    """Exports for a framework and runs its run.sh; returns the folder and what the framework's command was given."""

    def run(framework: Any, *arguments: str, **environment: str) -> tuple[Path, list[str]]:
        commands = tmp_path / "bin"
        commands.mkdir()
        for name in ("swift", "llamafactory-cli", "accelerate"):
            (commands / name).write_text(STAND_IN)
        (commands / "nvidia-smi").write_text(TWO_DEVICES)
        for path in commands.iterdir():
            path.chmod(0o755)
        folder = tmp_path / "a folder"
        export(train_edition, ["r1_3"], framework, folder, progress=silent)
        result = subprocess.run(
            [folder / "run.sh", *arguments],
            env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", **environment},
            cwd="/",
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return folder, result.stdout.splitlines()

    return run


def test_ms_swift_is_given_the_papers_settings(run_script: Any) -> None:
    folder, (command, cwd, images, visual_tokens, subcommand, *given) = run_script("ms-swift", "--max_steps", "1")
    assert (command, cwd, images, visual_tokens, subcommand) == ("swift", str(folder), str(folder), "1024", "sft")
    options = dict(zip(given[::2], given[1::2], strict=True))
    assert options == {
        "--model": "Qwen/Qwen3-VL-8B-Instruct",
        "--dataset": str(folder / "train.jsonl"),
        "--val_dataset": str(folder / "validation.jsonl"),
        "--output_dir": str(folder / "output"),
        "--seed": "42",
        "--num_train_epochs": "3",
        "--target_modules": "all-linear",
        "--lora_rank": "8",
        "--lora_alpha": "32",
        "--freeze_vit": "true",
        "--freeze_aligner": "true",
        "--torch_dtype": "bfloat16",
        "--per_device_train_batch_size": "1",
        "--per_device_eval_batch_size": "1",
        "--gradient_accumulation_steps": "8",
        "--learning_rate": "0.0001",
        "--warmup_ratio": "0.05",
        "--lr_scheduler_type": "cosine",
        "--max_length": "16384",
        "--eval_strategy": "steps",
        "--eval_steps": "50",
        "--save_steps": "50",
        "--max_steps": "1",
    }


def test_llamafactory_is_given_the_papers_settings(run_script: Any) -> None:
    folder, (command, cwd, _, _, subcommand, file, *given) = run_script("llamafactory", MODEL="some/model", SEED="7")
    assert (command, cwd, subcommand, file) == ("llamafactory-cli", str(folder), "train", "train.yaml")
    assert given == ["model_name_or_path=some/model", f"output_dir={folder}/output", "seed=7", "num_train_epochs=3"]
    settings = yaml.safe_load((folder / file).read_text(encoding="utf-8"))
    expected = {
        "finetuning_type": "lora",
        "lora_target": "all",
        "lora_rank": 8,
        "lora_alpha": 32,
        "freeze_vision_tower": True,
        "freeze_multi_modal_projector": True,
        "cutoff_len": 16384,
        "image_max_pixels": 1024 * 32 * 32,
        "bf16": True,
        "per_device_train_batch_size": 1,
        "gradient_accumulation_steps": 8,
        "learning_rate": 1e-4,
        "warmup_ratio": 0.05,
        "eval_steps": 50,
        "save_steps": 50,
    }
    assert {key: settings[key] for key in expected} == expected
    info = yaml.safe_load((folder / "dataset_info.json").read_text(encoding="utf-8"))
    assert {info[settings[key]]["file_name"] for key in ("dataset", "eval_dataset")} == {
        "train.jsonl",
        "validation.jsonl",
    }


def test_trl_is_given_the_papers_settings(run_script: Any) -> None:
    folder, (command, cwd, _, _, *given) = run_script("trl", EPOCHS="1")
    assert (command, cwd, given[:4]) == ("accelerate", str(folder), ["launch", "--num_processes", "2", "train.py"])
    assert given[4:] == [
        *("--model", "Qwen/Qwen3-VL-8B-Instruct", "--output", f"{folder}/output", "--seed", "42", "--epochs", "1"),
    ]
    calls = {
        node.func.id: {key.arg: ast.unparse(key.value) for key in node.keywords if key.arg}
        for node in ast.walk(ast.parse((folder / "train.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert {"r": "8", "lora_alpha": "32"}.items() <= calls["LoraConfig"].items()
    assert {
        "bf16": "True",
        "max_length": "16384",
        "per_device_train_batch_size": "1",
        "gradient_accumulation_steps": "8",
        "learning_rate": "0.0001",
        "eval_steps": "50",
        "save_steps": "50",
    }.items() <= calls["SFTConfig"].items()


def test_ten_frames_fit_into_the_longest_sequence() -> None:
    assert 10 * PAPER.visual_tokens < PAPER.max_length
    assert set(SCRIPTS) == {"ms-swift", "llamafactory", "trl"}
