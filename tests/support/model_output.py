"""Every reader of a model's or a judge's output, and texts for it: repeated pieces for time, random ones for failures.

A task's reader is the whole of what happens to a response once it is there: it is read, graded and made a record with
its scores. A judge of free answers replies as it should, so that its own replies are read by readers of their own.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import BaseModel
from task_states import new_state
from version_gate import EXAMPLES

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.cast_bench.open_ended import AgreementScores, ConsistencyScore
from lmms_eval_tasks.cast_bench.submission import read_asked
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.examples import read_file
from lmms_eval_tasks.utils.core.text import secret_forms
from lmms_eval_tasks.utils.judge.client import UnreadableReply, Verdict, read_reply
from lmms_eval_tasks.utils.judge.replies import Case
from lmms_eval_tasks.utils.judge.server import safe_line
from lmms_eval_tasks.yocausal.labelling import Causality, OfficialCausality

Reader = Callable[[str], object]

TESTS = Path(__file__).parents[1]
JUDGE_REPLIES: tuple[type[BaseModel], ...] = (AgreementScores, ConsistencyScore, Causality, OfficialCausality)

KEYS = (
    "answer", "answer_choice", "choice", "final_answer", "instances", "instance_name", "evidences", "00:01",
    "evidence_start_time", "evidence_end_time", "bboxes_in_time_range", "verdict", "reasoning", "confidence",
    "video_has_general_causality", *DIMENSIONS, "schema_version", "item_id", "loss", "losses", "forward", "backward",
    "timesteps", "windows", "error", "kind", "message",
)  # fmt: skip


class _GivenJudge:
    """A judge that gives every case of a prompt the same reply, where it has one, and reads it as any other."""

    def __init__(self, schema: type[BaseModel], replies: Mapping[str, str]) -> None:
        self.schema, self.replies = schema, replies

    def judge(self, case: Case) -> Verdict[Any]:
        """The verdict on a case."""
        try:
            reply = read_reply(self.replies.get(case.prompt.prompt_id, ""), self.schema)
        except UnreadableReply as error:
            return Verdict(None, str(error), "given", "given")
        return Verdict(reply, None, "given", "given")


@dataclass(frozen=True, eq=False)
class JudgedEvaluation(Evaluation):
    """An evaluation whose judges give every case of a prompt the same reply."""

    clips_needed: bool = False
    replies: Mapping[str, str] = field(default_factory=dict)

    def judge(self, schema: Any, optional: bool = False) -> Any:
        """A judge for replies of a schema."""
        return _GivenJudge(schema, self.replies)


@cache
def readers() -> dict[str, Reader]:
    """Every reader by what it reads: one task of each kind, the forms of reply, a file's prompts, a server's texts."""
    found: dict[str, Reader] = {}
    kinds = set()
    for name, task in registry().tasks.items():
        kind = task.benchmark.name, task.pointer.get("kind")
        if kind not in kinds and (task.benchmark.folder.parent.name == "lmms_eval_tasks"):
            kinds.add(kind)
            found[name] = _task_reader(name)
    found |= {f"reply of {schema.__name__}": partial(_read_reply, schema=schema) for schema in JUDGE_REPLIES}
    found["prompt of a prediction"] = read_asked
    found["text of a judge's server"] = _read_server_text
    return found


def _task_reader(name: str) -> Reader:
    task = registry().tasks[name]
    examples = read_file(EXAMPLES / f"{task.benchmark.name}.json")
    state = new_state(name, JudgedEvaluation(replies=examples.get("reply", {})))
    row = {**examples["rows"][0], "asked": True}
    state.doc_to_text(row)

    def read(text: str) -> object:
        items = state.process_results(row, [text])
        json.dumps(items)
        record = items["record"]
        if record["outcome"] == "correct" and not task.kind.judge:
            assert record["answered"] == record["expected"]
        return items

    return read


def _read_reply(text: str, schema: type[BaseModel]) -> object:
    with suppress(UnreadableReply):
        return read_reply(text, schema)
    return None


def _read_server_text(text: str) -> object:
    return safe_line(text, secret_forms({"OPENAI_API_KEY": "token=a", "OTHER_TOKEN": "a" * 8}))


def pieces() -> list[str]:
    """The pieces."""
    groups = json.loads((TESTS / "support" / "output_pieces.json").read_text(encoding="utf-8"))
    return [piece for name, group in groups.items() if name != "what" for piece in group]


@cache
def recorded() -> list[str]:
    """Responses and replies that tests record: the answers' and the evidence's cases, the version gate's examples."""
    answers = json.loads((TESTS / "utils" / "answers" / "cases.json").read_text(encoding="utf-8"))["cases"]
    evidence = json.loads((TESTS / "utils" / "answers" / "evidence" / "cases" / "diagnosis.json").read_text("utf-8"))[
        "cases"
    ]
    texts = [case["text"] for case in (*answers, *evidence)]
    for name in {task.benchmark.name for task in registry().tasks.values()}:
        if (TESTS / "version_examples" / f"{name}.json").is_file():
            content = read_file(EXAMPLES / f"{name}.json")
            texts += [text for text in (*content["runs"], *content.get("reply", {}).values()) if isinstance(text, str)]
    return list(dict.fromkeys(texts))


def _mutate(text: str, seed: int, changes: int, inserted: Sequence[str]) -> str:
    """A text with parts cut out, doubled, moved, and pieces put in."""
    chance = random.Random(seed)
    for _ in range(changes):
        first, last = sorted(chance.randint(0, len(text)) for _ in range(2))
        middle = text[first:last]
        text = chance.choice(
            (
                text[:first] + text[last:],
                text[:last],
                text[:first] + middle * 2 + text[last:],
                text[:first] + middle[::-1] + text[last:],
                text[:first] + chance.choice(inserted) + text[first:],
                text[:first] + chance.choice(inserted) * chance.randint(1, 9) + text[last:],
            )
        )
    return text


def outputs() -> SearchStrategy[str]:
    """Texts that a model or judge might say, and many that none would: any characters, pieces, JSON, broken records."""
    known = pieces()
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(known)
    keys = st.sampled_from(KEYS) | st.text(max_size=4)
    trees = st.recursive(
        scalars, lambda node: st.lists(node, max_size=4) | st.dictionaries(keys, node, max_size=5), max_leaves=12
    )
    broken = st.builds(
        partial(_mutate, inserted=known), st.sampled_from(recorded()), st.integers(0, 2**32), st.integers(0, 6)
    )
    return st.one_of(
        broken,
        broken,
        st.text(st.characters(exclude_categories=[]), max_size=80),
        st.lists(st.sampled_from(known), max_size=20).map("".join),
        trees.map(json.dumps),
        trees.map(str),
    )
