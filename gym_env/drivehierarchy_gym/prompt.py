"""The driving prompt: what the model is told besides the two pictures, and how it has to answer.

The wording is ours; the facts it states, their precision and the two lines it asks for are the release's (facts §3.8).
Anyone's own template is a text file with named placeholders.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path

from drivehierarchy_gym.action_text import ACTION_FORMAT, META_FORMAT
from drivehierarchy_gym.bridge import MAX_TARGET_SPEED
from drivehierarchy_gym.errors import DriveHierarchyError, unknown_name


class PromptError(DriveHierarchyError, ValueError):
    """A prompt template that cannot be used; the message names the file, the line and the remedy."""


_PICTURES = """\
The first picture is the view of the front camera. The second is a bird's-eye view: your car is the yellow dot in the \
middle, the way it faces is up, and the red line is your route."""
_TEMPLATE = """\
You are driving at {speed_mps:.1f} m/s and are to {command}. About {distance_to_goal_m:.1f} metres of route are left \
to the destination. The route ahead, in metres from your car as (forward_m, right_m): {route_points}.

Reach the destination as fast as you can drive safely and lawfully.
Never do this: touch a vehicle, a pedestrian or an obstacle; leave the road or the route; ignore a traffic light, a \
stop sign or somebody's right of way.
Do not wait or creep without a reason that you can see. Speed up where the way is clear. Slow down for bends, rules, \
obstacles and danger. Steer along the route points, and begin before the bend does: a negative steer value turns left, \
a positive one right.
Take into account your speed, the shape of the route, the drivable space, the vehicles and pedestrians around you, \
lights and signs, and whatever could end in a collision or off the road within the next moments.

Answer with your decision only, without any explanation, in exactly this format:
{answer_format}"""

ANSWER_FORMATS = {"text": ACTION_FORMAT, "target_speed": ACTION_FORMAT, "control": ACTION_FORMAT, "meta": META_FORMAT}
"""What `{answer_format}` stands for in each action mode."""

_SAMPLE: dict[str, object] = {
    "speed_mps": 5.0,
    "command": "follow the road",
    "distance_to_goal_m": 120.0,
    "route_points": "[(5.0, 0.1)]",
    "answer_format": ACTION_FORMAT,
    "max_speed_mps": MAX_TARGET_SPEED,
    "time_s": 1.25,
}
"""Every placeholder with a value of its kind: templates are tried on it when they are read."""
PLACEHOLDERS = tuple(_SAMPLE)


def default_template(pictures: bool) -> str:
    """The template used when no file is given, with or without a word on the two pictures."""
    introduction = f"You are driving a car. {_PICTURES}" if pictures else "You are driving a car."
    return f"{introduction}\n\n{_TEMPLATE}"


def route_points_text(points: Sequence[tuple[float, float]]) -> str:
    """Future points as the prompt shows them: `[(5.0, 0.1), …]`, metres with one decimal."""
    return "[" + ", ".join([f"({forward:.1f}, {right:.1f})" for forward, right in points]) + "]"


class PromptTemplate:
    """A checked template.

    Args:
        text: the template; `{name}` or `{name:.2f}` for each of `PLACEHOLDERS`, `{{` and `}}` for braces.
        source: what error messages call it.

    Raises:
        PromptError: unknown placeholder, unbalanced brace, or a format that does not fit the value.
    """

    def __init__(self, text: str, source: str = "prompt template") -> None:
        if not text.strip():
            raise PromptError(f"{source}: the template is empty; placeholders are {_listed()}")
        self.source = source
        self._parts = _checked_parts(text, source)

    def render(self, values: Mapping[str, object]) -> str:
        """The prompt with `values`, one for each of `PLACEHOLDERS`."""
        return "".join([part if isinstance(part, str) else part(values) for part in self._parts])


def load_template(path: str | PathLike[str] | None = None, pictures: bool = True) -> PromptTemplate:
    """Template in the UTF-8 text file `path`; ours when it is None, which tells of `pictures` where there are any.

    Raises:
        PromptError: the file cannot be read or is no template.
    """
    if path is None:
        return PromptTemplate(default_template(pictures))
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise PromptError(f"{path}: the prompt file cannot be read ({error.strerror}); check the path") from error
    except UnicodeDecodeError as error:
        raise PromptError(f"{path}: the prompt file is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    return PromptTemplate(text, str(path))


def _checked_parts(text: str, source: str) -> list[str | Callable[[Mapping[str, object]], str]]:
    parts: list[str | Callable[[Mapping[str, object]], str]] = []
    line = 1
    try:
        for literal, name, spec, conversion in string.Formatter().parse(text):
            line += literal.count("\n")
            if literal:
                parts.append(literal)
            if name is None:
                continue
            if name not in _SAMPLE:
                if not name.isidentifier():
                    raise PromptError(
                        f"{source}, line {line}: {{{name}}} is not a placeholder; placeholders are {_listed()}; "
                        "write {{ and }} for braces in the text"
                    )
                raise PromptError(f"{source}, line {line}: {unknown_name('placeholder', name, _SAMPLE)}")
            if conversion or "{" in (spec or ""):
                raise PromptError(f"{source}, line {line}: write {{{name}}} or {{{name}:.2f}}, without '!' or nesting")
            part = _field(name, spec or "")
            try:
                part(_SAMPLE)
            except ValueError as error:
                raise PromptError(
                    f"{source}, line {line}: {{{name}:{spec}}}: {error}; use a format such as {{{name}:.2f}} for "
                    "numbers and none for texts"
                ) from error
            parts.append(part)
    except PromptError:
        raise
    except ValueError as error:
        raise PromptError(f"{source}: {error}; write {{{{ and }}}} for braces in the text") from error
    return parts


def _field(name: str, spec: str) -> Callable[[Mapping[str, object]], str]:
    if not spec and isinstance(_SAMPLE[name], float):
        spec = ".1f"
    return lambda values: format(values[name], spec)


def _listed() -> str:
    return ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
