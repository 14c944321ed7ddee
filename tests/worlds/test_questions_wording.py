"""How events and changes are put into words."""

from __future__ import annotations

import pytest

from lmms_eval_tasks.worlds.questions import wording
from lmms_eval_tasks.worlds.questions.counterfactual import WORDINGS, Supposition
from lmms_eval_tasks.worlds.scenes.scene import EventKey

HITS = EventKey("hits", "blue box", "red ball")
FALLS = EventKey("falls", "blue box")
ENTERS = EventKey("enters", "red ball", "white tray")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (wording.happens(HITS), "the blue box and the red ball hit each other"),
        (wording.happens_not(HITS), "the blue box and the red ball do not hit each other"),
        (wording.why(HITS), "did the blue box and the red ball hit each other"),
        (wording.would_have(HITS, still=True), "would the blue box and the red ball still have hit each other"),
        (wording.happens(FALLS), "the blue box falls"),
        (wording.had_not(FALLS), "had the blue box not fallen"),
        (wording.had_not(HITS), "had the blue box and the red ball not hit each other"),
        (wording.happens_not(FALLS), "the blue box does not fall"),
        (wording.happened(FALLS), "the blue box fell"),
        (wording.would_have(FALLS), "would the blue box have fallen"),
        (wording.happens(ENTERS), "the red ball ends up in the white tray"),
        (wording.happened(ENTERS), "the red ball ended up in the white tray"),
        (wording.would_have(ENTERS), "would the red ball have ended up in the white tray"),
        (wording.happens(EventKey("starts", "red ball")), "the red ball starts to move"),
        (wording.happens(EventKey("stops", "red ball")), "the red ball comes to rest"),
        (wording.sentence(wording.happens(FALLS)), "The blue box falls."),
    ],
)
def test_events_have_their_forms(text: str, expected: str) -> None:
    assert text == expected


def test_all_kinds_of_change_have_as_many_wordings_all_different() -> None:
    assert len({len(texts) for texts in wording.CHANGES.values()}) == 1
    for kind, texts in wording.CHANGES.items():
        told = {wording.change(kind, "red ball", number) for number in range(len(texts))}
        assert len(told) == len(texts)
        assert all("the red ball" in text for text in told)


def test_every_wording_of_a_supposition_is_another_question(made: Supposition) -> None:
    texts = [made.text(number) for number in range(WORDINGS)]
    assert len(set(texts)) == WORDINGS
    assert texts[0] == "Had the red ball not been there, would the blue box still have fallen?"
    assert texts[4] == "Would the blue box still have fallen had the red ball not been there?"
    assert texts[10] == (
        "Think of how things would have gone without the red ball. Would the blue box still have fallen?"
    )


def test_a_delay_is_as_long_as_the_engine_makes_it() -> None:
    held = pytest.importorskip("lmms_eval_tasks.worlds.physics.other_worlds").HELD
    assert f"{held:g} seconds" == wording.DELAY


@pytest.fixture
def made() -> Supposition:
    from made_facts import body, one_scene

    facts = one_scene([], [body("red ball"), body("blue box")])
    return Supposition(facts, "remove", ("red ball",), FALLS, "direct", "no", "no")
