"""Facts of a run that may leave this machine: the data of its scores, its time, and public fields of its card."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import PurePath
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.run_card import FIELDS, TASK, CardField, Sections, Value, read_object
from lmms_eval_tasks.runs.scores import PartScores, ScoredRun
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import Card
from lmms_eval_tasks.utils.scoring.record import Outcome

SAMPLING = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "max_new_tokens": "max_tokens"}
"""Settings of generation that may leave, with their names elsewhere."""
TIMEZONE = "Asia/Singapore"
"""The one in which lmms-eval dates its files where ``--timezone`` names no other."""
SAMPLE = "SAMPLE DATA, not the benchmark"
NO_REAL_DATA = "Expected scores of real data, but got none."
_DATE = re.compile(r"(\d{8})(?:_(\d{6}))?(?!\d)")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def card_of(part: PartScores) -> Card | None:
    benchmark = registry().benchmarks.get(part.benchmark)
    return benchmark.card if benchmark else None


def why_not_whole(part: PartScores) -> str:
    """Return the reason scores do not cover all items of an official release, each shown whole; empty if they do."""
    if part.apart:
        return part.apart
    if part.sampled:
        return f"a sample, {part.from_sample}"
    if part.view:
        return f"the view {part.view} of its items"
    for one in part.data:
        if one.items is None or one.items != one.of:
            return one.text
    if not part.data:
        return "data that the run does not name"
    if not part.outcomes:
        return "made without --log_samples, so that nobody can tell how many items were scored"
    if unscored := part.outcomes.get(Outcome.UNSCORED.value):
        return f"{unscored:,} of {sum(part.outcomes.values()):,} items not scored"
    return ""


def is_sample(part: PartScores) -> bool:
    return any(one.is_sample for one in part.data)


def refuse_samples(runs: Sequence[ScoredRun]) -> None:
    parts = [part for run in runs for part in run.scores.parts]
    if parts and all(map(is_sample, parts)):
        raise InputError("\n  ".join([NO_REAL_DATA, *(f"{run.path}: {SAMPLE}" for run in runs)]))


def exported_parts(run: ScoredRun) -> list[PartScores]:
    return [part for part in run.scores.parts if not is_sample(part) and part.find(part.leading) is not None]


def started(run: ScoredRun) -> datetime:
    """Return the start of a run, to the second: from lmms-eval's file name, in the time zone that its results name."""
    found = _DATE.match(run.scores.results)
    if not found:
        raise InputError(
            f"{run.path} cannot be exported: Expected a results file with its date in its name, as lmms-eval writes "
            f"it, but got {run.scores.results}. Give it its name back."
        )
    options = run.results.config.resolved_cli_args if run.results else {}
    zone = str(options.get("timezone") or TIMEZONE)
    try:
        moment = datetime.strptime("".join(filter(None, found.groups())).ljust(14, "0"), "%Y%m%d%H%M%S")
        return moment.replace(tzinfo=ZoneInfo(zone))
    except (ValueError, ZoneInfoNotFoundError) as error:
        raise InputError(f"{run.path} cannot be exported: its date cannot be read ({error}).") from None


def hub_model(run: ScoredRun) -> str:
    """The model's id on the hub, where the card shows that it came from there; empty otherwise."""
    model = run.card.get("model", {})
    checkpoint, revision = str(model.get("checkpoint") or ""), str(model.get("revision") or "")
    return checkpoint if _HUB_ID.fullmatch(checkpoint) and _COMMIT.fullmatch(revision) else ""


def data_revision(run: ScoredRun, part: PartScores) -> str | None:
    """The commit of the dataset on the hub that all tasks were prepared from; None where one was not."""
    found = {str(run.card.get(f"{TASK}{task}", {}).get("data revision")) for task in part.tasks}
    return revision if len(found) == 1 and _COMMIT.fullmatch(revision := found.pop()) else None


def run_facts(run: ScoredRun) -> dict[str, str]:
    facts = _public_facts(run.card, [field for field in FIELDS if field.section != TASK])
    return facts | ({"commit": str(run.card["model"]["revision"])} if hub_model(run) else {})


def task_facts(run: ScoredRun, part: PartScores) -> dict[str, str]:
    """Return the facts of a card that may leave, of a task or of a group's tasks where these are alike."""
    alike = _alike(run, part)
    facts = _public_facts({TASK: alike}, [field for field in FIELDS if field.section == TASK])
    judge = (read_object(alike.get("judge")) or {}).get("model")
    return facts | ({"judge": PurePath(judge).name} if isinstance(judge, str) else {})


def sampling_of(run: ScoredRun, part: PartScores) -> dict[str, float]:
    """Return the settings by which answers were sampled, where all tasks have the same and they are numbers."""
    settings = read_object(_alike(run, part).get("generation")) or {}
    return {
        elsewhere: settings[name]
        for name, elsewhere in SAMPLING.items()
        if isinstance(settings.get(name), int | float) and not isinstance(settings[name], bool)
    }


def _alike(run: ScoredRun, part: PartScores) -> dict[str, Value]:
    first, *others = [run.card.get(f"{TASK}{task}", {}) for task in part.tasks]
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def _public_facts(card: Sections, fields: Iterable[CardField]) -> dict[str, str]:
    """Return fields under their public names, but those that are not known, and paths."""
    found = ((field.public, card.get(field.section, {}).get(field.name)) for field in fields if field.public)
    return {
        name: str(value)
        for name, value in found
        if value is not None and not (isinstance(value, str) and ("/" in value or "\\" in value))
    }
