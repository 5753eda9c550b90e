"""Boxes by the flexible rule: one table of replies and the box that a fair reader takes from each."""

from __future__ import annotations

import pytest

from lm_eval_drivehierarchy.parsing import Parsed, parse_answer

BOX = [264.0, 709.0, 525.0, 1469.0]
SIZE = (2704, 1520)

OK = ["[264, 709, 525, 1469]", "[264,709,525,1469]", "[ 264 , 709 , 525 , 1469 ]", " [264.0, 709.0, 525.0, 1469.0]\n"]

RECOVERED = [
    "264, 709, 525, 1469",
    "264 709 525 1469",
    "264,709,525,1469",
    "264; 709; 525; 1469",
    "(264, 709, 525, 1469)",
    "[264 709 525 1469]",
    "[264; 709; 525; 1469]",
    "[264, 709, 525, 1469].",
    "[264,\n709,\n525,\n1469]",
    "[264px, 709px, 525px, 1469px]",
    "[264 px, 709 px, 525 px, 1469 px]",
    "［264，709，525，1469］",
    "[２６４, ７０９, ５２５, １４６９]",
    "[264, 709, 525, 1,469]",
    "**[264, 709, 525, 1469]**",
    "`[264, 709, 525, 1469]`",
    "```json\n[264, 709, 525, 1469]\n```",
    "```\n[264, 709, 525, 1469]\n```",
    "$[264, 709, 525, 1469]$",
    "\\boxed{[264, 709, 525, 1469]}",
    "\\[264, 709, 525, 1469\\]",
    "<answer>[264, 709, 525, 1469]</answer>",
    "<box>[[264, 709, 525, 1469]]</box>",
    "<ref>the man 2</ref><box>[[264, 709, 525, 1469]]</box>",
    "<|box_start|>(264,709),(525,1469)<|box_end|>",
    "<|object_ref_start|>the man<|object_ref_end|><|box_start|>(264,709),(525,1469)<|box_end|><|im_end|>",
    "<box>(264,709),(525,1469)</box>",
    "<|begin_of_box|>[264, 709, 525, 1469]<|end_of_box|>",
    "(264, 709), (525, 1469)",
    "(264, 709) to (525, 1469)",
    "(264, 709) and (525, 1469)",
    "(264, 709) - (525, 1469)",
    "(264, 709) → (525, 1469)",
    "from (264, 709) to (525, 1469)",
    "top-left (264, 709), bottom-right (525, 1469)",
    "[264, 709], [525, 1469]",
    "[[264, 709], [525, 1469]]",
    "[[264, 709, 525, 1469]]",
    "[[[264, 709, 525, 1469]]]",
    "[264, 709, 525, 1469], [264, 709, 525, 1469]",
    "The bounding box is [264, 709, 525, 1469].",
    "The man is at [264, 709, 525, 1469] in the image.",
    "The man in blue is on the left: [264, 709, 525, 1469]",
    "Bounding box: [264, 709, 525, 1469]",
    "bbox = [264, 709, 525, 1469]",
    "bbox_2d: [264, 709, 525, 1469]",
    "bbox_2d = 264, 709, 525, 1469",
    "[xmin, ymin, xmax, ymax] = [264, 709, 525, 1469]",
    "[x1, y1, x2, y2]: [264, 709, 525, 1469]",
    "Answer: [264, 709, 525, 1469]",
    "Answer:\n[264, 709, 525, 1469]",
    "The answer is [264, 709, 525, 1469].",
    "The image is 2704x1520. The box is [264, 709, 525, 1469].",
    "In the 2704x1520 image: [264, 709, 525, 1469]",
    "First [0, 0, 10, 10]. Answer: [264, 709, 525, 1469]",
    "[0, 0, 10, 10]? Actually, [264, 709, 525, 1469]",
    "The car is at [0, 0, 10, 10]. Therefore the man is at [264, 709, 525, 1469].",
    "x1=264, y1=709, x2=525, y2=1469",
    "x1: 264, y1: 709, x2: 525, y2: 1469",
    "x1: 264\ny1: 709\nx2: 525\ny2: 1469",
    "xmin=264, ymin=709, xmax=525, ymax=1469",
    "x_min = 264, y_min = 709, x_max = 525, y_max = 1469",
    "xmin: 264, xmax: 525, ymin: 709, ymax: 1469",
    "[x1=264, y1=709, x2=525, y2=1469]",
    "[xmin: 264, ymin: 709, xmax: 525, ymax: 1469]",
    "left: 264, top: 709, right: 525, bottom: 1469",
    "y1=709, x1=264, y2=1469, x2=525",
    "x: 264, y: 709, width: 261, height: 760",
    "[x, y, w, h] = [264, 709, 261, 760]",
    "[264, 709, 261, 760] (xywh)",
    '{"top_left": [264, 709], "bottom_right": [525, 1469]}',
    "bounding_box: 264,709,525,1469",
    "Top-left: (264, 709); bottom-right: (525, 1469)",
    "top left corner at (264,709) and bottom right corner at (525,1469)",
    "<bbox>264,709,525,1469</bbox>",
    "{264, 709, 525, 1469}",
    "264,709,525,1469 (x1,y1,x2,y2)",
    "(x1, y1, x2, y2) = (264, 709, 525, 1469)",
    "[ymin, xmin, ymax, xmax] = [709, 264, 1469, 525]",
    "bbox: {x1: 264, y1: 709, x2: 525, y2: 1469}",
    "[264, 709, 525, 1469] with confidence 0.9",
    '{"bbox": [264, 709, 525, 1469]}',
    '{"bbox": [264, 709, 525, 1469], "format": "xyxy"}',
    '{"bbox": [264, 709, 261, 760], "format": "xywh"}',
    '{"bbox_2d": [264, 709, 525, 1469]}',
    '{"bbox_2d": [264, 709, 525, 1469], "label": "man 1"}',
    '[{"bbox_2d": [264, 709, 525, 1469], "label": "man"}]',
    '```json\n[\n\t{"bbox_2d": [264, 709, 525, 1469], "label": "man"}\n]\n```',
    "{'bbox_2d': [264, 709, 525, 1469], 'label': 'man'}",
    '{"bounding_box": [264, 709, 525, 1469]}',
    '{"box": {"x1": 264, "y1": 709, "x2": 525, "y2": 1469}}',
    '{"x1": 264, "y1": 709, "x2": 525, "y2": 1469}',
    '{"xmin": 264, "ymin": 709, "xmax": 525, "ymax": 1469}',
    '{"left": 264, "top": 709, "right": 525, "bottom": 1469}',
    '{"x": 264, "y": 709, "width": 261, "height": 760}',
    '{"x": 264, "y": 709, "w": 261, "h": 760}',
    '{"answer": [264, 709, 525, 1469]}',
    '{"answer": "[264, 709, 525, 1469]"}',
    '{"reasoning": "a man at 10, 20, 30, 40", "answer": [264, 709, 525, 1469]}',
    '{"bbox": ["264", "709", "525", "1469"]}',
    '{"bbox": [264, 709, 525, 1469]',
    '"[264, 709, 525, 1469]"',
    'Here is the box: {"bbox_2d": [264, 709, 525, 1469]}',
    "<think>[0, 0, 10, 10]</think>[264, 709, 525, 1469]",
    "[0, 0, 10, 10]</think>[264, 709, 525, 1469]",
    "[525, 709, 264, 1469]",
    "[525, 1469, 264, 709]",
]

