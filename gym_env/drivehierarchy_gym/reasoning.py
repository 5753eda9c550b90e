"""From a model's raw reply to its answer: without reasoning, and without the tokens of its chat template."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = {
    "think": "think", "thinking": "think", "thought": "think", "thoughts": "think",
    "reasoning": "reasoning", "reason": "reasoning", "rationale": "reasoning",
    "analysis": "analysis", "reflection": "reflection", "scratchpad": "scratchpad",
}  # fmt: skip
"""Name in a tag -> family; a block is closed by a tag of its own family, and blocks nest."""

_NAME = "|".join(sorted(_NAMES, key=len, reverse=True))
_TAG = re.compile(
    # <|begin_of_thought|> and <|START_THINKING|>, with their ends
    r"<\|(?:(?P<begin>begin_of|start)|end_of|end)_(?P<phase>thought|thinking)\|>"
    # <think>, </thinking>, <seed:think>, <think time="3">, ◁think▷, <|think|>; of square ones only [THINK]
    rf"|[<◁]\|? ?(?P<end>/?) ?(?:[a-z0-9]{{1,20}}[:_])?(?P<name>{_NAME})(?: [a-z_]+=[^<>\n]{{0,100}})? ?\|?[>▷]"
    r"|\[(?P<square_end>/?)(?P<square>think|thinking)\]"
    # Channels: everything but the final one is reasoning.
    r"|<\|channel\|>\s*(?P<channel>[a-z]+)[^<\n]{0,100}<\|message\|>"
    r"|(?P<stripped>\bassistantfinal)",
    re.IGNORECASE,
)


def strip_reasoning(text: str) -> str | None:
    """The reply without its reasoning blocks; None when one is never closed, for then there is no answer yet.

    A closing tag without an opening one ends a block that began in the prompt: what precedes it is dropped too. In
    replies with channels only the last final message is kept. Runs in linear time.
    """
    kept: list[str] = []
    depth: dict[str, int] = {}
    position = 0
    for tag in _TAG.finditer(text):
        if not depth:
            kept.append(text[position : tag.start()])
        position = tag.end()
        if tag["stripped"] or (tag["channel"] or "").lower() == "final":
            kept.clear()
            depth.clear()
        elif tag["channel"]:
            depth["channel"] = 1
        else:
            family = _NAMES[(tag["name"] or tag["square"] or tag["phase"]).lower()]
            opens = bool(tag["begin"]) if tag["phase"] else not (tag["end"] or tag["square_end"])
            level = depth.pop(family, 0) + (1 if opens else -1)
            if level > 0:
                depth[family] = level
            elif level < 0:
                kept.clear()
    if depth:
        return None
    kept.append(text[position:])
    return "".join(kept)


_TEMPLATE_TOKEN = (
    r"<\|(?!(?:begin_of_(?:box|solution|answer)|box_start|object_ref_start|quad_start)\|>)/?[a-z0-9_-]{1,40}\|>"
    r"|<｜[^<>｜\n]{1,40}｜>"
    r"|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn|end_of_utterance)>|\[/INST\]|\[PAD\]"
)
_BEGINNING = re.compile(
    rf"\s*(?:(?:{_TEMPLATE_TOKEN})\s*(?:(?:assistant|model)\b\s*:?\s*)?)+|\s*assistant\s*?[:\n]\s*", re.IGNORECASE
)
"""Template tokens and the name of the speaker, before anything is said."""
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|im_start|eot_id|eom_id|eot|endoftext|end_of_text|end_of_turn(?:_token)?|endofturn|end|return|eos)\|>"
    r"|<｜end▁of▁sentence｜>|</s>|<(?:eos|pad|end_of_turn|end_of_utterance)>|\[PAD\]",
    re.IGNORECASE,
)


def final_reply(text: str) -> str | None:
    """What the model answered: no reasoning blocks, no template tokens before it, nothing past the end of its turn.

    None when a reasoning block never ends. Runs in linear time.
    """
    answer = strip_reasoning(text)
    if answer is None:
        return None
    beginning = _BEGINNING.match(answer)
    if beginning:
        answer = answer[beginning.end() :]
    end = _END_OF_TURN.search(answer)
    return answer[: end.start()] if end else answer
