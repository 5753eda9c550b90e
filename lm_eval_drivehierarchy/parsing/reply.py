"""From the final reply to plain text: markup taken away, and declared answers found.

Every function here runs in time linear in the length of the reply.
"""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from typing import Final

# --- answers declared by markup --------------------------------------------------------------------------------------

_TAGGED = re.compile(
    r"<(?P<tag>(?:final[_ ]?)?answer|final|solution|conclusion|output|result|option|choice)>"
    r"|<\|begin_of_(?P<token>box|solution|answer)\|>"
    r"|\[(?P<square>answer)\]"
    r"|\\(?:f?boxed|fbox)\s?(?P<brace>\{)",
    re.IGNORECASE,
)


def declared_by_markup(reply: str) -> tuple[str, int] | None:
    r"""Content and end of the last answer in \boxed{}, <answer></answer> or the like; None when there is none.

    An answer tag that never ends reaches to the end of the reply: the end of the turn cut it.
    """
    last: tuple[str, int] | None = None
    position = 0
    while (tag := _TAGGED.search(reply, position)) is not None:
        start = tag.end()
        end = _closing_brace(reply, start) if tag["brace"] else _closing_tag(reply, tag)
        if end is None:
            end = len(reply)
        last = reply[start:end], end
        position = max(end, start)
    return last


def _closing_tag(reply: str, tag: re.Match[str]) -> int | None:
    if tag["tag"]:
        closing = f"</{tag['tag']}>"
    elif tag["token"]:
        closing = f"<|end_of_{tag['token']}|>"
    else:
        closing = f"[/{tag['square']}]"
    found = re.compile(re.escape(closing), re.IGNORECASE).search(reply, tag.end())
    return found.start() if found else None