UNPARSEABLE = [
    "",
    "[]",
    "[x1, y1, x2, y2]",
    "[xmin, ymin, xmax, ymax]",
    "Output only the bounding box as [x1, y1, x2, y2] in pixels with no extra text.",
    "Reply with the bounding box in pixels as [x1, y1, x2, y2] and nothing else.",
    "[..., ..., ..., ...]",
    "[264, 709, 525, ...]",
    "[NaN, NaN, NaN, NaN]",
    "[264, 709, NaN, 1469]",
    "[264, 709, 525, Infinity]",
    "[264, 709, 525, 1e999]",
    "[264, 709, 525]",
    "[264, 709]",
    "(264, 709)",
    "264",
    "264, 709, 525",
    "264, 709, 525, 1469, 10",
    "[264, 709, 525, 1469, 10]",
    "[1, 2, 3, 4, 5, 6, 7, 8]",
    "[[1, 2], [3, 4], [5, 6], [7, 8]]",
    "(1, 2), (3, 4), (5, 6), (7, 8)",
    "[0, 0, 10, 10] or [264, 709, 525, 1469]",
    "[0, 0, 10, 10], [264, 709, 525, 1469]",
    "[[0, 0, 10, 10], [264, 709, 525, 1469]]",
    '[{"bbox_2d": [0, 0, 10, 10]}, {"bbox_2d": [264, 709, 525, 1469]}]',
    '{"bbox_2d": null}',
    '{"bbox_2d": []}',
    '{"bbox_2d": [1, 2]}',
    '{"label": "man 1 2 3 4"}',
    "bbox_2d",
    "<loc0123><loc0456><loc0789><loc1000>",
    "The man is on the left.",
    "I cannot find the object.",
    "Image resolution: 2704x1520",
    "2704x1520",
    "There are 2 men at 3 places with 4 cars and 5 trees.",
    "1. man 2. car 3. tree 4. bus",
    "[264, 709, 525, 1469, 0.95]",
    "Person: [264, 709, 525, 1469]\nCar: [0, 0, 10, 10]",
    "center (394, 1089), width 261, height 760",
    "x1=264, y1=709",
    "264-525, 709-1469",
    "[264-525, 709-1469]",
    "<think>[264, 709, 525, 1469]",
    "[264, 709, 525, 1469] <think>",
    "<answer></answer>",
]


