"""Reviewers' answers, joined with their plan: which versions of questions go, and which are to be repaired."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from lmms_eval_tasks.build.annotate.collect import planned_answers
from lmms_eval_tasks.build.annotate.forms import AnswerFile
from lmms_eval_tasks.build.annotate.plan import Plan
from lmms_eval_tasks.utils.people.inquiries import Decision, decide

REVIEW_COLUMNS = (
    *("item", "version", "item_id", "reviewer", "choice", "flags"),
    *("type", "start", "end", "comment", "decision"),
)


def collect_reviews(plan: Plan, files: Sequence[AnswerFile]) -> list[dict[str, str]]:
    """A row for each review: the version, who reviewed it and chose what before the key was shown, and what they
    found."""
    reviews = []
    for row, given in planned_answers(plan, files):
        flags = "".join(sorted(set(given.flags or [])))
        start, end = ("" if second is None else f"{second:g}" for second in (given.start, given.end))
        decision = decide([flags])
        if decision is Decision.keep and (start or end):
            decision = Decision.repair
        values = (row.item, row.version, row.item_id, row.annotator, given.choice or "", flags)
        more = (given.kind or "", start, end, given.comment or "", decision.value)
        reviews.append(dict(zip(REVIEW_COLUMNS, (*values, *more), strict=True)))
    return reviews


def decide_items(reviews: Sequence[Mapping[str, str]]) -> dict[str, Decision]:
    """Item id to what all its reviews together lead to, in the order of the ids."""
    flags: defaultdict[str, list[str]] = defaultdict(list)
    hardest: dict[str, Decision] = {}
    for review in reviews:
        flags[review["item_id"]].append(review["flags"])
        alone = Decision(review["decision"])
        hardest[review["item_id"]] = min(alone, hardest.get(review["item_id"], alone), key=list(Decision).index)
    return {
        item_id: min(decide(flags[item_id]), hardest[item_id], key=list(Decision).index) for item_id in sorted(flags)
    }