def _closing_brace(reply: str, start: int) -> int | None:
    depth = 1
    for brace in re.compile(r"[{}]").finditer(reply, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    return None


# --- plain text ------------------------------------------------------------------------------------------------------

_CHARACTERS: Final = {
    "\u2212": "-", "\ufe63": "-", "\u2010": "-", "\u2011": "-", "\u2043": "-", "\u207b": "-",
    "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "「": '"', "」": '"', "『": '"', "』": '"',
    "‘": "'", "’": "'", "‚": "'", "′": "'", "″": '"', "`": "",
    "【": "[", "】": "]", "〔": "[", "〕": "]", "〈": "<", "〉": ">", "⟨": "<", "⟩": ">",
    "。": ". ", "、": ", ", "…": "...", "⋯": "...", "∼": "~", "〜": "~", "～": "~",
    "⇒": "→", "➔": "→", "➜": "→", "➡": "→", "⟶": "→", "⟹": "→", "↦": "→", "➝": "→", "⇨": "→",
    "⇐": "←", "⟵": "←", "⬅": "←",
    "㎞": "km", "㎝": "cm", "㎜": "mm", "∞": " infinity ", "✓": "", "✔": "", "✅": "", "\ufe0f": "",
}  # fmt: skip
_VULGAR_FRACTIONS: Final = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"


@functools.lru_cache(maxsize=4096)
def _plain_character(character: str) -> str:
    """ASCII stand-in of a typographic character, or the character itself."""
    if character in _CHARACTERS:
        return _CHARACTERS[character]
    if character in _VULGAR_FRACTIONS:
        return character
    category = unicodedata.category(character)
    if category in ("Cf", "Mn", "Me"):  # invisible characters, combining marks
        return ""
    if category == "Zs":
        return " "
    if category == "Nd":
        return str(unicodedata.decimal(character))
    decomposition = unicodedata.decomposition(character)
    if decomposition.startswith(("<wide>", "<font>")):
        return unicodedata.normalize("NFKC", character)
    if decomposition.startswith("<circle>") or 0x2474 <= ord(character) <= 0x249B:  # ③ Ⓑ ⒊ ⑶
        inside = unicodedata.normalize("NFKC", character).strip("().")
        return f"({inside}) " if inside.isascii() and inside.isalnum() else character
    return character


def plain_characters(text: str) -> str:
    """`text` with full-width forms, typographic quotes, dashes and digits, and invisible characters made plain.

    An en or em dash stays: between numbers it means a range. U+2212 becomes the hyphen-minus.
    """
    if text.isascii():
        return text.replace("`", "")
    text = _THIN_SPACED.sub(lambda found: _THIN_SPACE.sub("", found[0]), text)
    text = _IDEOGRAPHIC_POINT.sub(".", text)
    return _MIXED_FRACTION.sub(_as_decimal, "".join(map(_plain_character, text)))


_IDEOGRAPHIC_POINT = re.compile("(?<=[0-9０-９])。(?=[0-9０-９])")
_THIN_SPACE = re.compile("[\u00a0\u2007\u2009\u202f]")
_THIN_SPACED = re.compile("(?<![\\d.,])\\d{1,3}(?:[\u00a0\u2007\u2009\u202f]\\d{3})+(?!\\d)")
_MIXED_FRACTION = re.compile(rf"(?<![\d.,])(\d{{0,6}}) ?([{_VULGAR_FRACTIONS}])")


def _as_decimal(found: re.Match[str]) -> str:
    return f"{int(found[1] or 0) + unicodedata.numeric(found[2]):.6g}"


_FENCE = "\ue000"
"""Stands for three back quotes, so that single ones can go."""

_MARKUP: Final = tuple(
    (re.compile(pattern, flags), replacement)
    for pattern, flags, replacement in (
        # struck-out text is taken back
        (r"~~[^~\n]*~~", 0, " "),
        (r"<(del|s|strike)>[^<]*</\1>", re.I, " "),
        # code fences, headings, quotes, bullets, table bars, emphasis
        (_FENCE + r"(?:[\w+-]*(?=\n))?", 0, ""),
        (r"^ ?#{4} ?(?=[-+.\d])", re.M, "answer: "),
        (r"^ ?#{1,6} ", re.M, ""),
        (r"^ ?(?:> ?)+(?! ?[-+.=\d])", re.M, ""),
        (r"^ ?[-*+•●▪◦‣–—·] ", re.M, ""),
        (r"^ ?\| ?| ?\| ?$", re.M, ""),
        (r"([0-9]) ?(?:×|\*|\\times|\\cdot) ?10 ?\^ ?\{?([-+]?[0-9]{1,3})\}?", 0, r"\1e\2"),
        (r"\*+|__+", 0, ""),
        # LaTeX
        (r"\\(?:text|math)(?:rm|bf|it|sf|tt|normal)?\s?\{([^{}]*)\}", 0, r"\1"),
        (r"\\(?:operatorname|mbox|ensuremath)\s?\{([^{}]*)\}", 0, r"\1"),
        (r"\\[dt]?frac\s?\{([^{}]*)\}\s?\{([^{}]*)\}", 0, r"\1/\2"),
        (r"\\(?:long|Long)?(?:rightarrow|Rightarrow)\b|\\to\b|\\implies\b", 0, "→"),
        (r"\\(?:approx|sim|simeq)\b", 0, "≈"),
        (r"\\pm\b|\+/-|\+-(?=\s?\d)|\bplus(?: ?or ?| ?/ ?| ?- ?| )minus\b", re.I, "±"),
        (r"\(\+ ?(?=\d[\d.]{0,20} ?m? ?/ ?-)", 0, "(±"),
        (r"\bgive or take(?= (?:about |around )?\d)", re.I, "±"),
        (
            r"[,;(]? ?(?:(?:with|has|and) )?(?:an? )?(?:estimated )?(?:uncertainty|margin of error|error margin|"
            r"error|tolerance)"
            r"(?: of| is| ?:| ?=)?(?: (?:about|around|approximately))? ?±? ?(?=\d)",
            re.I,
            " ± ",
        ),
        (r"(?:[,;]|\bwith(?: an?)?) ?±", 0, " ±"),
        (r"\\times\b|\\cdot\b", 0, "×"),
        (r"\\leq?\b", 0, "≤"),
        (r"\\geq?\b", 0, "≥"),
        (r"\\(?:left|right|quad|qquad|displaystyle)\b|\\[,;:! ]|\{,\}(?!\d)", 0, " "),
        (r"\{,\}", 0, ","),
        (r"\\[()\[\]]|\$+", 0, ""),
        (r"\\([%#_&{}$])", 0, r"\1"),
        # model tokens and HTML
        (r"<ref>[^<]*</ref>|<\|object_ref_start\|>[^<]*<\|object_ref_end\|>", re.I, " "),
        (r"<br ?/?>|</p>|</li>|</div>|</h\d>", re.I, "\n"),
        (r"<([biu])>([^<]*)</\1>", re.I, r"\2"),
        (
            r"</?(?:em|strong|code|span|p|li|ul|ol|div|sub|sup|h\d|center|box|quad|pre|mark|small)>|</(?:answer|"
            r"final|option|choice)>",
            re.I,
            "",
        ),
        (r"<\|/?[a-z0-9_]{1,40}\|>", re.I, " "),
    )
)
_ABBREVIATIONS = re.compile(r"\b(approx|appr|ca|est|vs|etc|fig|max|min)\.", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\f\v\x1c-\x1f\x85\xa0]+")
_LINE_BREAKS = re.compile(r" ?\n[ \n]*")


def plain_text(reply: str) -> str:
    """The words of a reply: markup, LaTeX and HTML gone, one space between words, one line break between lines."""
    if "&" in reply:
        reply = html.unescape(reply)
    text = reply.replace("\u2028", "\n").replace("\u2029", "\n").replace("```", _FENCE)
    # Runs of spaces go first, so that no pattern below has to look along them.
    text = _SPACES.sub(" ", plain_characters(text))
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    text = _ABBREVIATIONS.sub(r"\1", text)
    return _LINE_BREAKS.sub("\n", _SPACES.sub(" ", text)).strip()


# --- sentences -------------------------------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"[.!?](?=[\s\"')\]]|$)|\n")


def sentences(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence of plain text; a line break ends one too. The end mark belongs to the sentence."""
    spans = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if end.end() > start:
            spans.append((start, end.end()))
        start = end.end()
    if start < len(text):
        spans.append((start, len(text)))
    return spans


def without_questions(text: str) -> str:
    """Plain text with its questions (three words and more) blanked out: what is asked is not answered."""
    if "?" not in text:
        return text
    parts = []
    for start, end in sentences(text):
        sentence = text[start:end]
        asks = sentence.rstrip().endswith("?") and len(sentence.split()) >= 3
        parts.append(" " * len(sentence) if asks else sentence)
    return "".join(parts)
