"""H2H or H2O: whether people act with each other in a clip, or one with objects.

Source: CounterVQA (arXiv 2511.19923), section 2.2 and appendix C.1: it is a property of the video's activity, H2H for
basketball, soccer and dance. The words by which an activity is known, and what is done where nothing names it, are
ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from lmms_eval_tasks.build.countervqa.annotations import Take
from lmms_eval_tasks.countervqa.released import Interaction

ToldBy = Literal["column", "scenario", "wording"]

ACTIVITIES: Mapping[Interaction, re.Pattern[str]] = {
    "H2H": re.compile(r"basketball|soccer|football|\bdanc(?:e|es|ing)\b", re.IGNORECASE),
    "H2O": re.compile(
        r"cook|climb|boulder|\btests?\b|covid|\bcpr\b|health|first aid|\bbike|bicycle|repair|music", re.IGNORECASE
    ),
}
"""Scenarios of each kind: those that the paper names, and the others of Ego-Exo4D, where one person handles objects."""
PEOPLE = re.compile(r"\b[COXYZ]\b")
"""How Ego-Exo4D's descriptions name people: C wears the camera, O and the others do not."""
OTHERS = re.compile(r"\b(?:another|other) (?:person|player|man|woman)\b|\bpartner\b", re.IGNORECASE)
SHARE = 1 / 3
"""Of a clip's descriptions: from here on those with a second person make it H2H, where only its wording tells."""


def interaction_of(take: Take) -> tuple[Interaction, ToldBy]:
    """Whether a clip is H2H or H2O, and what tells so: a column of the annotations, its scenario, or its wording."""
    if take.interaction is not None:
        return take.interaction, "column"
    for kind, activity in ACTIVITIES.items():
        if activity.search(take.scenario):
            return kind, "scenario"
    return _by_wording(take), "wording"


def _by_wording(take: Take) -> Interaction:
    subjects = Counter(action.subject for action in take.actions if action.subject)
    main = subjects.most_common(1)[0][0] if subjects else None
    with_others = 0
    for action in take.actions:
        people = {*PEOPLE.findall(action.text), *((action.subject,) if action.subject else ())}
        is_other = main is not None and bool(people - {main})
        with_others += is_other or len(people) > 1 or OTHERS.search(action.text) is not None
    return "H2H" if take.actions and with_others >= SHARE * len(take.actions) else "H2O"
