"""Yes or no by the flexible rule: one table of replies and what a fair reader takes from each."""

from __future__ import annotations

import pytest

from lm_eval_drivehierarchy.parsing import Parsed, parse_answer

OK = [("yes", "yes"), ("no", "no"), ("Yes", "yes"), ("No", "no"), ("YES", "yes"), (" no\n", "no")]

YES = [
    "No, wait. Yes.",
    "No. Sorry! Yes.",
    "If I had to guess, yes.",
    "It's a yes from me.",
    "yes.",
    "Yes!",
    "**Yes**",
    "**Yes.**",
    "`yes`",
    '"yes"',
    "'Yes'",
    "(yes)",
    "[yes]",
    "{yes}",
    "y",
    "Y",
    "true",
    "True.",
    "yeah",
    "Yep.",
    "affirmative",
    "ｙｅｓ",
    "Ｙｅｓ。",
    "𝐘𝐞𝐬",
    "\u200byes\u200b",
    "yes<|im_end|>",
    "yes</s>",
    "\\boxed{yes}",
    "$\\boxed{\\text{Yes}}$",
    "<answer>yes</answer>",
    "<answer>Yes</answer>",
    "<think>no?</think>yes",
    "no, or is it?</think>yes",
    "Yes, there is a pedestrian.",
    "Yes, there is a pedestrian visible in CAM_FRONT.",
    "Yes - a pedestrian is crossing.",
    "Yes — one cyclist.",
    "Yes there is",
    "Yes. There is no doubt about it.",
    "Yes, but there are no traffic cones.",
    "Yes, there may be one more behind the bus.",
    "Answer: yes",
    "Answer: Yes.",
    "answer:yes",
    "A: Yes",
    "The answer is yes.",
    "The answer is: yes",
    "The answer is **yes**.",
    "Final Answer: Yes",
    "**Answer:** Yes",
    "Answer:\nYes",
    "My answer is yes because a person is standing there.",
    "There is no car on the left. Answer: yes",
    "First I thought no. Actually, yes.",
    "Answer: no. Wait, correction: yes.",
    "So the answer is yes",
    "A person stands at the kerb. So yes.",
    "A person stands at the kerb.\nYes",
    "Is there any Pedestrian visible in CAM_FRONT? Yes",
    "Is there any Pedestrian visible in CAM_FRONT?\nYes.",
    "There is a pedestrian on the left.",
    "There are several vehicles.",
    "There are 3 traffic cones in front of the ego car.",
    "There is indeed one bicycle visible.",
    "I can see a pedestrian crossing the road.",
    "A pedestrian is visible.",
    "A traffic cone can be seen on the right.",
    "The image shows a cyclist.",
    '{"answer": "yes"}',
    '{"answer": true}',
    "{'answer': True}",
    '{"exists": true}',
    '{"pedestrian_visible": true}',
    '{"reasoning": "no cars", "answer": "Yes"}',
    '```json\n{"answer": "yes"}\n```',
    '["yes"]',
    "- yes",
    "1. Yes",
    "~~No~~ Yes",
    "yes, yes, yes",
    "Yes/No: Yes",
    "There's a pedestrian.",
    '"visible": true',
    "Pedestrians: yes",
    "It appears that there is a pedestrian",
    "Answer (yes/no): yes",
    "It's a yes.",
    "yes (90%)",
    "No doubt, there is a pedestrian.",
    "答案：yes",
    "Yes\n\nYes",
]

NO = [
    "Yes, wait, no.",
    "Yes, wait. No.",
    "It's a no from me",
    "If I had to choose: no.",
    "The image does not show any cone, so the answer is no",
    "no.",
    "No!",
    "**No**",
    "n",
    "N.",
    "false",
    "nope",
    "Ｎｏ",
    "No, there is not.",
    "No, there is no pedestrian.",
    "No, I cannot see any pedestrian.",
    "No there is not",
    "No pedestrian is visible.",
    "No pedestrians are visible in CAM_FRONT.",
    "No pedestrian.",
    "None",
    "None visible.",
    "Nothing.",
    "Not visible.",
    "There is no pedestrian visible.",
    "There are no pedestrians.",
    "There isn't any pedestrian.",
    "There are not any vehicles in this image.",
    "I see no pedestrians.",
    "I don't see any pedestrian.",
    "I do not see any traffic cone.",
    "I cannot see any bicycle.",
    "The image does not contain any traffic cone.",
    "The image shows no bicycle.",
    "A bicycle is not visible.",
    "Answer: no",
    "The answer is no.",
    "The answer is: No",
    "Final answer: **no**",
    "There is a car. Answer: no",
    "First I thought yes. Actually, no.",
    "The answer is yes. Wait, the answer is no.",
    "\\boxed{no}",
    "<answer>no</answer>",
    "<think>yes</think>no",
    "<think>yes, I see one</think>\n\nThere is no pedestrian.",
    '{"answer": "no"}',
    '{"answer": false}',
    '{"present": false}',
    "Is there any Pedestrian visible in CAM_FRONT? No.",
    "That would be a no.",
    "Pedestrians: none",
    "Absolutely not",
    "I think not",
    "probably not",
    "Not that I can see",
    "I can't find any traffic cones",
    "yes/no: no",
    "no\n\nExplanation: the road is empty.",
    "The road is empty. Therefore, no.",
]