@pytest.mark.parametrize("reply", OK)
def test_requested_format_is_ok(reply: str) -> None:
    assert parse_answer(reply, "box", image_size=SIZE) == Parsed(BOX, "ok")


@pytest.mark.parametrize("reply", RECOVERED)
def test_recovered(reply: str) -> None:
    parsed = parse_answer(reply, "box", image_size=SIZE)
    assert parsed.value == BOX
    # Corners in the wrong order are sorted, in whatever format they come.
    assert parsed.status == ("ok" if reply.startswith("[525, ") else "recovered")


@pytest.mark.parametrize("reply", UNPARSEABLE)
def test_unparseable(reply: str) -> None:
    assert parse_answer(reply, "box", image_size=SIZE) == Parsed(None, "unparseable")


@pytest.mark.parametrize(
    ("reply", "box"),
    [
        ("[0.1, 0.2, 0.3, 0.4]", [0.1, 0.2, 0.3, 0.4]),
        ("[100, 200, 300, 400]", [100.0, 200.0, 300.0, 400.0]),
        ("[-5, 0, 3000, 400]", [-5.0, 0.0, 3000.0, 400.0]),
        ("[\u22125, 0, 10, 10]", [-5.0, 0.0, 10.0, 10.0]),
        ("[10%, 20%, 30%, 40%]", [270.4, 304.0, 811.2, 608.0]),
        ("[5, 5, 5, 5]", [5.0, 5.0, 5.0, 5.0]),
    ],
)
def test_a_convention_is_never_guessed(reply: str, box: list[float]) -> None:
    assert parse_answer(reply, "box", image_size=SIZE).value == pytest.approx(box)


def test_per_cent_needs_the_image_size() -> None:
    assert parse_answer("[10%, 20%, 30%, 40%]", "box").status == "unparseable"
