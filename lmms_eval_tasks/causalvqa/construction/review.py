"""Reviewers' flags: which pairs go, which are repaired, and what became of the repairs.

Source: CausalVQA paper, section 2.2: two reviewers look at each version; flags a to c remove a question, d to f have it
repaired. That one reviewer's flag is enough, and that a repaired pair passes the blind filter again, is ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.causalvqa.construction.blind import BLIND, check_blind
from lmms_eval_tasks.causalvqa.construction.description import FourOptions
from lmms_eval_tasks.causalvqa.construction.distractors import paraphrase_faults, synonym_faults
from lmms_eval_tasks.causalvqa.construction.rows import VERSIONS, QuestionPair
from lmms_eval_tasks.causalvqa.construction.texts import Fault, question_faults
from lmms_eval_tasks.causalvqa.construction.wording import CHECKER, WRITER, PlainWording, meaning_faults
from lmms_eval_tasks.causalvqa.construction.writing import Refused, write_until_good
from lmms_eval_tasks.utils.core.csv_rows import read_csv
from lmms_eval_tasks.utils.core.problems import Problems
from lmms_eval_tasks.utils.core.wording import quote
from lmms_eval_tasks.utils.pipeline.asking import Asking
from lmms_eval_tasks.utils.pipeline.steps import Forecast, PaperCount, Removed, RowStep, SetStep

REVIEWERS = 2
COLUMNS = ("item", "version", "reviewer", "flags", "comment")
REMOVING, REPAIRING = frozenset("abc"), frozenset("def")
FLAGGED = "flagged a, b or c by a reviewer"
TOO_FEW = "fewer than two reviews of a version"
FLAGGED_AGAIN = "flagged again after the repair"
PAPER = PaperCount("53% out", "2.2")

RemoveRow = Callable[[str, Removed], None]


@dataclass(frozen=True)
class Review:
    """What a reviewer says of one version of a question."""

    version: int
    reviewer: str
    flags: frozenset[str]
    comment: str


Reviews = Mapping[str, Sequence[Review]]
"""Question, by its `qid`, to its reviews."""


def read_reviews(paths: Sequence[Path]) -> Reviews:
    """Tables of reviews, as `annotate collect` writes them.

    Raises:
        InputError: with every problem: a file that is none, a version or flag that there is not, a review of no item
            or by nobody, or two reviews of one version by one reviewer.
    """
    reviews: defaultdict[str, list[Review]] = defaultdict(list)
    problems = Problems()
    versions = [str(version) for version in VERSIONS]
    seen: dict[tuple[str, ...], str] = {}
    for path in paths:
        for where, row in read_csv(path, COLUMNS):
            flags = frozenset(row["flags"].strip())
            if row["version"] not in versions:
                problems.add(where, f"Expected version to be {' or '.join(versions)}, but got {quote(row['version'])}.")
                continue
            if unknown := sorted(flags - REMOVING - REPAIRING):
                problems.add(where, f"Expected flags a to f, but got {quote(''.join(unknown))}.")
            if empty := [name for name in ("item", "reviewer") if not row[name].strip()]:
                problems.add(where, f"Expected a value for {' and '.join(empty)}, but got none.")
                continue
            key = row["item"], row["version"], row["reviewer"]
            if key in seen:
                problems.add(where, f"Expected one review of a version by {key[2]}, but got another after {seen[key]}.")
            seen.setdefault(key, where)
            reviews[row["item"]].append(Review(int(row["version"]), row["reviewer"], flags, row["comment"].strip()))
    problems.raise_if_any("The reviews cannot be used", "nothing was asked")
    return reviews


class NotReviewed(SetStep[QuestionPair, QuestionPair]):
    """Stands in the table for a review that there was not."""

    name = "not reviewed"
    takes = gives = QuestionPair
    paper = PAPER

    def run(self, rows: Sequence[QuestionPair], remove: RemoveRow) -> Sequence[QuestionPair]:
        """All rows."""
        return rows


class QualityReview(SetStep[QuestionPair, QuestionPair]):
    """Pairs that a reviewer flags a, b or c go; those flagged d, e or f are marked for repair."""

    name = "quality review"
    takes = gives = QuestionPair
    paper = PAPER
    forecast = Forecast(rows=0.47)

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews

    def run(self, rows: Sequence[QuestionPair], remove: RemoveRow) -> Sequence[QuestionPair]:
        """The pairs that stay, with the flags after which they are to be repaired."""
        left = []
        for row in rows:
            reviews = self._reviews.get(row.qid, ())
            counts = [sum(review.version == version for review in reviews) for version in VERSIONS]
            flags = frozenset().union(*(review.flags for review in reviews))
            if flags & REMOVING:
                remove(row.id, Removed(FLAGGED, _listed_flags(reviews)))
            elif min(counts) < REVIEWERS:
                each = " and ".join(f"{count} of version {version}" for version, count in enumerate(counts))
                remove(row.id, Removed(TOO_FEW, f"{each}, as {row.qid}"))
            else:
                comments = tuple(dict.fromkeys(review.comment for review in reviews if review.comment))
                repair = "".join(sorted(flags))
                left.append(row.model_copy(update={"flags": repair, "comments": comments if repair else ()}))
        return left


class RepairedTexts(PlainWording):
    """A pair's texts after a repair."""

    distractors: FourOptions
    paraphrases: FourOptions


