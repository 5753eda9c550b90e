"""What must be said beside the numbers, each sentence once; the report shows a caveat where it applies."""

from __future__ import annotations

from typing import Final

OPEN_SCORE: Final = (
    "S_open is one number for fourteen abilities. Its weights are a modelling choice: they come from one pool of 15 "
    "models, negative correlations were clipped to zero, and the budgets .3/.3/.4 were set by hand. Models with close "
    "totals can have opposite profiles, so read the tasks first."
)
POOL_WEIGHTS: Final = (
    "These weights are a modelling choice, not a property of driving: they come from one pool of {models}, negative "
    "correlations were clipped to zero, and the budgets {budgets} were set by hand. S_open keeps its frozen weights, "
    "whatever this pool gives. Models with close totals can have opposite profiles, so read the tasks first."
)
SMALL_POOL: Final = (
    "{models} are too few to calibrate with: among so few, a rank correlation is far from zero by chance alone, and "
    "every weight hangs on it. Do not use these weights; add models until there are at least {few}, better fifteen as "
    "in the paper."
)
TIES: Final = (
    "A difference counts only where its 95 % interval and the paired test (Holm-adjusted) agree; everything else is "
    "called a tie, however the numbers are ordered. Where n scenes (R4: scenarios) are so few that even a difference "
    "of one sign in all of them could not pass the test, or there is no interval, it is no tie: it cannot be decided."
)
FEW_SCENES: Final = (
    "n= beside an interval is the number of scenes (R4: scenarios) that it rests on, where they are fewer than {few}. "
    "It then says little more than that little is known: for right-or-wrong items it is as wide as the exact binomial "
    "one and covers a little more than 95 %; for skewed graded scores, such as IoU that is mostly near zero, it covers "
    "less, about two thirds with five scenes and nine tenths with twenty. Below eight scenes its ends should not be "
    "read as numbers."
)
FLAWLESS: Final = (
    "A score of exactly 0 or 100 has no spread to resample. Its interval ends at the greatest rate of failing scenes "
    "(for 0: of successful ones) under which such a result still has a chance of 2.5 %, about 3.7 divided by the "
    "number of scenes."
)
PUBLISHED: Final = (
    "The paper's models were run once, without intervals; its refined set has 14,000 questions (31,945 frames), not "
    "the 76,798 of the full corpus. Where one is compared with, its error is taken to be as large as the measured "
    "model's."
)
OTHER_EDITION: Final = (
    "These results are on edition {edition}, the paper's on the release edition: other questions and images. The "
    "paper's models are shown for orientation; no rank among them is given."
)
PARSING: Final = (
    "A reply from which no answer can be taken scores 0 and is counted as a parse failure. A missing generation or a "
    "broken record is no answer: it is left out of n and run again, never scored."
)
JUDGE: Final = (
    "r1_4 is scored by the Lingo-Judge's probability; its pass threshold of .5 is a diagnostic and enters no score."
)
REASONING: Final = (
    "R3 is two tasks, choosing what happens next and ordering frames. A high R3 is not long-term planning, "
    "counterfactual reasoning or negotiation with other drivers."
)
HIERARCHY: Final = (
    "The ranks organise the tasks; they are a hypothesis about abilities, not a measured chain of computation."
)
CORRELATION: Final = (
    "A correlation across models is an association in this pool of models and these question formats. It does not say "
    "that R1 causes R4, nor that a weakly correlated rank is unimportant."
)
BOXES: Final = (
    "Localisation is scored in pixels, as the prompt asks. Where the same boxes score far higher under a 0-1 or 0-1000 "
    "reading, the score shows a coordinate convention, not blindness. No convention is chosen by looking at the truth."
)
DATA: Final = (
    "Public driving data may have been in a model's training set, and its labels and places carry their biases; a "
    "score does not tell memory from ability."
)
CLOSED_LOOP: Final = (
    "R4 measures model, prompt, answer format, actuation bridge and simulator together. It is a simulation on a real "
    "road layout: no statement about driving on a real road, and no safety certificate."
)
PRODUCT: Final = (
    "The R4 score is a product: one low factor hides the others, and no single cause can be read from it. Look at "
    "route, safety, efficiency, events and how runs ended together."
)
SCALES: Final = "S_open and R4 both run from 0 to 100 but measure different things; their values must not be compared."
SINGLE_RUN: Final = (
    "Every scenario was run once, so nothing is known about the variation between repeats (simulation, service delay, "
    "parsing). The interval is over scenarios only."
)
OTHER_SUITE: Final = (
    "The paper's R4 numbers are from its own 100 scenarios on CARLA with SUMO; this run is on {suite} with {backend}."
    " They are shown for orientation only."
)
TRANSFER: Final = (
    "One base model and one training run per group is a case study. A gain on a supervised task shows that it was "
    "learned; transfer shows outside the supervision. A change of S_open does not predict the change of R4."
)
PAPER_TRANSFER: Final = (
    "In the paper's own table the joint run on r1_2_a, r1_2_b and r1_3 gains .01 on r1_3, against 79.45 when trained "
    "alone, and r2_1 loses .28 and .87 in its two joint runs, against a gain of 43.71 alone; the numbers are kept as "
    "printed. Its baseline is 45.09 in Table 1 and 45.10 in Table 3."
)
