"""How long clips are and how questions are worded, by stratum."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from expected import Expected
from releases import QUESTION, mvp_pair, write_causalvqa, write_clip, write_snapshot
from typer.testing import CliRunner

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.mvp.benchmark import prepare as prepare_mvp
from lmms_eval_tasks.registry import read_card
from lmms_eval_tasks.report.prepared_tables import length_figure
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.clips import clip_seconds
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.data.survey import (
    ClipCount,
    StratumStatistics,
    check_split,
    prepared_clips,
    split_statistics,
)

pytestmark = pytest.mark.usefixtures("home")


def write_release(root: Path, split: str = "debug") -> Path:
    """Three questions about a clip of one second, one about a clip of two, one about a clip that is not there."""
    rows = [
        QUESTION,
        {**QUESTION, "qid": "q2", "question": "What's next?"},
        {**QUESTION, "qid": "q3", "type": "descriptive", "question": "What happens, and what is NEXT to what?"},
        {**QUESTION, "qid": "q4", "renamed_video": "b.mp4"},
        {**QUESTION, "qid": "q5", "renamed_video": "c.mp4"},
    ]
    release = write_causalvqa(root, split, rows)
    write_clip(release / split / "videos" / "b.mp4", frames=16)
    return release


def test_each_stratum_and_all(tmp_path: Path) -> None:
    assert clip_seconds(write_clip(tmp_path / "a.mp4", frames=12)) == pytest.approx(1.5)
    (tmp_path / "b.mp4").write_bytes(b"no video")
    assert clip_seconds(tmp_path / "b.mp4") is None and clip_seconds(tmp_path / "c.mp4") is None
    prepare(Preparation(), write_release(tmp_path))
    descriptive, planning, every = split_statistics(read_card("causalvqa"), "debug", no_progress)
    # Eight words, "what" three times among them; the options have seven others, two each.
    assert descriptive == StratumStatistics(("descriptive", "easy"), 2, 1, 0, 1.0, 1.0, 8.0, 2.0, 13)
    assert planning == StratumStatistics(("planning", "easy"), 8, 2, 1, 1.5, 2.0, (3 * 3 + 2) / 4, 2.0, 11)
    assert every == StratumStatistics((), 10, 2, 1, 1.5, 2.0, (3 * 3 + 2 + 8) / 5, 2.0, 14)


def test_clips_that_cannot_be_shown_are_counted_as_they_were_prepared_and_as_they_are_now(tmp_path: Path) -> None:
    release = write_release(tmp_path)
    rows = [{**QUESTION, "qid": f"q_{name}", "renamed_video": f"{name}.mp4"} for name in "abcd"]
    write_causalvqa(tmp_path, "debug", rows)
    videos, card = release / "debug" / "videos", read_card("causalvqa")
    write_clip(videos / "d.mp4")
    (videos / "b.mp4").write_bytes(b"no video")
    prepare(Preparation(), release)
    assert prepared_clips(card, "debug") == [ClipCount("debug", clips=4, absent=1, unreadable=1)]
    (videos / "d.mp4").write_bytes(b"no video any more")
    shutil.copy(Path(__file__).parent / "clips" / "damaged_inside.mp4", videos / "a.mp4")
    for decode, what, broken in (
        (False, "opening", ["debug/d.mp4"]),
        (True, "decoding", ["debug/a.mp4", "debug/d.mp4"]),
    ):
        steps: list[tuple[str, int, int]] = []
        found = check_split(card, "debug", decode, lambda *step, steps=steps: steps.append(step))
        assert {said for said, _, _ in steps} == {f"causalvqa, debug: {what} clips"} and steps[-1][1:] == (2, 2)
        assert (found.missing, sorted(found.broken)) == (["debug/b.mp4", "debug/c.mp4"], broken)
        assert found.clips == [ClipCount("debug", clips=4, absent=1, unreadable=1 + len(broken))]
        assert found.facts.rows == 8 and [count.found for count in found.counts[:2]] == [8, 4]
    (videos / "d.mp4").unlink()
    found = check_split(card, "debug", False, no_progress)
    assert found.clips == [ClipCount("debug", clips=4, absent=2, unreadable=1)] and found.broken == []


@pytest.mark.slow
def test_the_lengths_of_clips_are_drawn_by_type(tmp_path: Path) -> None:
    prepare(Preparation(), write_release(tmp_path))
    lengths = length_figure("causalvqa", "debug", split_statistics(read_card("causalvqa"), "debug", no_progress))
    lines = {line.label: [(mark.x, mark.score.value) for mark in line.marks] for line in lengths.lines}
    assert list(lines) == ["descriptive", "planning", "all"]
    assert {seconds for seconds, _ in lines["descriptive"]} == {1.0}
    # Of planning's two clips one lasts a second, the other two.
    assert lines["planning"][::5] == [(1.0, 0.0), (1.0, 25.0), (2.0, 50.0), (2.0, 75.0), (2.0, 100.0)]
    folder = tmp_path / "figures"
    shown = CliRunner().invoke(app, ["check", "causalvqa", "--stats", "--figures", str(folder)]).stdout
    assert "Figure of the clips' lengths" in shown
    assert sorted(path.suffix for path in folder.glob("causalvqa_debug.clip-lengths.*")) == [
        ".csv",
        ".pdf",
        ".png",
        ".svg",
    ]
    refused = CliRunner().invoke(app, ["check", "causalvqa", "--figures", str(folder)])
    assert refused.exit_code == 1 and "Expected --figures with --stats" in refused.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("hundred_columns")
def test_check_sets_them_beside_the_paper(tmp_path: Path, expected: Expected) -> None:
    """MVP's 8.1 words are a mean of candidates, and its 2,355 counts the words of questions and answers."""
    prepare(Preparation(), write_release(tmp_path))
    prepare(Preparation(), write_release(tmp_path / "withheld", "test"))
    candidates = {"candidates": "['to the left side', 'right']"}
    pairs = {subset: mvp_pair(f"{subset}_x", **candidates) for subset in SUBSETS}
    for pair in pairs.values():
        pair[0] |= {**candidates, "answer": "to the left side"}
    write_clip(tmp_path / "pt" / f"{SUBSETS[0]}_x_1.mp4")
    prepare_mvp(Preparation(), source=str(write_snapshot(tmp_path, "full", pairs)), split="full", videos=tmp_path)
    pages = [CliRunner().invoke(app, ["check", name, "--stats"]).stdout for name in ("causalvqa", "mvp")]
    shown = [page[page.index("clips and questions") : page.index("Installed")] for page in pages]
    expected("\n".join(line.rstrip() for line in "".join(shown).splitlines()))
    assert "clips and questions" not in CliRunner().invoke(app, ["check", "causalvqa"]).stdout
