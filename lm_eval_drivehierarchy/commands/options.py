"""Options that several commands take."""

from __future__ import annotations

from drivehierarchy_gym.errors import unknown_name
from lm_eval_drivehierarchy.parsing.parsed import PARSE_RULES, ParseRule

RULE_HELP = f"Parsing rule of the scores: {' or '.join(PARSE_RULES)}."


def parse_rule(name: str) -> ParseRule:
    """The rule of that name; an unknown one suggests the nearest."""
    for rule in PARSE_RULES:
        if rule == name:
            return rule
    raise unknown_name("parsing rule", name, PARSE_RULES)
