"""The paper's training configuration (Table 10 and Appendix C.5) as a run script for each framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Framework = Literal["ms-swift", "llamafactory", "trl"]

TRAIN_FILE, VALIDATION_FILE = "train.jsonl", "validation.jsonl"
RUN_SCRIPT = "run.sh"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Settings of one training run.

    `visual_tokens` bounds each image. The paper calls 1,024 the budget "per sample", but the setting of ms-swift with
    that value bounds an image, and ten frames of r2_2_a would have 102 tokens each otherwise. `epochs` and `scheduler`
    are not in the paper; they are the defaults of ms-swift, with which it trained.
    """

    model: str = "Qwen/Qwen3-VL-8B-Instruct"
    lora_rank: int = 8
    lora_alpha: int = 32
    learning_rate: float = 1e-4
    warmup_ratio: float = 0.05
    batch: int = 1
    accumulation: int = 8
    max_length: int = 16384
    visual_tokens: int = 1024
    steps_between: int = 50
    epochs: int = 3
    scheduler: str = "cosine"

    @property
    def max_pixels(self) -> int:
        """Largest image of Qwen3-VL, in which 32 x 32 pixels are one token."""
        return self.visual_tokens * 32 * 32


PAPER: Final = Recipe()

_HEAD = """\
#!/usr/bin/env bash
# LoRA fine-tuning with the recipe of DriveHierarchy (Table 10) in {name}. Vision tower and aligner stay frozen.
# Each device takes a batch of {batch} and accumulates {accumulation} of them; the paper had 4 devices.
# From the environment: MODEL, OUTPUT, SEED, EPOCHS (the paper gives no number of epochs).
set -euo pipefail
cd "$(dirname "${{BASH_SOURCE[0]}}")"
MODEL=${{MODEL:-{model}}}
OUTPUT=${{OUTPUT:-$PWD/output}}
SEED=${{SEED:-42}}
EPOCHS=${{EPOCHS:-{epochs}}}
DEVICES=${{DEVICES:-$(nvidia-smi --list-gpus | wc -l)}}
"""


def _head(name: str, recipe: Recipe) -> str:
    return _HEAD.format(
        name=name, batch=recipe.batch, accumulation=recipe.accumulation, model=recipe.model, epochs=recipe.epochs
    )


def _ms_swift(recipe: Recipe) -> dict[str, str]:
    return {
        RUN_SCRIPT: _head("ms-swift", recipe)
        + f"""
# Paths of images are relative to this folder.
export ROOT_IMAGE_DIR=$PWD
export IMAGE_MAX_TOKEN_NUM={recipe.visual_tokens}
export NPROC_PER_NODE=$DEVICES
exec swift sft \\
    --model "$MODEL" \\
    --dataset "$PWD/{TRAIN_FILE}" \\
    --val_dataset "$PWD/{VALIDATION_FILE}" \\
    --output_dir "$OUTPUT" \\
    --seed "$SEED" \\
    --num_train_epochs "$EPOCHS" \\
    --target_modules all-linear \\
    --lora_rank {recipe.lora_rank} \\
    --lora_alpha {recipe.lora_alpha} \\
    --freeze_vit true \\
    --freeze_aligner true \\
    --torch_dtype bfloat16 \\
    --per_device_train_batch_size {recipe.batch} \\
    --per_device_eval_batch_size {recipe.batch} \\
    --gradient_accumulation_steps {recipe.accumulation} \\
    --learning_rate {recipe.learning_rate:g} \\
    --warmup_ratio {recipe.warmup_ratio:g} \\
    --lr_scheduler_type {recipe.scheduler} \\
    --max_length {recipe.max_length} \\
    --eval_strategy steps \\
    --eval_steps {recipe.steps_between} \\
    --save_steps {recipe.steps_between} \\
    "$@"
"""
    }


DATASETS = ("drivehierarchy_train", "drivehierarchy_validation")
"""Names of the two sets in LLaMA-Factory's dataset_info.json."""


def _llamafactory(recipe: Recipe) -> dict[str, str]:
    script = (
        _head("LLaMA-Factory", recipe)
        + """
export FORCE_TORCHRUN=1
export NPROC_PER_NODE=$DEVICES
exec llamafactory-cli train train.yaml \\
    model_name_or_path="$MODEL" output_dir="$OUTPUT" seed="$SEED" num_train_epochs="$EPOCHS" "$@"
"""
    )
    settings = f"""\
# The recipe of DriveHierarchy (Table 10). {RUN_SCRIPT} adds model, output folder, seed and epochs.
stage: sft
do_train: true
finetuning_type: lora
lora_target: all
lora_rank: {recipe.lora_rank}
lora_alpha: {recipe.lora_alpha}
freeze_vision_tower: true
freeze_multi_modal_projector: true
template: qwen3_vl_nothink
dataset_dir: .
media_dir: .
dataset: {DATASETS[0]}
eval_dataset: {DATASETS[1]}
cutoff_len: {recipe.max_length}
image_max_pixels: {recipe.max_pixels}  # {recipe.visual_tokens} tokens of 32 x 32 pixels
bf16: true
per_device_train_batch_size: {recipe.batch}
per_device_eval_batch_size: {recipe.batch}
gradient_accumulation_steps: {recipe.accumulation}
learning_rate: {recipe.learning_rate:.1e}
warmup_ratio: {recipe.warmup_ratio:g}
lr_scheduler_type: {recipe.scheduler}
eval_strategy: steps
eval_steps: {recipe.steps_between}
save_steps: {recipe.steps_between}
logging_steps: 5
"""
    return {RUN_SCRIPT: script, "train.yaml": settings}


