"""The judge: the published input format, best of the references, a cache, and a reason wherever it cannot be used."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lm_eval_drivehierarchy import judge
from lm_eval_drivehierarchy.judge import (
    JudgeQuestion,
    LingoJudge,
    NoJudge,
    find_judge,
    lexical_overlap,
)

needs_torch = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")), reason="needs the hf extra"
)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    judge._load.cache_clear()
    yield
    judge._load.cache_clear()


@pytest.fixture(scope="module")
def tiny_judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DeBERTa-v2 classifier with one output, random weights and a byte tokenizer."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("judge")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(["Question: Answer: Student: I am waiting at the light."], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    names = {f"{name.strip('[]').lower()}_token": name for name in special}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    torch.manual_seed(5)
    config = DebertaV2Config(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=512, num_labels=1, pad_token_id=0,
        initializer_range=0.6,
    )  # fmt: skip
    DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    return folder


def expected(folder: Path, text: str, max_tokens: int) -> float:
    """What the model says to one text, asked directly."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    encoded = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt", truncation=True, max_length=max_tokens)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return float(torch.sigmoid(model(**encoded).logits[0, 0]))


QUESTION = JudgeQuestion("What are you Doing?", ("I am Waiting.",), " WAITING at the light ")


@needs_torch
@pytest.mark.torch
class TestLingoJudge:
    """With a tiny model of the judge's architecture."""

    @pytest.fixture
    def loaded(self, tiny_judge: Path, tmp_path: Path) -> LingoJudge:
        return LingoJudge(str(tiny_judge), device="cpu", batch_size=2, cache=tmp_path / "judge.sqlite")

    def test_the_benchmarks_script_lowers_reference_and_reply_only(self, loaded: LingoJudge, tiny_judge: Path) -> None:
        text = "[CLS]\nQuestion: What are you Doing?\nAnswer: i am waiting.\nStudent: waiting at the light"
        (found,) = loaded.probabilities([QUESTION], "flexible")
        assert found == pytest.approx(expected(tiny_judge, text, 128), abs=1e-5)

    def test_the_release_lowers_nothing(self, loaded: LingoJudge, tiny_judge: Path) -> None:
        text = "[CLS]\nQuestion: What are you Doing?\nAnswer: I am Waiting.\nStudent:  WAITING at the light "
        (found,) = loaded.probabilities([QUESTION], "official")
        assert found == pytest.approx(expected(tiny_judge, text, 512), abs=1e-5)
        assert found != pytest.approx(loaded.probabilities([QUESTION], "flexible")[0], abs=1e-4)

    def test_long_replies_are_cut_as_published(self, loaded: LingoJudge) -> None:
        cut = [JudgeQuestion("q", ("a",), "z" * 200 + end) for end in ("x", "y")]
        first, second = loaded.probabilities(cut, "flexible")
        assert first == second
        first, second = loaded.probabilities(cut, "official")
        assert first != second

    def test_the_best_reference_counts_whatever_the_batches(self, loaded: LingoJudge) -> None:
        references = tuple(f"I am {word}." for word in ("waiting", "turning", "stopping", "driving", "parking"))
        one_by_one = [loaded.probabilities([JudgeQuestion("q", (r,), "I wait.")], "flexible")[0] for r in references]
        together = loaded.probabilities([JudgeQuestion("q", references, "I wait.")], "flexible")
        assert together == [pytest.approx(max(one_by_one), abs=1e-6)]
        assert max(one_by_one) - min(one_by_one) > 1e-4

    def test_a_text_is_judged_once(self, loaded: LingoJudge, tiny_judge: Path, tmp_path: Path) -> None:
        before = loaded.probabilities([QUESTION, QUESTION], "flexible")
        again = LingoJudge(str(tiny_judge), device="cpu", cache=tmp_path / "judge.sqlite")

        def fail(*_: Any) -> Any:
            raise AssertionError("judged again")

        again._judge = fail  # type: ignore[method-assign]
        assert again.probabilities([QUESTION, QUESTION], "flexible") == before

    def test_the_cache_knows_judges_apart(self, loaded: LingoJudge, tiny_judge: Path, tmp_path: Path) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        model = AutoModelForSequenceClassification.from_pretrained(tiny_judge)
        with torch.no_grad():
            model.classifier.bias += 1.0
        other = tmp_path / "other"
        model.save_pretrained(other)
        AutoTokenizer.from_pretrained(tiny_judge).save_pretrained(other)
        (before,) = loaded.probabilities([QUESTION], "flexible")
        (after,) = LingoJudge(str(other), device="cpu", cache=tmp_path / "judge.sqlite").probabilities(
            [QUESTION], "flexible"
        )
        assert after > before

    def test_found_by_environment_variable_and_loaded_once(
        self, tiny_judge: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(judge.JUDGE_VARIABLE, str(tiny_judge))
        found = find_judge()
        assert isinstance(found, LingoJudge)
        assert find_judge() is found

    def test_a_classifier_with_two_outputs_is_no_lingo_judge(
        self, tiny_judge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        model = AutoModelForSequenceClassification.from_pretrained(
            tiny_judge, num_labels=2, ignore_mismatched_sizes=True
        )
        model.save_pretrained(tmp_path)
        AutoTokenizer.from_pretrained(tiny_judge).save_pretrained(tmp_path)
        found = find_judge(str(tmp_path))
        assert isinstance(found, NoJudge)
        assert "has 2 outputs; Lingo-Judge has one" in found.reason

    def test_a_folder_without_a_model_gives_the_reason(self, tmp_path: Path) -> None:
        found = find_judge(str(tmp_path))
        assert isinstance(found, NoJudge)
        assert f"judge '{tmp_path}' cannot be loaded" in found.reason
        assert judge.JUDGE_VARIABLE in found.reason


class TestWithout:
    """No judge, no score."""

    def test_switched_off(self) -> None:
        assert find_judge() == NoJudge("the judge is switched off (DRIVEHIERARCHY_JUDGE=off)")

    def test_without_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(judge.JUDGE_VARIABLE)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        found = find_judge()
        assert isinstance(found, NoJudge)
        assert "needs torch and transformers: pip install 'lm-eval-drivehierarchy[hf]'" in found.reason

    def test_a_folder_that_is_not_there_is_named_before_anything_is_asked_to_be_installed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        for path in ("/nowhere/judge", "./judge"):
            found = find_judge(path)
            assert isinstance(found, NoJudge)
            assert found.reason == (
                f"judge {path!r} is not a folder; set DRIVEHIERARCHY_JUDGE to that of the judge, or to its name"
            )


class TestLexicalOverlap:
    """The diagnostic sees words only."""

    @pytest.mark.parametrize(
        ("reply", "references", "overlap"),
        [
            ("The light is red.", ["the light is red"], 100.0),
            ("green", ["the light is red"], 0.0),
            ("the light", ["the light is red"], 100 * 2 * 2 / 6),
            ("the the the", ["the light"], 100 * 2 * 1 / 5),
            ("a cyclist", ["red light", "a cyclist ahead"], 80.0),
            ("", ["red"], 0.0),
            ("...", ["!"], 0.0),
            ("red", [], 0.0),
        ],
    )
    def test_f1_of_words(self, reply: str, references: list[str], overlap: float) -> None:
        assert lexical_overlap(reply, references) == pytest.approx(overlap)
