"""The form of a CounterVQA set: `questions.jsonl`, `graphs.jsonl` and a folder of clips.

The paper's data is not released, so this form is ours; README.md describes it for people.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from lmms_eval_tasks.utils.core.json_rows import Row, WholeText

QUESTIONS = "questions.jsonl"
GRAPHS = "graphs.jsonl"
CLIPS = "clips"

Seconds = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Verdict = Literal["yes", "no"]
Level = Literal[1, 2, 3]
Interaction = Literal["H2H", "H2O"]
Rule = Literal["adjacent_unlinked", "adjacent_linked", "path", "disconnected", "absent"]
"""How a question was made from its graph: L1 of two adjacent actions without a link (yes) or, ours, with one (no); L2 of
a path of two links or more (no) or, ours, of two actions without a path (yes); L3 of an action that is absent (yes)."""

OWN_RULES: tuple[Rule, ...] = ("adjacent_linked", "disconnected")
"""Those that are ours and not the paper's."""


class Action(Row):
    """An action of a clip: when it begins and ends (seconds), what is done, and by whom where that is known."""

    id: WholeText
    start: Seconds
    end: Seconds | None = None
    text: WholeText
    subject: WholeText | None = None


class Link(Row):
    """A causal link: without the action `cause`, the action `effect` would not have happened. Both are ids."""

    cause: WholeText
    effect: WholeText


class ClipGraph(Row):
    """One line of `graphs.jsonl`: a clip's actions in order of their start, and the causal links between them.

    `clip` is a path below the folder of clips; `task` is what the clip shows somebody do, empty where that is unknown.
    """

    clip: WholeText
    task: WholeText = ""
    actions: list[Action]
    links: list[Link]


class Question(Row):
    """One line of `questions.jsonl`: had an action not happened, would the outcome still have?

    `action` and `outcome` are ids of the clip's actions; `action` is None at level 3, where `absent_action` names in
    words the action that never happened. `partner` is the id of the question about the same clip with the opposite
    verdict, if there is one: both count together in `pair_accuracy`. `rule` is None where a question was not made from
    its graph by rule.
    """

    id: WholeText
    clip: WholeText
    level: Level
    interaction: Interaction
    question: WholeText
    verdict: Verdict
    explanation: WholeText
    action: WholeText | None = None
    absent_action: WholeText | None = None
    outcome: WholeText
    partner: WholeText | None = None
    rule: Rule | None = None
