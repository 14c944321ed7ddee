"""Reading and grading free answers: yes or no, and whether something is possible.

Examples:
    A verdict is what a careful reader would find in an answer to "had A not happened, would B still have?": a yes or no
    that the answer gives, or else what it states of the outcome.

    >>> from lmms_eval_tasks.api.answers import NO, UNCLEAR, VERDICT_READER, YES, read_verdict
    >>> read_verdict("No. Without the push the ball stays where it is.") == NO
    True
    >>> read_verdict("The lamp would still go on.", question="Would the lamp still have gone on?") == YES
    True

    Reasoning that a model marks as such is not its answer, and a later answer takes an earlier one back.

    >>> read_verdict("<think>Probably not.</think> Answer: yes")
    'yes'
    >>> read_verdict("Yes. Wait, actually: no.")
    'no'

    `content` is a response without such reasoning, for a reader of one's own.

    >>> from lmms_eval_tasks.api.answers import content
    >>> content("<think>Probably not.</think> Happened: yes")
    'Happened: yes'

    Where an answer says neither, or both, there is no verdict; the item then counts as unparsed, and as wrong. Whatever
    a model returned can be given.

    >>> read_verdict("It may or may not.") == read_verdict("") == read_verdict(None) == UNCLEAR
    True

    The reader's name and version stand in the run card: `TaskKind(extractor=VERDICT_READER, …)`.

    >>> VERDICT_READER.startswith("verdict reader ")
    True

    `verdict_grader` makes the function that grades such answers, for `RunningTask.grade_first`. A constant yes has a
    balanced accuracy of 50.

    >>> from lmms_eval_tasks.api.answers import BALANCED_ACCURACY, VERDICT_ACCURACY, YES_RATE, verdict_grader
    >>> class Context:
    ...     class settings:
    ...         signature = "my_prompt 1234"
    >>> def row(name, key):
    ...     asked = {"question": "Would the lamp still have gone on?", "asked": True}
    ...     return {"item_id": name, "group_id": name, "level": "L1", "answer": key, **asked}
    >>> grade = verdict_grader(stratum=("level",))
    >>> records = [grade(row(name, key), "Yes.", Context).record for name, key in (("a", YES), ("b", NO), ("c", YES))]
    >>> for metric in (VERDICT_ACCURACY, BALANCED_ACCURACY, YES_RATE):
    ...     print(f"{metric.title}: {metric.score_records(records):.1f}")
    verdict accuracy: 66.7
    balanced accuracy: 50.0
    says yes: 100.0

    Whether what a clip shows is possible is asked with the options yes and no, and answered freely. The keys are the
    letters of the options; `PLAUSIBILITY_READER` names the reader. What an answer states stands above its yes or no.

    >>> from lmms_eval_tasks.api.answers import (
    ...     IMPOSSIBLE, PLAUSIBILITY_READER, POSSIBLE, SAYS_POSSIBLE, plausibility_grader
    ... )
    >>> grade = plausibility_grader(fields=("level",))
    >>> said = {POSSIBLE: "No, nothing here breaks the laws of physics.", IMPOSSIBLE: "Yes."}
    >>> records = [grade(row(key, key), response, Context).record for key, response in said.items()]
    >>> [record.outcome.value for record in records], SAYS_POSSIBLE.score_records(records), PLAUSIBILITY_READER
    (['correct', 'wrong'], 100.0, 'plausibility reader 2')
"""

from __future__ import annotations

from lmms_eval_tasks.utils.answers.opening import content
from lmms_eval_tasks.utils.answers.plausible import (
    IMPOSSIBLE,
    PLAUSIBILITY_READER,
    POSSIBLE,
    SAYS_POSSIBLE,
    plausibility_grader,
)
from lmms_eval_tasks.utils.answers.verdict import (
    BALANCED_ACCURACY,
    NO,
    UNCLEAR,
    VERDICT_ACCURACY,
    VERDICT_READER,
    YES,
    YES_RATE,
    read_verdict,
    verdict_grader,
)

__all__ = [
    "BALANCED_ACCURACY",
    "IMPOSSIBLE",
    "NO",
    "PLAUSIBILITY_READER",
    "POSSIBLE",
    "SAYS_POSSIBLE",
    "UNCLEAR",
    "VERDICT_ACCURACY",
    "VERDICT_READER",
    "YES",
    "YES_RATE",
    "content",
    "plausibility_grader",
    "read_verdict",
    "verdict_grader",
]
