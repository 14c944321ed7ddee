"""A near-miss of the answer and of each distractor, and the six options in a drawn order.

Source: CaST-Bench, supplement, 10.5: one attribute changed, a length within 10%. By rule one stretch of words is
another; whether that is one attribute, and a meaning of its own, a model says.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from lmms_eval_tasks.build.cast_bench.config import CHECKER, NEAR_MISS_WRITER, CastBenchConfig
from lmms_eval_tasks.build.cast_bench.rows import (
    MADE_FIRST,
    TEXT_BASED,
    VIDEO_BASED,
    OptionsRow,
    QuestionRow,
    RoledOption,
)
from lmms_eval_tasks.build.cast_bench.texts import is_legible, length_range, near_miss_fault, on_one_line
from lmms_eval_tasks.build.engine.asking import Asking
from lmms_eval_tasks.build.engine.replies import Form
from lmms_eval_tasks.build.engine.steps import Forecast, Removed, RowStep
from lmms_eval_tasks.build.engine.texts import bare_words, is_marked
from lmms_eval_tasks.cast_bench.card import NEAR_MISS
from lmms_eval_tasks.cast_bench.roles_file import ANSWER


class WrittenNearMiss(Form):
    """A near-miss as a model writes it."""

    near_miss: str


class NearMissComparison(Form):
    """Attributes in which a near-miss differs, and the options that mean the same as it."""

    attributes: list[str]
    same_as: list[str]


class WriteNearMisses(RowStep[QuestionRow, OptionsRow]):
    """Adds a near-miss of each answer, and puts the six options in order."""

    name = "near-misses"
    takes, gives = QuestionRow, OptionsRow
    roles = (NEAR_MISS_WRITER, CHECKER)
    forecast = Forecast(requests=6.6, characters=1000, reply_tokens=60)

    def __init__(self, config: CastBenchConfig) -> None:
        self._config = config

    def run(self, row: QuestionRow, asking: Asking) -> list[OptionsRow]:
        """The question with its options, each with its role."""
        options = {ANSWER: row.answer, TEXT_BASED: row.text_distractor, VIDEO_BASED: row.video_distractor}
        for role in MADE_FIRST:
            options[near_miss_role(role)] = self._write(row, role, options, asking)
        listed = [RoledOption(role=role, text=text) for role, text in options.items()]
        random.Random(f"{self._config.seed} {row.id} options").shuffle(listed)
        return [OptionsRow(id=row.id, asked=row, options=tuple(listed))]

    def _write(self, row: QuestionRow, role: str, options: Mapping[str, str], asking: Asking) -> str:
        """A near-miss of the option of a role that differs from all options until now."""
        original = options[role]
        others = {name: text for name, text in options.items() if name != role}
        shortest, longest = length_range(original)
        refused: list[dict[str, str]] = []
        for _ in range(self._config.tries):
            reply = asking.ask(
                NEAR_MISS_WRITER, "cast_bench_near_miss", WrittenNearMiss,
                question=row.question, original=original, others=list(others.values()), shortest=shortest,
                longest=longest, refused=refused,
            )  # fmt: skip
            text = on_one_line(reply.near_miss)
            fault = near_miss_fault(text, original)
            if not fault and not is_legible(text):
                fault = "near-miss: not printable"
            if not fault and is_marked(text):
                fault = "near-miss: says which option it is"
            if not fault and any(bare_words(text) == bare_words(other) for other in options.values()):
                fault = "near-miss: equals another option"
            if not fault:
                fault = self._compare(row, text, original, others, asking)
            if not fault:
                return text
            refused.append({"near_miss": text, "why": fault})
        raise Removed(fault, f"of the {role} option: {text}")

    def _compare(self, row: QuestionRow, text: str, original: str, others: Mapping[str, str], asking: Asking) -> str:
        """Return the fault that a model finds in a near-miss, empty if it finds none."""
        reply = asking.ask(
            CHECKER, "cast_bench_near_miss_check", NearMissComparison,
            question=row.question, original=original, changed=text, others=dict(others),
        )  # fmt: skip
        if reply.same_as:
            return "near-miss: means the same as another option"
        attributes = {words for name in reply.attributes if (words := bare_words(name))}
        if len(attributes) > 1:
            return "near-miss: more than one attribute changed"
        return "" if attributes else "near-miss: nothing changed"


def near_miss_role(role: str) -> str:
    """The role of a near-miss of the option of a role, as the card names it."""
    return f"{NEAR_MISS}-of-{role}"
