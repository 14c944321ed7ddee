"""Filters of question pairs: keys given away or guessed without the clip, people's answers, and reviewers' flags.

Source: CausalVQA paper, section 2.2, with 2.2.7 and A.2: two reviewers look at each version; flags a to c remove a
question, d to f have it repaired where at most one reviewer raised one of them. That this counts by version, that a
model repairs texts by the reviewers' comments, that times without flag a are a repair, and that repaired texts pass
the blind filter again, is ours. Bounds of difficulty are those of `utils.people.baseline`.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.causalvqa.benchmark import TYPES
from lmms_eval_tasks.construct.causalvqa.rows import (
    LETTERS,
    SLACK,
    VERSIONS,
    QuestionPair,
    option_faults,
    question_faults,
    read_seconds,
)
from lmms_eval_tasks.construct.causalvqa.versions import (
    CHECKER,
    WRITER,
    FourOptions,
    PlainWording,
    meaning_faults,
    paraphrase_faults,
    synonym_faults,
)
from lmms_eval_tasks.construct.engine.steps import Asking, Forecast, PaperCount, Removed, RowStep, SetStep
from lmms_eval_tasks.construct.engine.texts import Fault, Refused, write_until_good
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.forms import read_csv
from lmms_eval_tasks.utils.core.text import quote
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths
from lmms_eval_tasks.utils.judge.client import UnreadableReply
from lmms_eval_tasks.utils.people.baseline import DROPPED, disputed_questions, summarise
from lmms_eval_tasks.utils.people.inquiries import FLAGS, REMOVING, REPAIRING, REVIEWERS, Decision, decide
from lmms_eval_tasks.utils.people.responses import COLUMNS, AskedQuestion, read_human_responses

BLIND = "blind"
GUESSED = "right without the clip in both versions"
_END = re.compile(r"\bEND\W*\Z")
_ANSWER = re.compile(rf"\bAnswer\W{{1,6}}([{LETTERS}])\W{{1,6}}END\W*\Z", re.IGNORECASE)


def read_letter(text: str) -> str:
    """The letter that a reply ends with, as in ``Answer: B END``."""
    if not _END.search(text):
        raise UnreadableReply("missing END: the reply does not end with the word END")
    if (answer := _ANSWER.search(text)) is None:
        raise UnreadableReply("no letter: END does not follow an answer")
    return answer[1].upper()


def check_blind(pair: QuestionPair, asking: Asking) -> None:
    """Have a text model answer both versions."""
    right = []
    for version in VERSIONS:
        options = dict(zip(LETTERS, pair.options(version), strict=True))
        letter = asking.ask_text(BLIND, "causalvqa_blind", read_letter, question=pair.question, options=options)
        right.append(letter == pair.key(version))
    if all(right):
        raise Removed(GUESSED)


def check_texts(pair: QuestionPair) -> None:
    """Look in both versions for what gives a key away, by rule."""
    for distractors in (pair.distractors, pair.paraphrases):
        faults = [*question_faults(pair.question, pair.answer, distractors), *option_faults(pair.answer, distractors)]
        if faults:
            raise Removed(faults[0].reason, " ".join(fault.detail for fault in faults))


class LeakedKey(RowStep[QuestionPair, QuestionPair]):
    """Rules look once more at what is to be published, no matter who wrote it."""

    name = "leaked key"
    takes = gives = QuestionPair

    def run(self, row: QuestionPair, asking: Asking) -> Sequence[QuestionPair]:
        """The pair, where nothing of it gives its key away."""
        check_texts(row)
        return [row]


class BlindFilter(RowStep[QuestionPair, QuestionPair]):
    """A text model answers both versions without the clip."""

    name = "blind filter"
    takes = gives = QuestionPair
    roles = (BLIND,)
    paper = PaperCount("39% out", "2.2")
    forecast = Forecast(requests=2, characters=900, reply_tokens=200, rows=0.61)

    def run(self, row: QuestionPair, asking: Asking) -> Sequence[QuestionPair]:
        """The pair, where the model is not right both times."""
        check_blind(row, asking)
        return [row]


DISPUTED = "the most frequent answer of people is not the key"
TOO_HARD = "too few people are right"
NOT_ASKED = "no response to a version"
ANSWERED_IN_PAPER = PaperCount("14% out: 793", "2.2")
_SPELLED = {"easy": "easy", "medium": "med", "hard": "hard"}


class NobodyAsked(SetStep[QuestionPair, QuestionPair]):
    """Stands in the table for people who were not asked, and gives every question the configured difficulty."""

    name = "no people asked"
    takes = gives = QuestionPair
    paper = ANSWERED_IN_PAPER

    def __init__(self, difficulty: str) -> None:
        self._difficulty = difficulty

    def run(self, rows: Sequence[QuestionPair], remove: Callable[[str, Removed], None]) -> Sequence[QuestionPair]:
        """All rows."""
        return [row.model_copy(update={"difficulty": self._difficulty}) for row in rows]


class PeoplesAnswers(SetStep[QuestionPair, QuestionPair]):
    """Questions of which a version's modal answer is not the key go; the others get their difficulty."""

    name = "answers of people"
    takes = gives = QuestionPair
    paper = ANSWERED_IN_PAPER
    forecast = Forecast(rows=0.86)

    def __init__(self, responses: Path) -> None:
        self._responses = responses
        for _ in read_csv(responses, COLUMNS):
            break

    def run(self, rows: Sequence[QuestionPair], remove: Callable[[str, Removed], None]) -> Sequence[QuestionPair]:
        """The questions that stay, with their difficulty."""
        if not rows:
            return []
        asked = {
            (row.qid, str(version)): AskedQuestion(row.key(version), LETTERS) for row in rows for version in VERSIONS
        }
        responses = read_human_responses(self._responses, asked, others_too=True)
        disputed = set(disputed_questions(responses))
        summaries = {summary.item: summary for summary in summarise(responses)}
        left = []
        for row in rows:
            summary = summaries.get(row.qid)
            if summary is None or len(summary.versions) < len(VERSIONS):
                remove(row.id, Removed(NOT_ASKED, f"as {row.qid}"))
            elif row.qid in disputed:
                modal = ", ".join(f"{'|'.join(one.modal)} of version {name}" for name, one in summary.versions.items())
                keys = " and ".join(row.key(version) for version in VERSIONS)
                remove(row.id, Removed(DISPUTED, f"{modal}; the keys are {keys}"))
            elif summary.difficulty == DROPPED:
                remove(row.id, Removed(TOO_HARD, f"{summary.percent_right:.2f}% of the responses"))
            else:
                left.append(row.model_copy(update={"difficulty": _SPELLED[summary.difficulty]}))
        return left


