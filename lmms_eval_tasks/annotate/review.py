"""Reviewers' flags, joined with their plan: which versions of questions go, and which are to be repaired."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from lmms_eval_tasks.annotate.collect import planned_answers
from lmms_eval_tasks.annotate.forms import FLAGS, AnswerFile, Decision
from lmms_eval_tasks.annotate.plan import Plan

COLUMNS = ("item", "version", "item_id", "reviewer", "flags", "comment", "decision")


def decide(flags: Iterable[str]) -> Decision:
    """What flags lead to: a question goes where one says so, and is repaired where one says that."""
    decisions = {FLAGS[flag][0] for flag in flags}
    return next((decision for decision in Decision if decision in decisions), Decision.keep)


def collect_reviews(plan: Plan, files: Sequence[AnswerFile]) -> list[dict[str, str]]:
    """A row for each review: the version, who reviewed it, the flags, the comment, and what they lead to."""
    reviews = []
    for row, given in planned_answers(plan, files):
        if given.flags is not None and not row.attention:
            flags = sorted(set(given.flags))
            values = (row.item, row.version, row.item_id, row.annotator, "".join(flags), given.comment)
            reviews.append(dict(zip(COLUMNS, (*values, decide(flags).value), strict=True)))
    return reviews


def decide_items(reviews: Sequence[Mapping[str, str]]) -> dict[str, Decision]:
    """Item id to what all its reviews together lead to, in the order of the ids."""
    flags: defaultdict[str, set[str]] = defaultdict(set)
    for review in reviews:
        flags[review["item_id"]] |= set(review["flags"])
    return {item_id: decide(flags[item_id]) for item_id in sorted(flags)}
