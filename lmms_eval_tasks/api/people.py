"""What people are asked beyond a choice among options, and what is made of their answers.

Examples:
    A benchmark shows clips of doors. First people rate its questions. Each `Scale` is a column of the table of ratings.

    >>> from lmms_eval_tasks.api import AskedItem, Inquiry, Metric, OfferedChoice
    >>> from lmms_eval_tasks.api.people import HumanStudy, Scale, TimedDescription
    >>> def row_of(item_id, question, room):
    ...     clips = {"clip": f"test/{item_id}.mp4", "clip_backward": f"test/{item_id}_reversed.mp4"}
    ...     return {"item_id": item_id, "question": question, "room": room, **clips}
    >>> rows = [row_of("d1", "Why does the door open?", "hall"), row_of("d2", "Why does the door shut?", "shed")]
    >>> def ask_each(rows):
    ...     return [
    ...         AskedItem(row["item_id"], row["item_id"], row["question"], {"": (row["clip"],)}) for row in rows
    ...     ]
    >>> hard = Scale("difficulty", "How hard is this question?", {"1": "Easy", "2": "In between", "3": "Hard"})
    >>> seen = Scale("grounded", "Is all that it asks about to be seen?", {"yes": "Yes", "no": "No"})
    >>> ratings = Inquiry("ratings", ask_each, responses=2, scales=(hard, seen))

    Numbers are averaged; of other choices the percentage of the first is taken.

    >>> [(scale.name, scale.is_numeric) for scale in ratings.scales]
    [('difficulty', True), ('grounded', False)]
    >>> Inquiry("choice", ask_each, scales=(hard,))
    Traceback (most recent call last):
    ...
    ValueError: Expected scales of ratings, and of nothing else, but the form is choice.

    Then they put right what is said to happen in a clip. Times are whole seconds, both ends included. A box is given in
    shares of the frame (left, top, right, bottom), so that it fits the clip at any size.

    >>> def ask_to_edit(rows):
    ...     wind = TimedDescription("the door", 2, 3, "The wind opens it.", {2: (0.1, 0.2, 0.3, 0.9)})
    ...     return [
    ...         AskedItem(row["item_id"], row["item_id"], row["question"], {"": (row["clip"],)}, descriptions=(wind,))
    ...         for row in rows
    ...     ]
    >>> edit = Inquiry("descriptions", ask_to_edit)
    >>> edit.items(rows)[0].descriptions[0].text
    'The wind opens it.'

    Last, a study asks people otherwise than a model is asked: a clip and its reversal are shown in either order, and
    the question is which of them is reversed. A `HumanStudy` says which choice is right in each version. What an item
    adds to a metric is the mean credit of its responses, from 0 to 1 (right 1, *unknown* 0.5, wrong 0), which the
    metric's `transform` turns into percent.

    >>> rate = Metric(
    ...     "rate", "told apart", lambda r: None if r.correct is None else float(r.correct),
    ...     transform=lambda share: 100.0 * share, value_bounds=(0.0, 1.0),
    ... )
    >>> study = HumanStudy(
    ...     versions={"forward_first": "SECOND", "reversed_first": "FIRST"},
    ...     choices=("FIRST", "SECOND"),
    ...     metrics=(rate, *rate.by("room", ("hall", "shed"))),
    ...     stratum=lambda row: {"room": row["room"]},
    ...     columns=(),
    ...     label="human_discriminable",
    ... )
    >>> asked = study.questions(rows)
    >>> asked["d1", "reversed_first"]
    AskedQuestion(answer='FIRST', choices=('FIRST', 'SECOND'), strata={'room': 'hall'}, written=False, item_id='d1')

    The mode `answer` asks it, with a way to show each item for each version of the study. A benchmark declares all of
    this as ``Benchmark(…, inquiries={"answer": answer, "ratings": ratings, "edit": edit}, human_study=study)``. Then
    `lmms-eval-tasks humans` prints the study's scores from a table of responses, and can write its label.

    >>> def ask_pairs(rows):
    ...     offered = (*study.choices, "UNKNOWN")
    ...     return [
    ...         AskedItem(
    ...             row["item_id"], row["item_id"], "Which of the two clips is played in reverse?",
    ...             ways={
    ...                 "forward_first": (row["clip"], row["clip_backward"]),
    ...                 "reversed_first": (row["clip_backward"], row["clip"]),
    ...             },
    ...             choices=tuple(OfferedChoice(choice, "", choice.capitalize()) for choice in offered),
    ...             labels=("First", "Second"),
    ...         )
    ...         for row in rows
    ...     ]
    >>> answer = Inquiry("choice", ask_pairs, responses=15, attention=2)
    >>> {(item.item_id, way) for item in answer.items(rows) for way in item.ways} == set(asked)
    True
"""

from __future__ import annotations

from lmms_eval_tasks.utils.people.baseline import HumanStudy
from lmms_eval_tasks.utils.people.inquiries import Scale, TimedDescription

__all__ = [
    "HumanStudy",
    "Scale",
    "TimedDescription",
]