REVIEW_COLUMNS = ("item", "version", "reviewer", "choice", "flags", "type", "start", "end", "comment")
REWORDED = frozenset(letter for letter, flag in FLAGS.items() if letter in REPAIRING and not flag.kind)
"""Flags after which texts are repaired."""
FLAGGED = "flagged a, b or c by a reviewer"
FLAGGED_TWICE = "flagged d, e or f by more than one reviewer of a version"
OTHER_TYPES = "reviewers name different types"
OUTSIDE = "new times outside the video"
TOO_FEW = "fewer than two reviews of a version"
FLAGGED_AGAIN = "flagged again after the repair"
REVIEWED_IN_PAPER = PaperCount("53% out", "2.2")

RemoveRow = Callable[[str, Removed], None]


@dataclass(frozen=True)
class Review:
    """Verdict of a reviewer on one version of a question."""

    version: int
    reviewer: str
    flags: frozenset[str]
    comment: str
    type: str = ""
    start: float | None = None
    end: float | None = None

    @property
    def objects(self) -> bool:
        """Whether anything is wrong."""
        return bool(self.flags) or self.start is not None or self.end is not None


Reviews = Mapping[str, Sequence[Review]]
"""Question, by its `qid`, to its reviews."""


def read_reviews(paths: Sequence[Path]) -> Reviews:
    """Tables of reviews, as `annotate collect` writes them."""
    reviews: defaultdict[str, list[Review]] = defaultdict(list)
    problems = Problems()
    versions = [str(version) for version in VERSIONS]
    seen: dict[tuple[str, ...], str] = {}
    for path in paths:
        for where, row in read_csv(path, REVIEW_COLUMNS):
            flags = frozenset(row["flags"].strip())
            if row["version"] not in versions:
                problems.add(where, f"Expected version to be {' or '.join(versions)}, but got {quote(row['version'])}.")
                continue
            if unknown := sorted(flags - FLAGS.keys()):
                problems.add(where, f"Expected flags a to f, but got {quote(''.join(unknown))}.")
            kind = row["type"].strip()
            if (kind not in TYPES) if any(FLAGS[flag].kind for flag in flags & FLAGS.keys()) else kind:
                expected = f"one of {', '.join(TYPES)} with flag d, and none without"
                problems.add(where, f"Expected type to be {expected}, but got {quote(kind or 'none')}.")
            times = {name: read_seconds(row[name]) for name in ("start", "end") if row[name].strip()}
            for name in (name for name, time in times.items() if math.isnan(time)):
                problems.add(where, f"Expected {name} in seconds of the clip, or nothing, but got {quote(row[name])}.")
            if empty := [name for name in ("item", "reviewer") if not row[name].strip()]:
                problems.add(where, f"Expected a value for {' and '.join(empty)}, but got none.")
                continue
            key = row["item"], row["version"], row["reviewer"]
            if key in seen:
                problems.add(where, f"Expected one review of a version by {key[2]}, but got another after {seen[key]}.")
            seen.setdefault(key, where)
            comment = row["comment"].strip()
            reviews[row["item"]].append(Review(int(row["version"]), row["reviewer"], flags, comment, kind, **times))
    problems.raise_if_any("The reviews cannot be used", "nothing was asked")
    return reviews


