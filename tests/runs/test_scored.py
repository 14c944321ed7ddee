"""Scores of runs, from their file or computed, and which run of a folder is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from logged_runs import weak, write_run

from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_files import CutShort
from lmms_eval_tasks.runs.scores import ScoresFile, read_scored, scores_of, scores_path, scores_text
from lmms_eval_tasks.utils.core.errors import InputError

STRATUM = {"type": "descriptive", "difficulty": "easy"}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The results file of a run without a file of scores."""
    return read_run(write_run(tmp_path / "weak", weak(12), stratum=STRATUM)).path


def write_scores(results: Path, **changes: str) -> ScoresFile:
    scores = scores_of(read_run(results)).model_copy(update=changes)
    scores_path(results).write_text(scores_text(scores), encoding="utf-8")
    return scores


def test_scores_are_computed_where_there_is_no_file_of_them(results: Path) -> None:
    read = read_scored(results.parent)
    assert read.scores == scores_of(read_run(results))
    assert (read.path, read.card, read.notes) == (results, {}, ())
    assert read.results is not None and read.results.model_name == "replay weak"


def test_scores_are_read_from_their_file_though_results_and_logs_are_gone(results: Path) -> None:
    scores = write_scores(results, model="kept")
    results.with_name("20261121_run_card.json").write_text(json.dumps({"run": {"date": "20261121"}}), encoding="utf-8")
    assert read_scored(results.parent).scores == scores
    for log in results.parent.glob("*_samples_*"):
        log.unlink()
    results.unlink()
    for source in (results.parent, scores_path(results)):
        read = read_scored(source)
        assert (read.scores, read.results, read.card) == (scores, None, {"run": {"date": "20261121"}})


def test_of_several_runs_the_latest_whole_one_is_read(results: Path) -> None:
    later = results.with_name("20261122_results.json")
    scores_path(later).write_text(scores_text(write_scores(results, model="later")), encoding="utf-8")
    read = read_scored(results.parent)
    assert (read.path, read.scores.model) == (later, "later")
    assert read.notes == (f"{results.parent} holds 2 runs; this is the latest, {later}",)
    cut = results.with_name("20261123_results.json")
    cut.write_text("{", encoding="utf-8")
    assert read_scored(results.parent).notes[0] == f"{cut} is of a run that was cut short, and is left out"
    with pytest.raises(CutShort):
        read_scored(cut)


def test_what_holds_no_run_is_refused_by_name(results: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="empty holds no run: Expected a file"):
        read_scored(tmp_path / "empty")
    write_scores(results)
    results.with_name("20261121_run_card.json").write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match=r"20261121_run_card\.json is not a run card: Expected sections"):
        read_scored(results.parent)


def test_the_parts_of_a_launched_run_are_left_out(results: Path) -> None:
    part = results.parent / "parts" / "1" / "20261129_results.json"
    part.parent.mkdir(parents=True)
    part.write_bytes(results.read_bytes())
    (results.parent / "parts" / "launch.json").write_text("{}", encoding="utf-8")
    read = read_scored(results.parent)
    assert (read.path, read.notes) == (results, ())
