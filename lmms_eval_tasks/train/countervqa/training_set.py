"""A CounterVQA set as training rows, with a teacher's reasoning or without, and its clips where a model is tested."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from lmms_eval_tasks.countervqa.card import CARD
from lmms_eval_tasks.countervqa.hooks import PROMPT
from lmms_eval_tasks.countervqa.release import CLIPS, GRAPHS, QUESTIONS, ClipGraph, CounterfactualQuestion, read_release
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.train.stages.new_stage import CanEarn, Earned, TestedClip
from lmms_eval_tasks.train.stages.stage import TrainingItem
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import RowForm, WholeText, read_rows
from lmms_eval_tasks.utils.core.text import describe

CLAIMS_PROMPT = "countervqa_claims"


class TaughtReply(BaseModel, extra="forbid", frozen=True):
    reasoning: WholeText
    answer: WholeText


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
        asked, got = known.get(row.id), f"{describe(row.id)} ({where})"
        if asked is None or (asked.clip, asked.question) != (row.clip, row.question):
            issues.add("id", "Expected a question of the set with its clip and text, but got", got)
        elif row.id in rows:
            issues.add("id", "Expected each once, but got again", got)
        rows.setdefault(row.id, row)
    if not rows and not issues:
        issues.add("lines", "Expected rows, but", "there is none")
    issues.raise_if_any(f"{path} cannot be used as reasoning", "nothing was written")
    return rows


def ask(question: CounterfactualQuestion, prompt: str = CLAIMS_PROMPT) -> str:
    """The prompt of a question, by default for reasoning in the form that the rewards read."""
    return read_prompt(prompt).render(question=question.question)


def answer_items(questions: QuestionSet) -> list[TrainingItem]:
    """Every question with its verdict and the reference's explanation, and no reasoning before it."""
    items = []
    for one in questions.questions:
        # The verdict comes first, as the prompt asks for it.
        response = one.explanation.strip()
        if not response.lower().startswith(one.verdict):
            response = f"{one.verdict.capitalize()}. {response}"
        items.append(TrainingItem(one.id, questions.clip(one), ask(one, PROMPT), response, question=one.question))
    return items


def reasoning_items(questions: QuestionSet, rows: Mapping[str, ReasoningRow]) -> list[TrainingItem]:
    """The questions for which there is reasoning, answered as the teacher did, in the form that `format` rewards."""
    return [
        TrainingItem(one.id, questions.clip(one), ask(one), reasoned(rows[one.id]), question=one.question)
        for one in questions.questions
        if one.id in rows
    ]


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
    kept, levels = {item.item_id for item in items}, dict[str, tuple[int, int]]()
    for level in sorted({question.level for question in questions.questions}):
        trained = [question.id in kept for question in questions.questions if question.level == level]
        levels[f"L{level}"] = sum(trained), len(trained)
    return levels


def earned_by_level(questions: QuestionSet, items: Iterable[TrainingItem], weights: Mapping[str, float]) -> Earned:
    """What the best answer to the questions of each level earns by those rewards that are ours, with either verdict."""
    # Only here: the rewards take long to import.
    from lmms_eval_tasks.train.countervqa.rewards import REWARDS
    from lmms_eval_tasks.train.rewards.answer_form import write_answer
    from lmms_eval_tasks.train.rewards.best_answer import OTHER, best_answer
    from lmms_eval_tasks.train.rewards.graph_rewards import has_more_to_say
    from lmms_eval_tasks.train.rewards.reward_sample import read_sample

    level_of = {question.id: f"L{question.level}" for question in questions.questions}
    ours = {name: weight for name, weight in weights.items() if name in REWARDS and weight}
    earned: defaultdict[str, list[tuple[bool, float, float]]] = defaultdict(list)
    for item in items:
        sample = read_sample(item.columns)
        verdict = item.columns["answer"]
        said = [write_answer(best_answer(sample, one)) for one in (verdict, OTHER[verdict])]
        # What does not apply adds nothing to ms-swift's sum.
        right, wrong = (
            sum(weight * (REWARDS[name](text, sample) or 0.0) for name, weight in ours.items()) for text in said
        )
        earned[level_of[item.item_id]].append((has_more_to_say(sample), right, wrong))
    parts = {
        level: CanEarn(
            len(of_level),
            sum(has_chain for has_chain, _, _ in of_level),
            tuple(right for _, right, _ in of_level),
            tuple(wrong for _, _, wrong in of_level),
        )
        for level, of_level in sorted(earned.items())
    }
    return Earned(ours, parts)


def reasoned(row: ReasoningRow | TaughtReply) -> str:
    return f"<think>{row.reasoning.strip()}</think>\n<answer>{row.answer.strip()}</answer>"


REASONING, ANSWERS = "sft on reasoning", "sft on answers"
"""What a supervised stage is called in `trained_on.json`."""


def tested_clips(test: Path) -> list[TestedClip]:
    questions = read_set(test)
    clips = sorted(asked_of_clips(questions).items())
    return [TestedClip(str(test), name, questions.clips / name, asked) for name, asked in clips]


def asked_of_clips(questions: QuestionSet) -> Mapping[str, list[str]]:
    asked = defaultdict[str, list[str]](list)
    for question in questions.questions:
        asked[question.clip].append(question.question)
    return asked
