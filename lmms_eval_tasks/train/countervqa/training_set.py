"""A CounterVQA set as training rows, with a teacher's reasoning or without, its supervised stage, and tested clips.

Source: CounterVQA (arXiv 2511.19923): supervised training is stage I of the paper's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.countervqa.card import CARD
from lmms_eval_tasks.countervqa.hooks import PROMPT
from lmms_eval_tasks.countervqa.release import CLIPS, GRAPHS, QUESTIONS, ClipGraph, CounterfactualQuestion, read_release
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.train.stages.new_stage import TestedClip, Written, sft_method, write_stage
from lmms_eval_tasks.train.stages.stage import Inputs, TrainingItem
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import RowForm, WholeText, read_rows
from lmms_eval_tasks.utils.core.text import describe
from lmms_eval_tasks.utils.core.work import Progress, no_progress

CLAIMS_PROMPT = "countervqa_claims"


class ReasoningRow(RowForm):
    """A line of what `train countervqa cot` writes: a teacher's reasoning and answer to a question of a set."""

    id: WholeText
    clip: WholeText
    question: WholeText
    reasoning: WholeText
    answer: WholeText


@dataclass(frozen=True)
class QuestionSet:
    files: tuple[Path, Path]
    clips: Path
    questions: Sequence[CounterfactualQuestion]
    graphs: Mapping[str, ClipGraph]

    def clip(self, question: CounterfactualQuestion) -> Path:
        return self.clips / question.clip


def read_set(source: Path, videos: Path | None = None) -> QuestionSet:
    questions_file = source / QUESTIONS if source.is_dir() else source
    files = questions_file, questions_file.parent / GRAPHS
    for file in files:
        if not file.is_file():
            raise InputError(f"Expected a set of {CARD.title} in {source}, but there is no {file}.")
    questions, graphs, problems = read_release(*files)
    problems.raise_if_any(f"{questions_file} cannot be used", "nothing was written")
    return QuestionSet(files, videos or questions_file.parent / CLIPS, questions, graphs)


def read_reasoning(path: Path, questions: QuestionSet) -> dict[str, ReasoningRow]:
    issues = Problems()
    known = {question.id: question for question in questions.questions}
    rows: dict[str, ReasoningRow] = {}
    for where, row in read_rows(path, ReasoningRow, issues, exact=False):
        asked = known.get(row.id)
        if asked is None or (asked.clip, asked.question) != (row.clip, row.question):
            issues.add(
                "id", "Expected a question of the set with its clip and text, but got", f"{describe(row.id)} ({where})"
            )
        elif row.id in rows:
            issues.add("id", "Expected each once, but got again", f"{describe(row.id)} ({where})")
        rows.setdefault(row.id, row)
    if not rows and not issues:
        issues.add("lines", "Expected rows, but", "there is none")
    issues.raise_if_any(f"{path} cannot be used as reasoning", "nothing was written")
    return rows


def ask(question: CounterfactualQuestion, prompt: str = CLAIMS_PROMPT) -> str:
    """Return the prompt for a question, asking for reasoning in the form that the rewards read, or as in the
    evaluation."""
    return read_prompt(prompt).render(question=question.question)


def answer_items(questions: QuestionSet) -> list[TrainingItem]:
    """Every question with its verdict and the reference's explanation, and no reasoning before it."""
    return [_answered(questions, one, ask(one, PROMPT), reference(one)) for one in questions.questions]


def reasoning_items(questions: QuestionSet, rows: Mapping[str, ReasoningRow]) -> list[TrainingItem]:
    """The questions for which there is reasoning, answered as the teacher did, in the form that `format` rewards."""
    taught = (one for one in questions.questions if one.id in rows)
    return [_answered(questions, one, ask(one), reasoned(rows[one.id])) for one in taught]


def _answered(questions: QuestionSet, question: CounterfactualQuestion, prompt: str, response: str) -> TrainingItem:
    return TrainingItem(question.id, questions.clip(question), prompt, response, question=question.question)


def reward_items(questions: QuestionSet, rewards: Iterable[str]) -> list[TrainingItem]:
    """The questions without answers to which one of the rewards applies, with the columns that these read."""
    # Only here: the rewards take long to import.
    from lmms_eval_tasks.train.countervqa.rewards import REWARDS
    from lmms_eval_tasks.train.rewards.reward_sample import read_sample

    items = []
    for question in questions.questions:
        columns = {
            "graph": questions.graphs[question.clip].model_dump_json(),
            "action": question.action,
            "absent_action": question.absent_action,
            "outcome": question.outcome,
            "answer": question.verdict,
            "question": question.question,
            "clip": str(questions.clip(question).absolute()),
        }
        sample = read_sample(columns)
        if any(name not in REWARDS or REWARDS[name]("", sample) is not None for name in rewards):
            clip, asked = questions.clip(question), question.question
            items.append(TrainingItem(question.id, clip, ask(question), columns=columns, question=asked))
    return items


def kept_by_level(questions: QuestionSet, items: Iterable[TrainingItem]) -> dict[str, tuple[int, int]]:
    """Of each level, how many questions are trained on and how many the set has."""
    kept = {item.item_id for item in items}
    levels: dict[str, tuple[int, int]] = {}
    for question in sorted(questions.questions, key=lambda question: question.level):
        trained, every = levels.get(f"L{question.level}", (0, 0))
        levels[f"L{question.level}"] = trained + (question.id in kept), every + 1
    return levels


def reasoned(row: ReasoningRow) -> str:
    return f"<think>{row.reasoning.strip()}</think>\n<answer>{row.answer.strip()}</answer>"


def reference(question: CounterfactualQuestion) -> str:
    """The verdict and the reference's explanation, in the order that the prompt asks for."""
    verdict = question.verdict.capitalize()
    explanation = question.explanation.strip()
    return explanation if explanation.lower().startswith(question.verdict) else f"{verdict}. {explanation}"


REASONING, ANSWERS = "sft on reasoning", "sft on answers"
"""What a supervised stage is called in `trained_on.json`."""


def write_sft(inputs: Inputs, reasoning: Path | None, progress: Progress = no_progress) -> Written:
    """Write the first stage: supervised, on a teacher's reasoning or, without one, on the answers of the set."""
    questions = read_set(inputs.source, inputs.videos)
    if reasoning is None:
        items = answer_items(questions)
    else:
        items = reasoning_items(questions, read_reasoning(reasoning, questions))
    data = (*questions.files, *([reasoning] if reasoning else []))
    method = sft_method(ANSWERS if reasoning is None else REASONING)
    return write_stage(inputs, items, kept_by_level(questions, items), method, data, tested_clips, progress)


def tested_clips(test: Path) -> list[TestedClip]:
    questions = read_set(test)
    return [
        TestedClip(str(test), name, path if (path := questions.clips / name).is_file() else None, asked)
        for name, asked in sorted(asked_of_clips(questions).items())
    ]


def asked_of_clips(questions: QuestionSet) -> Mapping[str, list[str]]:
    asked: dict[str, list[str]] = {}
    for question in questions.questions:
        asked.setdefault(question.clip, []).append(question.question)
    return asked
