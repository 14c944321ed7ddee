"""Runs as their scores and cards alone: no item, response or question of theirs is read where the scores are there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.installed.runs import read_run
from lmms_eval_tasks.installed.scores import scores_of
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.runs.results_file import RESULTS, SUBMISSIONS, CutShort, ResultsFile, card_path, read_results
from lmms_eval_tasks.utils.runs.run_card import Sections, read_run_card
from lmms_eval_tasks.utils.runs.scores_file import SCORES, ScoresFile, read_scores, scores_path


@dataclass(frozen=True)
class ScoredRun:
    """The scores of a run, and what it was made with."""

    path: Path
    scores: ScoresFile
    card: Sections
    results: ResultsFile | None
    notes: tuple[str, ...] = ()


def read_scored(source: Path) -> ScoredRun:
    """The scores of the latest run in a folder, or of one results or scores file: from its file of scores, or
    computed."""
    runs = _runs(source)
    if not runs:
        raise InputError(
            f"{source} holds no run: Expected a file *{RESULTS}, as lmms-eval writes it to --output_path, or the "
            f"*{SCORES} beside it."
        )
    skipped: list[Path] = []
    first: CutShort | None = None
    for results in reversed(runs):
        try:
            scored = _read(results)
        except CutShort as error:
            skipped.append(results)
            first = first or error
            continue
        others = len(runs) - len(skipped)
        notes = [f"{path} is of a run that was cut short, and is left out" for path in skipped]
        if others > 1:
            notes.append(f"{source} holds {others:,} runs; this is the latest, {results}")
        return ScoredRun(*scored, tuple(notes))
    assert first is not None
    raise first


def _runs(source: Path) -> list[Path]:
    """The results files of runs in a folder, whether they are there or only their scores are; by date."""
    if source.is_file():
        named = source.name
        return [source.with_name(f"{named.removesuffix(SCORES)}{RESULTS}") if named.endswith(SCORES) else source]
    found = {
        path.with_name(f"{path.name.removesuffix(end)}{RESULTS}")
        for end in (RESULTS, SCORES)
        for path in source.rglob(f"*{end}")
        if path.parent.name != SUBMISSIONS and path.is_file()
    }
    return sorted(found, key=lambda path: (path.name, path))


def _read(path: Path) -> tuple[Path, ScoresFile, Sections, ResultsFile | None]:
    """The run of one results file; `CutShort` where that is all that is wrong with it."""
    scores = scores_path(path)
    if not scores.is_file():
        run = read_run(path)
        return path, scores_of(run), run.card, read_results(path)
    try:
        card = read_run_card(card_path(path))
    except InputError as error:
        raise InputError(f"{card_path(path)} is not a run card: {error}") from None
    return path, read_scores(scores), card, read_results(path) if path.is_file() else None
