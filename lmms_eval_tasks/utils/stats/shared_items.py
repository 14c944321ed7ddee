"""The items that runs and people both answered, each with what every run and every person said."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.utils.scoring.records import Outcome, Record
from lmms_eval_tasks.utils.stats.bootstrap import Counts
from lmms_eval_tasks.utils.stats.comparison import OTHER_KEY, Part
from lmms_eval_tasks.utils.stats.human_responses import RIGHT, UNKNOWN, AskedQuestion, Key, Response, as_written

ONLY_PEOPLE = "only people answered"
ONLY_RUN = "no person answered"
UNSCORED = "unscored in the run"


@dataclass(frozen=True)
class SharedItem:
    """An item that people and at least one of several runs answered."""

    task: str
    question: AskedQuestion
    people: tuple[tuple[str, float], ...]
    records: tuple[Record | None, ...]

    @property
    def record(self) -> Record:
        """One of the records, for what they have in common."""
        return next(record for record in self.records if record is not None)

    @property
    def share_right(self) -> float:
        """Share of the people who are right, 0-1."""
        return sum(right for _, right in self.people) / len(self.people)

    def right(self, run: int) -> float | None:
        """Whether a run is right, 0 or 1: unparsed is not; None where it has no score."""
        record = self.records[run]
        return None if record is None else float(bool(record.correct))

    def wrong_option(self, run: int) -> str | None:
        """The wrong option that a run chose; None where it chose none, or options are not what people chose among."""
        record = self.records[run]
        if record is None or record.outcome is not Outcome.WRONG or record.answered is None:
            return None
        option, choices = record.answered.upper(), tuple(self.question.choices)
        return option if _same_choices(self.question, record) and (not choices or option in choices) else None

    @property
    def wrong_options(self) -> list[str]:
        """The wrong options that people chose, one of each of them."""
        return [choice for choice, right in self.people if not right and choice != UNKNOWN]


@dataclass(frozen=True)
class SharedItems:
    """What runs and people share of a task, or of the tasks of one group."""

    items: tuple[SharedItem, ...]
    left_out: tuple[Mapping[str, tuple[str, ...]], ...]


def share_items(responses: Iterable[Response], asked: Mapping[Key, AskedQuestion], runs: Sequence[Part]) -> SharedItems:
    """Match people's responses to the records of runs, by the ids of the items."""
    people: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    questions: dict[str, AskedQuestion] = {}
    for response in responses:
        question = asked[response.item, response.version]
        questions[question.item_id] = question
        people[question.item_id].append((response.choice, float(response.credit == RIGHT)))
    found: dict[tuple[str, str], list[Record | None]] = {}
    left_out: list[defaultdict[str, list[str]]] = [defaultdict(list) for _ in runs]
    for place, (run, left) in enumerate(zip(runs, left_out, strict=True)):
        for task, records in run.items():
            for record in records:
                if record.item_id not in people:
                    left[ONLY_RUN].append(record.item_id)
                elif record.correct is None:
                    left[UNSCORED].append(record.item_id)
                elif _other_key(questions[record.item_id], record):
                    left[OTHER_KEY].append(record.item_id)
                else:
                    found.setdefault((task, record.item_id), [None] * len(runs))[place] = record
        known = {record.item_id for records in run.values() for record in records}
        if absent := [item for item in people if item not in known]:
            left[ONLY_PEOPLE] = absent
    return SharedItems(
        tuple(
            SharedItem(task, questions[item], tuple(sorted(people[item])), tuple(records))
            for (task, item), records in found.items()
        ),
        tuple({why: tuple(items) for why, items in left.items()} for left in left_out),
    )


def _same_choices(question: AskedQuestion, record: Record) -> bool:
    """Whether a run chose among what people chose among; a model may be asked otherwise than people are."""
    if question.written or not question.answer or record.expected is None:
        return False
    return not question.choices or record.expected.upper() in tuple(question.choices)


def _other_key(question: AskedQuestion, record: Record) -> bool:
    if question.written and question.answer and record.expected is not None:
        return as_written(question.answer) != as_written(record.expected)
    return _same_choices(question, record) and str(record.expected).upper() != question.answer


def sum_groups(contributions: Iterable[tuple[SharedItem, Counts]]) -> list[list[Counts]]:
    """What each group of items adds to some counts, by task."""
    tasks: defaultdict[str, dict[str, Counts]] = defaultdict(dict)
    for item, counts in contributions:
        groups, group = tasks[item.task], item.record.group_id
        groups[group] = tuple(map(sum, zip(groups[group], counts, strict=True))) if group in groups else counts
    return [list(groups.values()) for groups in tasks.values()]
