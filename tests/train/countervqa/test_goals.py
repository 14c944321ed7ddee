"""A question that asks of the clip's main goal, from the set to verdicts, probe, training rows and rewards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from releases import write_clip
from task_states import task_state

from lmms_eval_tasks.construct.countervqa.questions import Phrasing
from lmms_eval_tasks.countervqa import hooks
from lmms_eval_tasks.countervqa.benchmark import prepare
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.train.countervqa.training_set import answer_items, read_set, reward_items
from lmms_eval_tasks.utils.core.forms import as_lines

GOAL, NEVER = "making milk tea", "C salts the water."
ACTIONS = ("C boils the water.", "C pours the tea.", "C adds the milk.")
GRAPH: dict[str, Any] = {
    "clip": "one.mp4",
    "task": "Milk tea",
    "goal": GOAL,
    "actions": [{"id": f"A{n}", "start": float(n), "text": text} for n, text in enumerate(ACTIONS)],
    "links": [{"cause": "A0", "effect": "A1"}],
}
ASKED, WHY = Phrasing(()).write("absent_goal", absent_action=NEVER, goal=GOAL)
QUESTION: dict[str, Any] = {
    "id": "q1", "clip": "one.mp4", "level": 3, "interaction": "H2O", "verdict": "yes", "absent_action": NEVER,
    "question": ASKED, "explanation": WHY, "rule": "absent_goal",
}  # fmt: skip


RESPONSES = (
    ("Yes, the main goal would still have been reached.", "yes"),
    ("The milk tea would still have been made, as salt is never added.", "yes"),
    ("The main goal does not depend on it.", "yes"),
    ("No. Without salt the goal could not have been reached.", "no"),
    ("Making milk tea would not have been possible without it.", "no"),
)


def test_its_verdict_is_read_and_it_can_be_trained_on(home: Path, tmp_path: Path) -> None:
    source = tmp_path / "set"
    write_clip(source / "clips" / "one.mp4")
    (source / "questions.jsonl").write_text(as_lines([QUESTION]), encoding="utf-8")
    (source / "graphs.jsonl").write_text(as_lines([GRAPH]), encoding="utf-8")
    prepare(source)
    row = {**load_table("countervqa", "test")[0], "asked": True}
    assert (row["outcome"], row["action"]) == (GOAL, NEVER)
    for response, expected in RESPONSES:
        record = hooks.grade(row, response, task_state("countervqa")).record
        assert (record.answered, record.stratum["level"], record.stratum["rule"]) == (expected, "L3", "absent_goal")
        record = hooks.grade_probe(row, f"Happened: no\nAnswer: {response}", task_state("countervqa_probe")).record
        assert (record.fields["detected"], record.answered) == (True, expected)
    questions = read_set(source)
    assert answer_items(questions)[0].response == QUESTION["explanation"]
    # Nothing of the graph leads to a goal, so that there is nothing that the causal reward could ask for.
    assert reward_items(questions, ["causal"]) == []
    for reward in ("visual", "graph", "verdict", "one_of_ms-swift"):
        (item,) = reward_items(questions, ["causal", reward])
        assert item.item_id == QUESTION["id"]
