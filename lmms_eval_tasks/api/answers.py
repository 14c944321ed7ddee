"""Reading yes or no from free answers, for a benchmark whose answers are no options.

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

    Where an answer says neither, or both, there is no verdict; the item then counts as unparsed, and as wrong. Whatever
    a model returned can be given.

    >>> read_verdict("It may or may not.") == read_verdict("") == read_verdict(None) == UNCLEAR
    True

    The reader's name and version stand in the run card: `TaskKind(extractor=VERDICT_READER, …)`.

    >>> VERDICT_READER.startswith("verdict reader ")
    True
"""

from __future__ import annotations

from lmms_eval_tasks.utils.verdicts import NO, UNCLEAR, VERDICT_READER, YES, read_verdict

__all__ = [
    "NO",
    "UNCLEAR",
    "VERDICT_READER",
    "YES",
    "read_verdict",
]