class Repair(RowStep[QuestionPair, QuestionPair]):
    """A model repairs what was flagged d, e or f; the result has to pass every rule and check of the steps before.

    The right option keeps one text in both versions, and the orders stay.
    """

    name = "repair"
    takes = gives = QuestionPair
    roles = (WRITER, CHECKER, BLIND)
    forecast = Forecast(requests=2, characters=1800, reply_tokens=120)

    def __init__(self, tries: int) -> None:
        self._tries = tries

    def run(self, row: QuestionPair, asking: Asking) -> Sequence[QuestionPair]:
        """The pair as it is after the repair, or as it was where none is needed."""
        if not row.flags:
            return [row]
        names = {"description", "question", "answer", "distractors", "paraphrases", "comments"}
        material = {**row.model_dump(include=names), "flags": list(row.flags)}

        def write(refused: Refused) -> RepairedTexts:
            return asking.ask(WRITER, "causalvqa_repair", RepairedTexts, **material, refused=refused)

        def check(texts: RepairedTexts) -> list[Fault]:
            question, answer = texts.question, texts.answer
            return (
                question_faults(question, answer, texts.distractors)
                or question_faults(question, answer, texts.paraphrases)
                or meaning_faults(row, PlainWording(question=question, answer=answer), asking)
                or synonym_faults(question, answer, texts.distractors, asking)
                or paraphrase_faults(question, answer, texts.distractors, texts.paraphrases, asking)
            )

        texts = write_until_good(self._tries, write, check)
        repaired = row.model_copy(update={**texts.model_dump(), "repaired": True})
        check_blind(repaired, asking)
        return [repaired]


class ReviewOfRepairs(SetStep[QuestionPair, QuestionPair]):
    """Repaired pairs that were reviewed once more, and flagged again, go."""

    name = "review of repairs"
    takes = gives = QuestionPair

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews

    def run(self, rows: Sequence[QuestionPair], remove: RemoveRow) -> Sequence[QuestionPair]:
        """The pairs of which no repair was flagged."""
        left = []
        for row in rows:
            reviews = self._reviews.get(row.qid, ()) if row.repaired else ()
            if any(review.flags for review in reviews):
                remove(row.id, Removed(FLAGGED_AGAIN, _listed_flags(reviews)))
            else:
                left.append(row)
        return left


def _listed_flags(reviews: Sequence[Review]) -> str:
    flagged = [review for review in reviews if review.flags]
    return "; ".join(f"{''.join(sorted(one.flags))} by {one.reviewer}: {one.comment or '–'}" for one in flagged)