UNPARSEABLE = [
    "",
    "There is nothing that suggests yes.",
    "Nothing in the image indicates yes.",
    "There is no evidence to support a yes.",
    "...",
    "yes and no",
    "Yes and no.",
    "yes or no",
    "yes/no",
    "Yes / No",
    "no or yes",
    "either yes or no",
    "yes, no",
    "Yes. No.",
    "yes\nno",
    "Answer: yes or no",
    "Answer: yes/no",
    "Answer with only 'yes' or 'no' in lowercase. Do not output any other text.",
    "Reply with yes or no in lower case and nothing else.",
    "Is there any Pedestrian visible in CAM_FRONT?",
    "maybe",
    "Maybe yes",
    "perhaps",
    "possibly",
    "not sure",
    "not yes",
    "No way to tell",
    "Not sure.",
    "I'm not sure.",
    "I am not certain",
    "unsure",
    "unknown",
    "I don't know",
    "cannot tell",
    "I cannot determine whether there is a pedestrian.",
    "It is not possible to say yes or no.",
    "It is hard to tell if there is a pedestrian.",
    "There may be a pedestrian.",
    "There might be a pedestrian behind the truck.",
    "There could be one.",
    "There is no pedestrian but there is a cyclist.",
    "Answer: unknown",
    "Answer: not sure",
    "The answer is unclear.",
    "noon",
    "note",
    "yesterday",
    "eyes",
    "know",
    "pedestrian",
    "3",
    "B",
    "1",
    "NaN",
    "null",
    '{"answer": null}',
    '{"answer": "maybe"}',
    '{"car": true, "person": false}',
    "<think>yes",
    "<think>There is a pedestrian, so yes. The answer is yes.",
    "yes <think>",
    "[THINK]no",
    "<answer></answer>",
    "<yes or no>",
    "Answer: <yes/no>",
    "[yes/no]",
]


@pytest.mark.parametrize(("reply", "value"), OK)
def test_requested_format_is_ok(reply: str, value: str) -> None:
    assert parse_answer(reply, "yes_no") == Parsed(value, "ok")


@pytest.mark.parametrize("reply", YES)
def test_yes(reply: str) -> None:
    assert parse_answer(reply, "yes_no") == Parsed("yes", "recovered")


@pytest.mark.parametrize("reply", NO)
def test_no(reply: str) -> None:
    assert parse_answer(reply, "yes_no") == Parsed("no", "recovered")


@pytest.mark.parametrize("reply", UNPARSEABLE)
def test_unparseable(reply: str) -> None:
    assert parse_answer(reply, "yes_no") == Parsed(None, "unparseable")


NOTHING_SEEN = [
    "There is no image attached.",
    "Unfortunately, no image was provided.",
    "No image was provided, so I can't answer.",
    "No pictures were included with your question, please upload them.",
    "No photo attached",
    "No visible image.",
    "No visual content was included.",
    "No file was uploaded.",
    "No, I cannot see any image.",
    "No, because no image was given.",
    "I see no picture in your message.",
    "I don't see anything attached.",
    "I did not find any attachment.",
    "I was not given any picture.",
    "I have no access to images, so no answer is possible.",
    "I'm sorry, there doesn't seem to be an image.",
    "There isn't any image here.",
    "There was no input image.",
    "The image isn't visible to me.",
    "The photo was not attached.",
    "Nothing was uploaded.",
    "Answer: no image",
]

CANNOT_TELL = [
    "There is not enough information.",
    "There is not enough light to be sure.",
    "There isn't enough detail.",
    "The image does not contain enough information.",
    "The image does not contain any information about bicycles.",
    "There is no way to tell from this image.",
    "There's no reliable way of knowing.",
    "No clear answer.",
    "No comment.",
    "No content.",
    "No response.",
    "No conclusion can be drawn from this view.",
    "There is no clear view of the road.",
    "Nothing can be determined.",
    "I can't see clearly.",
    "I can't find a bicycle, the scene is too dark.",
    "Answer: not enough information",
]

