"""Unparsed answers of a finished run, read by a judge: which answer a response chooses, or none."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from pydantic import BaseModel, create_model

from lmms_eval_tasks.finished.rescore import RegradedTask
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.utils.answers.choice import EXTRACTOR
from lmms_eval_tasks.utils.answers.opening import content, shorten
from lmms_eval_tasks.utils.answers.plausible import IMPOSSIBLE, PLAUSIBILITY_READER, POSSIBLE
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.answers.verdict import VERDICT_READER
from lmms_eval_tasks.utils.benchmark.benchmark import TaskKind, guess_option
from lmms_eval_tasks.utils.benchmark.tasks import RECORD
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.forms import RowForm
from lmms_eval_tasks.utils.core.text import JUDGE
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.judge.client import Verdict, open_judge, read_settings
from lmms_eval_tasks.utils.judge.replies import Case, JudgeSettings
from lmms_eval_tasks.utils.scoring.record import FRAME, HOW_ASKED, JudgeReading, Outcome, Record

PROMPT = "unparsed_answer"
NO_CHOICE = "none"
CHECKED = 50
"""How many answers that one of our readers reads are read by the judge too, to see how often both agree."""
MEANINGS: Mapping[str, Mapping[str, str]] = {
    EXTRACTOR: {},
    VERDICT_READER: {"yes": "yes, it would", "no": "no, it would not"},
    PLAUSIBILITY_READER: {POSSIBLE: "what is shown is possible", IMPOSSIBLE: "what is shown is not possible"},
}
"""Readers of answers that a judge can read as well, and what their answers say that are no options of a row."""


@dataclass(frozen=True)
class Said:
    """A response that was graded, by its task, its item's place there and its sample's; each from 0."""

    task: str
    item: int
    sample: int
    record: Record
    text: str

    @property
    def draw(self) -> str:
        """What a few are drawn by: the same of the same items, whatever else is asked."""
        name = f"{self.task} {self.record.item_id} {self.sample}"
        return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class JudgeQuestion:
    """A response that the judge is asked about; `answers` are its row's by the responses that give them."""

    said: Said
    answers: Mapping[str, Record]
    case: Case


def judge_settings() -> JudgeSettings:
    """The judge of the environment, at temperature 0; InputError, in one line, where there is none."""
    settings = read_settings(optional=True)
    if settings is None:
        where = f"{JUDGE}=none" if os.environ.get(JUDGE) else "none"
        raise InputError(
            f"Expected a judge for --read-unparsed, such as {JUDGE}=model=NAME,url=http://localhost:8000/v1, "
            f"but got {where}."
        )
    return settings.model_copy(update={"temperature": 0.0})


def read_unparsed(
    tasks: Mapping[str, RegradedTask], settings: JudgeSettings, progress: Progress = no_progress
) -> dict[str, RegradedTask]:
    """Have a judge read the unparsed answers of tasks, and some that our reader reads; raises nothing for a reply.

    A judge gets each text once, also over several runs: accepted replies are kept. What it reads is graded as if the
    model had said just that, so that it counts as a plain answer does.
    """
    unread: list[Said] = []
    read: defaultdict[str, list[Said]] = defaultdict(list)
    for name, task in tasks.items():
        for said in _said(name, task) if task.kind.extractor in MEANINGS else ():
            (unread if said.record.outcome is Outcome.UNPARSED else read[task.kind.extractor]).append(said)
    asked = list(_questions(tasks, unread))
    for of_reader in read.values() if asked else ():
        asked += islice(_questions(tasks, sorted(of_reader, key=lambda said: said.draw)), CHECKED)
    by_labels: defaultdict[tuple[str, ...], list[JudgeQuestion]] = defaultdict(list)
    for question in asked:
        by_labels[tuple(question.answers)].append(question)
    readings: defaultdict[tuple[str, int], dict[int, JudgeReading]] = defaultdict(dict)
    for labels, questions in by_labels.items():
        judge = open_judge(_schema(labels), settings)
        verdicts = judge.judge_all([question.case for question in questions], progress)
        for question, verdict in zip(questions, verdicts, strict=True):
            said = question.said
            readings[said.task, said.item][said.sample] = _reading(question, verdict)
    return {name: replace(task, brought=list(_with_readings(name, task, readings))) for name, task in tasks.items()}


