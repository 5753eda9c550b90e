"""A real `hf-multimodal` run: a tiny LLaVA with random weights, built here, answers items with several images."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from drivehierarchy_data.editions import Edition
from lm_eval_drivehierarchy.harness import HarnessError
from tests.lm_eval.test_harness import FOLDER

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")), reason="needs the hf extra"
    ),
]


@pytest.fixture(scope="module")
def tiny_llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LLaVA with two layers of each kind, 28-pixel images, a byte tokenizer and a chat template with images."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
        PreTrainedTokenizerFast,
    )

    folder = tmp_path_factory.mktemp("llava")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<pad>", "<s>", "</s>", "<image>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(["How many vehicles are there?"], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>", extra_special_tokens={}
    )
    template = (
        "{% for message in messages %}{{ message['role'] }}: {% for part in message['content'] %}"
        "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}\n{% endfor %}"
    )
    processor = LlavaProcessor(
        CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}),
        fast,
        patch_size=14,
        vision_feature_select_strategy="default",
        chat_template=template,
        num_additional_image_tokens=1,
    )
    processor.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(
            hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
            image_size=28, patch_size=14,
        ),
        text_config=LlamaConfig(
            vocab_size=tokenizer.get_vocab_size(), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=4096,
        ),
        image_token_index=tokenizer.token_to_id("<image>"),
        vision_feature_select_strategy="default",
        vision_feature_layer=-2,
    )  # fmt: skip
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    return folder


def evaluate(model: Path, edition: Edition, tasks: list[str], interleave: bool, **arguments: Any) -> dict[str, Any]:
    import lm_eval
    from lm_eval.tasks import TaskManager

    model_arguments = {"pretrained": str(model), "dtype": "float32", "interleave": interleave, **arguments}
    metadata = model_arguments | {"edition": str(edition.folder)}
    found = lm_eval.simple_evaluate(
        model="hf-multimodal",
        model_args=model_arguments,
        tasks=tasks,
        task_manager=TaskManager(include_path=str(FOLDER), include_defaults=False, metadata=metadata),
        device="cpu",
        batch_size=1,
        limit=2,
        gen_kwargs={"max_gen_toks": 8},
        apply_chat_template=True,
        fewshot_as_multiturn=True,
        log_samples=True,
        bootstrap_iters=0,
    )
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("interleave", [True, False])
def test_items_with_several_images_are_answered(tiny_llava: Path, edition: Edition, interleave: bool) -> None:
    tasks = ["drivehierarchy_r2_1", "drivehierarchy_r3_2"]
    found = evaluate(tiny_llava, edition, tasks, interleave)
    for task in tasks:
        result = found["results"][task]
        assert result["parse_fail,official"] + result["strict,official"] <= 1.0
        samples = found["samples"][task]
        assert len(samples) == 4  # two items, two rules
        prompt = samples[0]["arguments"][0][0]
        assert prompt.count("<image>") == len(samples[0]["doc"]["views"])
        assert samples[0]["resps"][0][0]
    ordering = found["samples"]["drivehierarchy_r3_2"][0]["arguments"][0][0]
    assert ("Image A\n<image>" in ordering) == interleave


def test_dropping_images_is_refused(tiny_llava: Path, edition: Edition) -> None:
    with pytest.raises(HarnessError, match="task r2_1 shows up to 6 images, but this model class passes on 3"):
        evaluate(tiny_llava, edition, ["drivehierarchy_r2_1"], True, max_images=3)
