"""The check that the ranks of an evaluation would ask the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress

import lmms_eval_tasks
from lmms_eval_tasks.host.ranks import current_exchange, stop_if_any
from lmms_eval_tasks.host.tasks.running import TaskState
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.data.home import media_path, read_manifest
from lmms_eval_tasks.utils.judge.client import read_settings


def stop_unless_ranks_agree(states: Sequence[TaskState]) -> None:
    """End the run on every rank where two of them have other data, prompts or settings; every rank has to call this."""
    ranks = current_exchange()
    if ranks.size > 1:
        stop_if_any(describe_disagreement(ranks.gather(rank_facts(states))))


def rank_facts(states: Sequence[TaskState]) -> dict[str, str]:
    facts = {"version of lmms-eval-tasks": lmms_eval_tasks.__version__}
    if states and (shard := states[0].evaluation.shard):
        facts["part of the run"] = str(shard)
    if states and (sample := states[0].evaluation.sample):
        facts["sample of groups"] = str(sample)
    for state in states:
        facts |= {f"{state.name}, {what}": text for what, text in _task_facts(state).items()}
    return facts


def _task_facts(state: TaskState) -> dict[str, str]:
    split = read_manifest(state.benchmark.card).splits[state.pointer["split"]]
    table = state.evaluation.open_split(state.pointer)
    asked = list(table["asked"])
    absent = [item for item, is_asked in zip(table["item_id"], asked, strict=True) if not is_asked]
    digest = f", {hashlib.sha256(chr(0).join(absent).encode()).hexdigest()[:12]}" if absent else ""
    facts = {
        "prepared data": f"{len(table):,} items, table {split.table_sha256[:12]}",
        "items whose clip is missing": f"{len(absent):,}{digest}",
    }
    if state.evaluation.clips_needed and True in asked:
        # The first rank has looked for all clips; a rank that does not see its folder lacks them all.
        row, card = table[asked.index(True)], state.benchmark.card
        clips = [media_path(card.name, row, column) for column in card.clip_columns]
        facts["first clip"] = "found" if all(clip.is_file() for clip in clips) else "not found"
    with suppress(RuntimeError):  # lmms-eval asked for no prompt yet, on any rank
        facts["prompt"] = state.settings.signature or "none"
        facts |= {name: str(value) for name, value in state.settings.facts().items()}
    if state.kind.judge and state.evaluation.judge_needed:
        judge = read_settings(optional=state.kind.judge == "optional")
        facts["judge"] = "none" if judge is None else f"{judge.model}, {judge.sampling}"
    return facts


def describe_disagreement(ranks: Sequence[Mapping[str, str]]) -> str | None:
    """Return in which facts about their questions the ranks differ; None if in none."""
    lines = []
    for name in dict.fromkeys(name for facts in ranks for name in facts):
        holders: dict[str, list[int]] = {}
        for rank, facts in enumerate(ranks):
            holders.setdefault(facts.get(name, "not asked"), []).append(rank)
        if len(holders) > 1:
            texts = [
                f"{text} on {'rank' if len(holding) == 1 else 'ranks'} {summarize_names(holding)}"
                for text, holding in holders.items()
            ]
            lines.append(f"  {name}: {'; '.join(texts)}")
    if not lines:
        return None
    return "\n".join(
        [
            "The ranks of this run would not ask the same, so their answers cannot be scored together:",
            *lines,
            "Give all ranks the same data home (LMMS_EVAL_TASKS_HOME), the same settings and the same version.",
        ]
    )
