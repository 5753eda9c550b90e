"""Lingo-Judge: the learned classifier that says whether a sentence answers a question as a reference does (r1_4).

The model is `wayveai/Lingo-Judge` on the Hugging Face Hub or a folder with such a model; neither it nor PyTorch is
part of this package. Where it cannot be used, `find_judge` returns the reason instead, and nothing takes its place:
the lexical overlap of this module is a diagnostic with a name of its own.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from drivehierarchy_gym.road.cache import cache_folder

JUDGE_VARIABLE = "DRIVEHIERARCHY_JUDGE"
"""Environment variable: Hub name or folder of the judge, or `off`."""

DEFAULT_JUDGE = "wayveai/Lingo-Judge"
MAX_TOKENS = {"flexible": 128, "official": 512}
"""Rule -> where a text is cut: the benchmark's script at 128 tokens, the release only where the model itself ends."""

JudgeRule = Literal["official", "flexible"]


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """One reply to be judged. `references` are the correct answers; the one that the reply fits best counts."""

    question: str
    references: tuple[str, ...]
    reply: str


@dataclass(frozen=True, slots=True)
class NoJudge:
    """Why there is no judge, as a sentence with its remedy."""

    reason: str


class LingoJudge:
    """A loaded judge with a cache on disk, so that a text is judged once per model.

    `probabilities` follows two published uses of the model. Rule `flexible` is the benchmark's own script: reference
    and reply lower-cased and stripped, best of the references, cut at 128 tokens. Rule `official` is the release's
    scorer, which neither lower-cases nor cuts at 128. Both put `[CLS]` into the text and let the tokenizer add its own
    besides.
    """

    def __init__(
        self, name: str, *, device: str | None = None, batch_size: int = 32, cache: Path | None = None
    ) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        self.name = name
        self._torch = torch
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._tokenizer = AutoTokenizer.from_pretrained(name)
        self._model = AutoModelForSequenceClassification.from_pretrained(name).to(self._device).eval()
        if self._model.config.num_labels != 1:
            raise ValueError(f"{name} has {self._model.config.num_labels} outputs; Lingo-Judge has one")
        self._batch_size = batch_size
        self._cache = _Cache(cache or cache_folder() / "judge.sqlite", _fingerprint(name, self._model))

    def probabilities(self, questions: Sequence[JudgeQuestion], rule: JudgeRule) -> list[float]:
        """Probability that each reply is correct: sigmoid of the judge's logit, the best over the references."""
        texts = [[self._text(q, reference, rule) for reference in q.references] for q in questions]
        known = self._cache.get(rule, {text for group in texts for text in group})
        missing = sorted({text for group in texts for text in group} - known.keys(), key=len)
        for start in range(0, len(missing), self._batch_size):
            batch = missing[start : start + self._batch_size]
            judged = dict(zip(batch, self._judge(batch, MAX_TOKENS[rule]), strict=True))
            self._cache.put(rule, judged)
            known |= judged
        return [max(known[text] for text in group) for group in texts]

    def _text(self, question: JudgeQuestion, reference: str, rule: JudgeRule) -> str:
        reply = question.reply
        if rule == "flexible":
            reference, reply = reference.lower().strip(), reply.lower().strip()
        token = self._tokenizer.cls_token
        return f"{token}\nQuestion: {question.question}\nAnswer: {reference}\nStudent: {reply}"

    def _judge(self, texts: list[str], max_tokens: int) -> list[float]:
        encoded = self._tokenizer(texts, return_tensors="pt", padding=True, truncation=True, max_length=max_tokens)
        with self._torch.inference_mode():
            logits = self._model(**encoded.to(self._device)).logits.squeeze(-1)
        return [float(p) for p in self._torch.sigmoid(logits.float()).cpu()]


def find_judge(name: str | None = None) -> LingoJudge | NoJudge:
    """The judge called `name` (default: the environment variable DRIVEHIERARCHY_JUDGE, else wayveai/Lingo-Judge),
    loaded once per process; or the reason why it cannot be used."""
    return _load(name or os.environ.get(JUDGE_VARIABLE) or DEFAULT_JUDGE)


@lru_cache(maxsize=2)
def _load(name: str) -> LingoJudge | NoJudge:
    if name == "off":
        return NoJudge(f"the judge is switched off ({JUDGE_VARIABLE}=off)")
    if name.startswith(("/", ".")) and not Path(name).is_dir():
        return NoJudge(f"judge {name!r} is not a folder; set {JUDGE_VARIABLE} to that of the judge, or to its name")
    missing = [package for package in ("torch", "transformers") if importlib.util.find_spec(package) is None]
    if missing:
        return NoJudge(
            f"Lingo-Judge needs {' and '.join(missing)}: pip install 'lm-eval-drivehierarchy[hf]', then score again"
        )
    try:
        return LingoJudge(name)
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        detail = " ".join(str(error).split())[:300]
        return NoJudge(f"judge {name!r} cannot be loaded ({detail}); set {JUDGE_VARIABLE} to its name or folder")


def _fingerprint(name: str, model: Any) -> str:
    """Identifies the weights: a cache entry is valid for one judge only."""
    digest = hashlib.sha256(name.encode())
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(f"{key}{tuple(tensor.shape)}{float(tensor.float().sum()):.9g}".encode())
    return digest.hexdigest()[:16]


class _Cache:
    """Text -> probability on disk. Safe for several processes; what a killed one has not stored is judged again."""

    def __init__(self, path: Path, model: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=60, check_same_thread=False)
        self._connection.execute("CREATE TABLE IF NOT EXISTS judged (key TEXT PRIMARY KEY, probability REAL NOT NULL)")
        self._model = model
        self._lock = threading.Lock()

    def _key(self, rule: str, text: str) -> str:
        return hashlib.sha256(f"{self._model}\n{rule}\n{text}".encode()).hexdigest()

    def get(self, rule: str, texts: set[str]) -> dict[str, float]:
        found = {}
        with self._lock:
            for text in texts:
                query = "SELECT probability FROM judged WHERE key = ?"
                if (row := self._connection.execute(query, (self._key(rule, text),)).fetchone()) is not None:
                    found[text] = float(row[0])
        return found

    def put(self, rule: str, judged: dict[str, float]) -> None:
        rows = [(self._key(rule, text), probability) for text, probability in judged.items()]
        with self._lock, self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO judged VALUES (?, ?)", rows)


def lexical_overlap(reply: str, references: Sequence[str]) -> float:
    """F1 of the words of a reply and of a reference, times 100, the best over the references.

    A diagnostic that needs no model: it sees words, not meaning, and is never a score of the benchmark.
    """
    return max((_word_f1(_words(reply), _words(reference)) for reference in references), default=0.0)


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def _word_f1(reply: Counter[str], reference: Counter[str]) -> float:
    common = sum((reply & reference).values())
    total = sum(reply.values()) + sum(reference.values())
    return 200.0 * common / total if total else 0.0
