"""Source: CaST-Bench, supplement, Prompt 6: four categories, sixteen subtypes."""

from collections import Counter

import pytest

from lmms_eval_tasks.cast_bench.card import (
    CATEGORIES,
    OPTION_KINDS,
    UNKNOWN,
    read_option_kind,
    read_type,
    type_definitions,
)

PRINTED = {
    "1.1 Why Questions (Causal Reasons)": "why",
    "1.2 How Questions (Mechanisms)": "how",
    "2.1 Physical Counterfactual": "physical_counterfactual",
    "2.2 Social Counterfactual": "social_counterfactual",
    "3.1 Physical Prediction": "physical_prediction",
    "3.2 Behavioral Prediction": "behavioral_prediction",
    "4.1 Identity/Role Inference": "identity_role",
    "4.2 Interpersonal Relationship Inference": "interpersonal_relationship",
    "4.3 Goal/Intent Inference (non-immediate)": "goal_intent",
    "4.4 Emotion/Motivation Inference": "emotion_motivation",
    "4.5 Skill/Expertise Inference": "skill_expertise",
    "4.6 Ownership/Belonging Inference": "ownership_belonging",
    "4.7 Risk/Safety Assessment": "risk_safety",
    "4.8 Success/Failure Inference": "success_failure",
    "4.9 Environmental Condition Inference": "environmental_condition",
    "4.0 Other Contextual": "other_contextual",
}


def test_every_subtype_of_the_paper_is_known_by_name_and_by_number() -> None:
    assert [read_type(name).subtype for name in type_definitions()] == list(PRINTED.values())
    for printed, subtype in PRINTED.items():
        number, _, name = printed.partition(" ")
        assert {read_type(text).subtype for text in (printed, name, number, name.upper())} == {subtype}
    assert Counter(read_type(printed).category for printed in PRINTED) == dict(
        zip(CATEGORIES, (2, 2, 10, 2), strict=True)
    )


@pytest.mark.parametrize(
    ("spelling", "subtype"),
    [
        ("Why (Causal Reasons)", "why"),
        # The supplement's own, beside those of Prompt 6.
        ("Why questions (reasons)", "why"),
        ("Behavioral anticipation", "behavioral_prediction"),
        ("behavioural anticipation", "behavioral_prediction"),
        ("How (Mechanisms)", "how"),
        ("Physical (Counterfactual)", "physical_counterfactual"),
        ("Social (Counterfactual)", "social_counterfactual"),
        ("Goal/Intent", "goal_intent"),
        ("Risk/Safety", "risk_safety"),
        ("Other", "other_contextual"),
        ("ownership / belonging", "ownership_belonging"),
        ("success_failure", "success_failure"),
    ],
)
def test_other_spellings_are_the_same_types(spelling: str, subtype: str) -> None:
    assert read_type(spelling).subtype == subtype


@pytest.mark.parametrize("text", ["", "Whence", "Physical", "5.1", "Why and How", "1.1 Physical Prediction or Why"])
def test_what_is_none_of_them_is_not_guessed(text: str) -> None:
    assert read_type(text) == UNKNOWN


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("text-based", "text-based"),
        ("Text based distractor", "text-based"),
        ("video_based_distractor", "video-based"),
        ("near-miss", "near-miss"),
        ("near_miss_answer", "near-miss-of-answer"),
        ("Near-miss of the correct answer", "near-miss-of-answer"),
        ("near miss (text-based)", "near-miss-of-text-based"),
        ("near-miss of the video-based distractor", "near-miss-of-video-based"),
        *((kind, kind) for kind in OPTION_KINDS),
    ],
)
def test_kinds_of_options_are_read_as_releases_may_spell_them(text: str, kind: str) -> None:
    assert read_option_kind(text) == kind