def _said(name: str, task: RegradedTask) -> Iterator[Said]:
    """Yield the responses of a task that have a text and were scored."""
    for place, (logged, brought) in enumerate(zip(task.logged, task.brought, strict=True)):
        records = map(Record.from_json, (brought[RECORD], *brought[RECORD].get("samples", ())))
        for sample, (record, response) in enumerate(zip(records, logged.responses, strict=True)):
            if record.outcome is not Outcome.UNSCORED and response.strip():
                yield Said(name, place, sample, record, response)


def _questions(tasks: Mapping[str, RegradedTask], responses: Iterable[Said]) -> Iterator[JudgeQuestion]:
    """Yield what the judge is asked about responses; nothing about those whose row has no answers that it can name."""
    prompt = read_prompt(PROMPT)
    for said in responses:
        task = tasks[said.task]
        doc, question = task.docs[said.item], task.logged[said.item].values.get("input")
        if answers := _answers(task, doc):
            material = {
                "asked": question if isinstance(question, str) else str(doc.get("question") or ""),
                "possible_answers": {label: _meaning(task.kind, doc, label, one) for label, one in answers.items()},
                # Reasoning is no answer, unless there is nothing else.
                "response": shorten(content(said.text)) or shorten(said.text),
            }
            yield JudgeQuestion(said, answers, Case.of(prompt, material))


def _answers(task: RegradedTask, doc: Mapping[str, Any]) -> dict[str, Record]:
    """Return a row's answers: the response that gives each, and its record; none where each is not read alone."""
    answers = {
        guess: Record.from_json(task.config["process_results"](doc, [Reply(guess)])[RECORD])
        for guess in task.kind.guesses(doc)
    }
    said = {record.answered for record in answers.values()}
    return answers if len(said - {None}) == len(answers) > 1 else {}


def _meaning(kind: TaskKind, doc: Mapping[str, Any], label: str, answer: Record) -> str:
    options = dict(zip(guess_option(doc), doc.get("options") or (), strict=False))
    return str(options.get(label) or MEANINGS[kind.extractor].get(str(answer.answered), label))


def _schema(labels: Sequence[str]) -> type[BaseModel]:
    choice: Any = Literal.__getitem__((*labels, NO_CHOICE))
    return create_model("Choice", __base__=RowForm, choice=(choice, ...))


def _reading(question: JudgeQuestion, verdict: Verdict[Any]) -> JudgeReading:
    answer = question.answers.get(verdict.reply.choice) if verdict.reply else None
    if answer is None:
        return JudgeReading(
            answered=None, correct=None, model=verdict.model, prompt=verdict.prompt, reason=verdict.reason or ""
        )
    own = {
        name: value
        for name, value in answer.fields.items()
        if name not in (*HOW_ASKED, FRAME)
        and not name.startswith("official_")
        and question.said.record.fields.get(name) != value
    }
    return JudgeReading(
        answered=answer.answered, correct=answer.correct, model=verdict.model, prompt=verdict.prompt, fields=own
    )


def _with_readings(
    name: str, task: RegradedTask, readings: Mapping[tuple[str, int], Mapping[int, JudgeReading]]
) -> Iterator[Mapping[str, Any]]:
    """Yield what each item brings, with the readings in its records and in nothing that a score is computed of."""
    for place, brought in enumerate(task.brought):
        if not (found := readings.get((name, place))):
            yield brought
            continue
        first, *others = (
            {**record, "reading": found[sample].model_dump()} if sample in found else record
            for sample, record in enumerate((brought[RECORD], *brought[RECORD].get("samples", ())))
        )
        yield {**brought, RECORD: {**first, **({"samples": others} if others else {})}}