NO_SCENE_THOUGH_A_PICTURE_IS_NAMED = [
    "No image shows a bicycle.",
    "No images contain any pedestrian.",
    "None of the images shows a bicycle.",
    "There is no bicycle in the attached image.",
    "No bicycle in image.",
    "No bicycles are visible in the provided picture.",
    "No, there is no bicycle in the image that was provided.",
    "I do not see a bicycle in the attached image.",
    "I cannot see any bicycle in the image provided.",
    "I can't find a pedestrian in this picture.",
    "A bicycle in the image is not visible.",
    "In the image there is not a bicycle visible.",
    "The front camera image shows no cones.",
    "The image does not display any traffic cones.",
    "The images provided do not contain any bicycles.",
    "No pedestrian was included in this view.",
    "There is no access to the road, and no pedestrian.",
    "There is no evidence of a bicycle.",
    "No sign of a bicycle.",
    "No. The image is clear and shows only cars.",
    "Answer: no. No image was attached.",
]


@pytest.mark.parametrize("reply", [*NOTHING_SEEN, *CANNOT_TELL])
def test_a_model_that_has_seen_nothing_does_not_say_no(reply: str) -> None:
    assert parse_answer(reply, "yes_no") == Parsed(None, "unparseable")


@pytest.mark.parametrize("reply", NO_SCENE_THOUGH_A_PICTURE_IS_NAMED)
def test_no_about_the_scene_stays_no(reply: str) -> None:
    assert parse_answer(reply, "yes_no") == Parsed("no", "recovered")


@pytest.mark.parametrize(
    "reply",
    [
        "Yes, there is a bicycle, although there is not enough light to see its color.",
        "Yes. The image is too dark to see more.",
        "Yes, but no image of the rear was provided.",
    ],
)
def test_yes_with_a_poor_picture_stays_yes(reply: str) -> None:
    assert parse_answer(reply, "yes_no") == Parsed("yes", "recovered")


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("The word 'no' appears on a sign.", None),
        ('The text "yes" is painted on the road.', None),
        ('A sign says "No".', None),
        ("A no-entry sign is visible.", None),
        ("No parking sign.", None),
        ("My answer is 'no'.", "no"),
        ("The answer is the word 'no'.", "no"),
        ("No. A sign is visible.", "no"),
        ("No, only a no-entry sign is visible.", "no"),
        ("Yes, next to the no parking sign.", "yes"),
    ],
)
def test_a_word_on_a_sign_is_no_answer(reply: str, value: str | None) -> None:
    assert parse_answer(reply, "yes_no").value == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("The image shows a motorcycle, not a bicycle.", None),
        ("I see a motorcycle, but not a bicycle.", None),
        ("I see a motorcycle rather than a bicycle.", None),
        ("There is a van instead of a bicycle.", None),
        ("The image shows a motorcycle. It is not a bicycle.", None),
        ("The image shows cars and pedestrians only.", None),
        ("The image only shows a car.", None),
        ("There is a bicycle and nothing else.", None),
        ("Only cars are visible.", None),
        ("No, it's a motorcycle rather than a bicycle.", "no"),
        ("No, the image only shows a car.", "no"),
        ("Yes, it's a bicycle rather than a motorcycle.", "yes"),
        ("There is a person standing, not walking.", "yes"),
        ("There is a pedestrian walking instead of standing.", "yes"),
        ("There is a pedestrian, not far from the bus.", "yes"),
        ("There are several vehicles, not just cars.", "yes"),
        ("There are pedestrians, not one but two.", "yes"),
        ("I can see a pedestrian, only partially visible.", "yes"),
        ("There is a pedestrian on the left only.", "yes"),
        ("Only one pedestrian is visible.", "yes"),
    ],
)
def test_what_is_there_instead_or_alone_answers_nothing(reply: str, value: str | None) -> None:
    assert parse_answer(reply, "yes_no").value == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Wait, no. Yes.", None),
        ("Hmm, wait, yes. No.", None),
        ("No, that's not right; there is a bicycle.", None),
        ("No, that is wrong. There is a bicycle.", None),
        ("No, this isn't correct.", None),
        ("Wait, no.", "no"),
        ("First I said yes. Wait, no.", "no"),
        ("Wait, yes. A bicycle is there.", "yes"),
        ("Actually, yes. There is no truck.", "yes"),
        ("No, that's just a motorcycle.", "no"),
        ("Yes, that's correct.", "yes"),
    ],
)
def test_a_no_to_what_was_said_before_is_no_answer(reply: str, value: str | None) -> None:
    assert parse_answer(reply, "yes_no").value == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("I see zero bicycles.", "no"),
        ("The view contains 0 bicycles.", "no"),
        ("答案：是", "yes"),
        ("答案：没有", "no"),
        ("Answer: y", "yes"),
    ],
)
def test_words_that_answer_behind_an_announcement_or_a_verb(reply: str, value: str) -> None:
    assert parse_answer(reply, "yes_no") == Parsed(value, "recovered")