class NotReviewed(SetStep[QuestionPair, QuestionPair]):
    """Stands in the table for a review that there was not."""

    name = "not reviewed"
    takes = gives = QuestionPair
    paper = REVIEWED_IN_PAPER

    def run(self, rows: Sequence[QuestionPair], remove: RemoveRow) -> Sequence[QuestionPair]:
        """All rows."""
        return rows


class QualityReview(SetStep[QuestionPair, QuestionPair]):
    """Step that removes flagged questions, gives them the reviewers' type and times, or marks their texts for
    repair."""

    name = "quality review"
    takes = gives = QuestionPair
    paper = REVIEWED_IN_PAPER
    forecast = Forecast(rows=0.47)

    def __init__(self, reviews: Reviews, clips: Path) -> None:
        self._reviews, self._clips = reviews, clips

    def run(self, rows: Sequence[QuestionPair], remove: RemoveRow) -> Sequence[QuestionPair]:
        """The pairs that stay, with the flags after which their texts are to be repaired."""
        left = []
        for row in rows:
            reviews = self._reviews.get(row.qid, ())
            try:
                left.append(self._reviewed(row, reviews))
            except Removed as why:
                remove(row.id, why)
        return left

    def _reviewed(self, row: QuestionPair, reviews: Sequence[Review]) -> QuestionPair:
        flags = [[review.flags for review in reviews if review.version == version] for version in VERSIONS]
        if any(REMOVING & one for of_version in flags for one in of_version):
            raise Removed(FLAGGED, _listed_flags(reviews))
        if min(map(len, flags)) < REVIEWERS:
            each = " and ".join(f"{len(one)} of version {version}" for version, one in enumerate(flags))
            raise Removed(TOO_FEW, f"{each}, as {row.qid}")
        if Decision.remove in map(decide, flags):
            raise Removed(FLAGGED_TWICE, _listed_flags(reviews))
        kinds = sorted({review.type for review in reviews if review.type})
        if len(kinds) > 1:
            raise Removed(OTHER_TYPES, f"{' and '.join(kinds)}, where it is {row.type}")
        start, end = self._times(row, reviews)
        changed = {"type": kinds[0] if kinds else row.type, "start": start, "end": end}
        raised = frozenset().union(*(review.flags for review in reviews))
        texts = "".join(sorted(raised & REWORDED))
        comments = tuple(dict.fromkeys(review.comment for review in reviews if review.comment)) if texts else ()
        repaired = row.repaired or changed != row.model_dump(include=set(changed))
        return row.model_copy(update={**changed, "flags": texts, "comments": comments, "repaired": repaired})

    def _times(self, row: QuestionPair, reviews: Sequence[Review]) -> tuple[float, float]:
        """The widest span that reviewers ask for; that of the clip where none asks for another."""
        starts = [row.start + review.start for review in reviews if review.start is not None]
        ends = [row.start + review.end for review in reviews if review.end is not None]
        if not starts and not ends:
            return row.start, row.end
        start, end = min(starts, default=row.start), max(ends, default=row.end)
        path = self._clips / row.clip
        length = clip_lengths([path], no_progress, "")[path] or 0.0
        if not 0 <= start < end <= length + SLACK:
            raise Removed(OUTSIDE, f"{start:g} to {end:g} of {length:.2f} seconds")
        return start, end


class RepairedTexts(PlainWording):
    """A pair's texts after a repair."""

    distractors: FourOptions
    paraphrases: FourOptions


class Repair(RowStep[QuestionPair, QuestionPair]):
    """A model repairs the texts of what was flagged e or f."""

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
            if any(review.objects for review in reviews):
                remove(row.id, Removed(FLAGGED_AGAIN, _listed_flags(reviews)))
            else:
                left.append(row)
        return left


def _listed_flags(reviews: Sequence[Review]) -> str:
    flagged = [review for review in reviews if review.objects]
    return "; ".join(f"{''.join(sorted(one.flags))} by {one.reviewer}: {one.comment or '–'}" for one in flagged)
