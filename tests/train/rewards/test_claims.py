"""What single sentences state and deny, in many ways to put the same."""

from __future__ import annotations

import pytest
from ordered_answers import ORDERED, read_groups

from lmms_eval_tasks.train.rewards.claims import read_claims
from lmms_eval_tasks.train.rewards.mentions import ActionFinder
from lmms_eval_tasks.train.rewards.reading import read_reasoning

SAMPLES = {group.name.partition(":")[0]: group.sample for group in read_groups(ORDERED)}


def claims(clip: str, text: str) -> set[tuple[int, int, bool]]:
    sample, reasoning = SAMPLES[clip], read_reasoning(text)
    read = read_claims(reasoning, sample, ActionFinder(sample, reasoning.labels))
    return {(claim.cause, claim.effect, claim.holds) for claim in read}


@pytest.mark.parametrize("text", [
    "Snipping the cable makes it possible to pull it out of the housing.",
    "Pulling the old cable out is only possible after snipping the frayed brake cable.",
    "The frayed cable has to be snipped before the old cable can be pulled out.",
    "Having snipped the brake cable, the rider pulls the old one out of the housing.",
    "The old cable cannot be pulled out of the housing until the frayed brake cable is snipped.",
    "If the rider could not snip the frayed cable, the old cable could not be pulled out.",
    "No snipping of the frayed cable, no pulling the old one out of the housing.",
    "frayed cable not snipped → old cable never pulled out",
    "Without the frayed cable being snipped the rider could not have pulled the old one out.",
    "The old cable could not be pulled out because the frayed brake cable was not snipped.",
    "Pulling out the old cable would not have been possible had the frayed cable not been snipped.",
    "The reason the old cable could be pulled out is that the frayed cable had been snipped.",
    "The frayed cable must be snipped for the old one to be pulled out.",
    "Suppose the frayed cable had not been snipped. Then the old cable would not have been pulled out.",
    "Cause: the frayed cable is snipped. Effect: the old cable can be pulled out of the housing.",
    "When the frayed cable is snipped, the old cable can be pulled out as a direct consequence.",
    "snipping the frayed cable (1) → pulling out the old cable (2)",
    "[00:12] Snipping the frayed cable lets the rider pull the old one out at 00:15.",
])  # fmt: skip
def test_a_link_is_stated(text: str) -> None:
    assert claims("cable", text) == {(1, 2, True)}


@pytest.mark.parametrize("text", [
    "The busker's strumming has no effect whatsoever on the water gushing.",
    "The water would have gushed with or without the busker strumming a banjo.",
    "The water would have gushed whether the busker had strummed the banjo or not.",
    "If the busker had not strummed the banjo, the water would have gushed all the same.",
    "The busker strumming a banjo plays no part in the gushing of the water.",
    "The busker strumming a banjo never touches the gushing water.",
])  # fmt: skip
def test_a_link_is_denied(text: str) -> None:
    assert claims("balloon", text) == {(6, 4, False)}


@pytest.mark.parametrize("text", [
    "It is the cab rolling into the hydrant, not the busker's banjo, that makes the water gush.",
    "The cab rolling into the hydrant, rather than the busker's banjo, causes the water to gush.",
    "The water gushes because of the cab rolling into the hydrant, not the busker's banjo.",
])  # fmt: skip
def test_one_cause_is_stated_and_another_denied(text: str) -> None:
    assert claims("balloon", text) == {(3, 4, True), (6, 4, False)}


@pytest.mark.parametrize("text", [
    "The toddler lets go of the balloon and then the busker strums a banjo.",
    "The question asks whether the water would gush if the toddler had not let go of the balloon.",
    "Let me think about whether the toddler letting go of the balloon causes water to gush.",
])  # fmt: skip
def test_what_only_follows_or_is_only_asked_is_no_claim(text: str) -> None:
    assert claims("balloon", text) == set()


def test_a_noun_stands_for_the_verb_that_it_is_made_of() -> None:
    assert claims("counter", "The clearance presupposes the parry.") == {(0, 1, True)}


@pytest.mark.parametrize("text", [
    "The high note shatters the glass.",
    "The glass was shattered by the high note of the sopranos.",
    "What shatters the glass is the high note.",
    "The shattering of the glass is attributable to the high note.",
    "The glass shattering is directly linked to the high note.",
    "A high note is held, and then, as a consequence, the glass shatters.",
    "glass shatters <- high note",
    "high note\n↓\nglass shatters",
    "| Cause | Effect |\n|---|---|\n| holding a high note | the glass shatters |",
])  # fmt: skip
def test_a_link_is_stated_in_other_ways(text: str) -> None:
    assert claims("choir", text) == {(2, 3, True)}


@pytest.mark.parametrize("text", [
    "The bat circling the chandelier is unnecessary for the glass to shatter.",
    "The glass shatters whether the bat circles the chandelier or doesn't.",
    "The glass can shatter without the bat circling the chandelier.",
    "Removing the bat circling the chandelier would not prevent the glass from shattering.",
    "It was not the bat circling the chandelier that shattered the glass.",
    "I don't think the bat circling the chandelier leads to the glass shattering.",
])  # fmt: skip
def test_a_link_is_denied_in_other_ways(text: str) -> None:
    assert claims("choir", text) == {(5, 3, False)}


def test_a_state_that_the_outcome_would_have_ended_denies_nothing() -> None:
    assert claims("choir", "Without the high note, the glass would be whole.") == set()


def test_what_another_does_is_not_the_action() -> None:
    assert claims("collision", "The teal sphere hits the grey cube, so the orange sphere starts rolling.") == {
        (-2, 6, True)
    }