def _trl(recipe: Recipe) -> dict[str, str]:
    script = (
        _head("TRL", recipe)
        + """
exec accelerate launch --num_processes "$DEVICES" train.py \\
    --model "$MODEL" --output "$OUTPUT" --seed "$SEED" --epochs "$EPOCHS" "$@"
"""
    )
    program = f'''\
"""LoRA fine-tuning with the recipe of DriveHierarchy (Table 10) in TRL; {RUN_SCRIPT} starts it."""

import argparse
from dataclasses import fields
from pathlib import Path

import torch
from datasets import DatasetDict, Image, Sequence, load_dataset
from peft import LoraConfig
from transformers import AutoModelForImageTextToText, AutoProcessor
from trl import SFTConfig, SFTTrainer

FOLDER = Path(__file__).resolve().parent
FROZEN = ("visual", "vision", "merger", "projector", "connector", "aligner")


def load_data() -> DatasetDict:
    files = {{"train": str(FOLDER / "{TRAIN_FILE}"), "validation": str(FOLDER / "{VALIDATION_FILE}")}}
    data = load_dataset("json", data_files=files)
    data = data.map(lambda row: {{"images": [str(FOLDER / path) for path in row["images"]]}})
    return data.cast_column("images", Sequence(Image()))


def language_layers(model: torch.nn.Module) -> list[str]:
    """Linear layers outside the vision tower and the aligner; the output layer stays as it is too."""
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear)
        and "lm_head" not in name
        and not any(part in name for part in FROZEN)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="{recipe.model}")
    parser.add_argument("--output", default=str(FOLDER / "output"))
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--epochs", type=float, default={recipe.epochs})
    parser.add_argument("--max-steps", type=int, default=-1)
    options = parser.parse_args()
    processor = AutoProcessor.from_pretrained(options.model)
    picture = processor.image_processor
    pixels_per_token = (picture.patch_size * picture.merge_size) ** 2
    picture.size = {{
        "shortest_edge": min(picture.size["shortest_edge"], {recipe.visual_tokens} * pixels_per_token),
        "longest_edge": {recipe.visual_tokens} * pixels_per_token,
    }}
    model = AutoModelForImageTextToText.from_pretrained(options.model, dtype=torch.bfloat16)
    known = {{field.name for field in fields(SFTConfig)}}
    # Newer versions of transformers take the share as a fractional number of steps.
    warmup = "warmup_ratio" if "warmup_ratio" in known else "warmup_steps"
    data = load_data()
    trainer = SFTTrainer(
        model=model,
        processing_class=processor,
        train_dataset=data["train"],
        eval_dataset=data["validation"],
        peft_config=LoraConfig(
            r={recipe.lora_rank},
            lora_alpha={recipe.lora_alpha},
            target_modules=language_layers(model),
            task_type="CAUSAL_LM",
        ),
        args=SFTConfig(
            output_dir=options.output,
            seed=options.seed,
            num_train_epochs=options.epochs,
            max_steps=options.max_steps,
            bf16=True,
            use_cpu=not torch.cuda.is_available(),  # to try a tiny model
            max_length={recipe.max_length},
            per_device_train_batch_size={recipe.batch},
            per_device_eval_batch_size={recipe.batch},
            gradient_accumulation_steps={recipe.accumulation},
            learning_rate={recipe.learning_rate:g},
            lr_scheduler_type="{recipe.scheduler}",
            eval_strategy="steps",
            eval_steps={recipe.steps_between},
            save_steps={recipe.steps_between},
            logging_steps=5,
            **{{warmup: {recipe.warmup_ratio:g}}},
        ),
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
'''
    return {RUN_SCRIPT: script, "train.py": program}


SCRIPTS: Final[Mapping[Framework, Callable[[Recipe], dict[str, str]]]] = MappingProxyType(
    {"ms-swift": _ms_swift, "llamafactory": _llamafactory, "trl": _trl}
)
"""Framework -> the files, name -> text, that train with a recipe; run `run.sh` of the export."""
