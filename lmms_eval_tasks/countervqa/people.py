"""What people are asked: the questions, whether links hold, how hard questions are, how readable answers are.

Source: CounterVQA (arXiv 2511.19923), appendix D (links judged valid or not against the video), C.3 (two annotators
rate difficulty from 1 to 5, and whether the question is grounded in the video) and E (two raters score the step-by-step
text of an answer from 0, unreadable, to 5, excellent, whatever the answer). How people answered the questions is not
said. All words are ours, and so is that pairs without a link are drawn as often as those with one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from lmms_eval_tasks.api import AskedItem, Inquiry, OfferedChoice, Row
from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_tasks.api.people import Scale
from lmms_eval_tasks.countervqa.hooks import clock
from lmms_eval_tasks.countervqa.released import ClipGraph

VALID, NOT_VALID = "VALID", "NOT_VALID"


def ask_verdicts(rows: Sequence[Row]) -> list[AskedItem]:
    """The questions, to be answered with yes or no."""
    choices = tuple(OfferedChoice(verdict.upper(), verdict[0].upper(), verdict.capitalize()) for verdict in (YES, NO))
    return [
        AskedItem(
            item=item,
            item_id=row["item_id"],
            question=row["question"],
            ways={version: (row["clip"],)},
            choices=choices,
            key=(row["answer"] or "").upper(),
        )
        for (item, version), row in zip(AskedItem.keys(rows), rows, strict=True)
    ]


def ask_links(rows: Sequence[Row]) -> list[AskedItem]:
    """Every two actions of each clip in their order of time, linked or not, and links that go against it."""
    asked = []
    for clip, text in {row["clip"]: row["graph"] for row in rows}.items():
        graph = ClipGraph.model_validate_json(text)
        links = {(link.cause, link.effect) for link in graph.links}
        by_id = {action.id: action for action in graph.actions}
        forward = list(combinations(by_id, 2))
        for pair in dict.fromkeys([*forward, *sorted(links)]):
            first, then = (f"“{by_id[one].text.strip()}” ({clock(by_id[one].start)})" for one in pair)
            name = f"{graph.clip}: {' to '.join(pair)}"
            asked.append(
                AskedItem(
                    item=name,
                    item_id=name,
                    question=f"First action: {first}. Second action: {then}. Does the first cause the second, so that "
                    "without the first the second would not have happened?",
                    ways={"": (clip,)},
                    choices=(
                        OfferedChoice(VALID, "Y", "Yes, it does"),
                        OfferedChoice(NOT_VALID, "N", "No, it does not"),
                    ),
                    key=VALID if pair in links else NOT_VALID,
                )
            )
    return asked


def _ask_each(rows: Sequence[Row]) -> list[AskedItem]:
    """Each question, with the answer to be judged where there is one."""
    return [
        AskedItem(
            item=row["item_id"],
            item_id=row["item_id"],
            question=row["question"],
            ways={"": (row["clip"],)},
            text=row.get("response", ""),
        )
        for row in rows
    ]


DIFFICULTY = Scale(
    "difficulty",
    "How hard is this question?",
    {"1": "Very easy", "2": "Easy", "3": "Neither easy nor hard", "4": "Hard", "5": "Very hard"},
)
GROUNDED = Scale(
    "grounded", "Is all that it asks about to be seen in the video?", {"yes": "Yes", "no": "No, something is not there"}
)
READABILITY = Scale(
    "readability",
    "How well can the steps of this answer be read and followed, whether it is right or not?",
    {"0": "Not at all", "1": "Badly", "2": "With trouble", "3": "Fairly", "4": "Well", "5": "Excellently"},
)

INQUIRIES = {
    "answer": Inquiry("choice", ask_verdicts, responses=15, attention=2),
    "links": Inquiry(
        "choice",
        ask_links,
        attention=2,
        positive=VALID,
        paper={"precision": "88.39", "recall": "96.29", "F1": "91.12", "accuracy": "85.86"},
    ),
    "difficulty": Inquiry(
        "ratings",
        _ask_each,
        responses=2,
        scales=(DIFFICULTY, GROUNDED),
        paper={"difficulty": "3.8 (naive 2.6)", "grounded": "97 (naive 73)"},
    ),
    "readability": Inquiry(
        "ratings",
        _ask_each,
        responses=2,
        scales=(READABILITY,),
        of_answers=True,
        paper={"readability": "3.2 and 3.5"},
    ),
}
