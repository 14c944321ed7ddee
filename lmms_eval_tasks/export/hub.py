"""Results for a model's repository on the Hugging Face hub: its ``.eval_results`` files, and a section of its card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from lmms_eval_tasks.export import facts
from lmms_eval_tasks.runs.run_card import applying_hazards
from lmms_eval_tasks.runs.scores import PartScores, ScoredRun, ScoreEntry
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import Document, FittingTable, Format, Number, write_document

RESULTS = ".eval_results"
SECTION = "model_card_section.md"
DIGITS = 2

try:
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
except ImportError:
    EvalResultEntry = None

Exported = Sequence[tuple[ScoredRun, PartScores]]


def export_hub(runs: Sequence[ScoredRun]) -> tuple[dict[Path, str], list[str]]:
    """Return the files of a model's repository, and what has no entry: only whole official releases have."""
    if EvalResultEntry is None:
        raise InputError("`export hub` needs huggingface_hub 1.4 or newer: pip install 'huggingface_hub>=1.4'.")
    facts.refuse_samples(runs)
    if len(models := sorted({run.scores.model for run in runs})) > 1:
        raise InputError(f"Expected runs of one model, to whose repository the files go, but got {', '.join(models)}.")
    exported = [(run, part) for run in runs for part in facts.exported_parts(run)]
    names = [part.name for _, part in exported]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"Expected each task in one run, but got {', '.join(doubled)} more than once.")
    left_out = [
        (run, f"{part.name}: {reason}") for run in runs for part in run.scores.parts if (reason := _why_not(part))
    ]
    if not exported:
        raise InputError("\n  ".join([facts.NO_REAL_DATA, *(f"{run.path}: {why}" for run, why in left_out)]))
    files = {Path(SECTION): _section(exported)}
    entries: dict[str, list[EvalResultEntry]] = {}
    for run, part in exported:
        if not _why_not(part):
            entries.setdefault(part.benchmark, []).append(_entry(run, part))
    for benchmark, of_benchmark in entries.items():
        text = yaml.safe_dump(eval_result_entries_to_yaml(of_benchmark), sort_keys=False, width=10_000)
        files[Path(RESULTS) / f"{benchmark}.yaml"] = text
    return files, [why for _, why in left_out]


def _why_not(part: PartScores) -> str:
    card = facts.card_of(part)
    if facts.is_sample(part):
        return facts.SAMPLE
    if part.find(part.leading) is None:
        return "its leading score has no value"
    if card is None:
        return "a benchmark that is not installed here"
    if reason := facts.why_not_whole(part):
        return reason
    return "" if card.hub_id else f"no dataset of {card.title} is known on the hub"


def _entry(run: ScoredRun, part: PartScores) -> EvalResultEntry:
    card, score = facts.card_of(part), part.find(part.leading)
    assert card is not None and score is not None and score.value is not None
    return EvalResultEntry(
        dataset_id=card.hub_id,
        task_id=part.name,
        value=round(score.value, DIGITS),
        dataset_revision=facts.data_revision(run, part),
        date=facts.started(run).isoformat(),
        notes=f"{_noted(run, score)}; {_signature(run, part)}",
    )


def _noted(run: ScoredRun, score: ScoreEntry) -> str:
    unit = {"%": "in percent", "points": "in percentage points"}.get(score.unit, score.unit)
    name = f"{score.title} {unit}".strip()
    if score.low is None or score.high is None or score.groups is None or score.items is None:
        return f"{name}, without an interval"
    interval = Number(score.value, score.low, score.high, digits=DIGITS).interval_text
    return f"{name}, 95% interval {interval}, {score.groups:,} groups of {score.items:,} items"


def _signature(run: ScoredRun, part: PartScores) -> str:
    prompt = facts.task_facts(run, part).get("prompt")
    asked = f"{part.name} version {part.version}" + (f", prompt {prompt}" if prompt else "")
    return f"{asked}, lmms-eval-tasks {run.scores.lmms_eval_tasks}, {run.scores.method}"


def _section(exported: Exported) -> str:
    table = FittingTable(
        "Video causal reasoning", ["task", "score", "value", "groups", "items", "unparsed", "version", "asked"], names=2
    )
    for _, part in exported:
        score = part.find(part.leading)
        assert score is not None
        sign = score.unit if score.unit == "%" else f" {score.unit}" if score.unit else ""
        value = Number(score.value, score.low, score.high, score.groups, score.unit, DIGITS, after=sign)
        counts = ["" if count is None else count for count in (score.groups, score.items)]
        unparsed = part.outcomes.get("unparsed", "")
        asked = facts.why_not_whole(part) or "the official release, whole"
        table.add_row(part.name, score.title, value, *counts, unparsed, part.version, asked)
    table.caption = "\n".join(_made(exported))
    return write_document(Document("export hub", [table]), Format.MARKDOWN)


def _made(exported: Exported) -> Iterator[str]:
    """Yield the facts about how the scores were made, one per line; runs made alike share theirs."""
    lines: dict[str, list[str]] = {}
    for run, part in exported:
        yours = [
            "; ".join([f"lmms-eval-tasks {run.scores.lmms_eval_tasks}", run.scores.method]).rstrip("; "),
            _listed("Run", facts.run_facts(run)),
            _listed("Asked with", facts.task_facts(run, part)),
            _listed("Known hazards that apply", dict.fromkeys(applying_hazards([run.card]), "")),
        ]
        for line in filter(None, yours):
            lines.setdefault(line, []).append(part.name)
    for line, names in lines.items():
        yield line if len(names) == len(exported) else f"{', '.join(names)}: {line}"


def _listed(what: str, named: dict[str, str]) -> str:
    return f"{what}: {', '.join(f'{name} {value}'.strip() for name, value in named.items())}" if named else ""
