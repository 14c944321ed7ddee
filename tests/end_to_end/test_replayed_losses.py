"""Losses of clips, measured elsewhere, through the real command; and public answers and losses beside what is
published of them."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from evidence_page import table_below
from host_run import HostRun, SampleWorld, own_command, run_host
from oracles import evidence_path
from releases import write_clip

from lmms_eval_tasks.api import SINGLE_ACCURACY, Outcome
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.runs.folder import read_run

pytestmark = pytest.mark.host


def replay(source: Path | str, tasks: str, home: Path, out: Path) -> HostRun:
    return run_host("--model", "replay", "--model_args", f"predictions={source}", "--tasks", tasks, home=home, out=out)


def test_losses_by_clip_are_joined_with_pairs_whatever_their_order(
    sample_world: SampleWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every right clip has the lower loss all pairs are won, whether or not its folder and suffix are named."""
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(sample_world.home))
    films = load_table("yocausal", "test", require_clips=False).to_list()
    losses = {row[column]: loss for row in films for column, loss in (("clip", 0.1), ("clip_backward", 0.2))}
    # One pair is lost, one is a tie, and of one a loss is not finite.
    losses |= {films[0]["clip"]: 0.3, films[1]["clip"]: 0.2, films[2]["clip"]: "NaN"}
    clips = load_table("intphys2", "main", require_clips=False).to_list()
    losses |= {Path(row["clip"]).stem: {"A": 1, "B": 2}[row["answer"]] for row in clips}
    lines = tmp_path / "losses.jsonl"
    lines.write_text(
        "".join(json.dumps({"clip": clip, "loss": loss}) + "\n" for clip, loss in reversed(losses.items()))
    )
    run = replay(lines, "yocausal,intphys2_surprise", sample_world.home, tmp_path / "run")
    scores = run.scores("yocausal")
    answered = [sample["record"]["answered"] for sample in run.samples_in_order("yocausal")]
    assert answered == ["backward", "tie", "non_finite", *["forward"] * (len(films) - 3)]
    assert (scores["unparsed_rate"], scores["unscored_rate"]) == (0, 0)
    surprise = run.scores("intphys2_surprise")
    assert (surprise["plausibility_preference"], surprise["unparsed_rate"]) == (100, 0)
    for command in (("rescore", run.out), ("report", run.out, "--html", tmp_path / "page.html")):
        done = own_command(sample_world.home, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    # A loss that lacks, and a name that fits two clips, stop the run before anything is written.
    lines.write_text(json.dumps({clip: loss for clip, loss in losses.items() if clip != films[5]["clip"]}))
    lacking = replay(lines, "yocausal", sample_world.home, tmp_path / "lacking")
    assert lacking.status != 0 and "1 item has no loss for each of its clips (of yocausal)." in lacking.output
    assert films[5]["item_id"] in lacking.output
    name = Path(films[0]["clip"]).name
    assert name == Path(films[0]["clip_backward"]).name
    lines.write_text(json.dumps({**losses, name: 1.0}))
    doubtful = replay(lines, "yocausal", sample_world.home, tmp_path / "doubtful")
    assert doubtful.status != 0 and f"{name}: Expected the name of one clip, but it is the end of" in doubtful.output


def prepare_debug(tmp_path: Path) -> Path:
    """IntPhys 2's Debug with its public metadata, and a drawn clip in place of each of its own."""
    metadata = evidence_path("intphys2", "debug_metadata.csv")
    folder = tmp_path / "release" / "Debug"
    clip = write_clip(tmp_path / "clip.mp4", frames=2)
    (folder / "Videos").mkdir(parents=True)
    with metadata.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            shutil.copy(clip, folder / row["file_name"])
    shutil.copy(metadata, folder)
    (folder / metadata.name).rename(folder / "metadata.csv")
    home = tmp_path / "home"
    made = own_command(home, "prepare", "intphys2", "--source", tmp_path / "release")
    assert made.returncode == 0, made.stdout + made.stderr
    return home


def test_public_losses_of_vjepa_give_what_is_published(tmp_path: Path) -> None:
    """Published: 0.500 of all pairs, 0.444 of solidity, 0.583 of permanence (tsingletaryTT/tt-vjepa2)."""
    source = evidence_path("intphys2", "vjepa_debug_losses.json")
    run = replay(source, "intphys2_debug_surprise", prepare_debug(tmp_path), tmp_path / "run")
    scores = run.scores("intphys2_debug_surprise")
    page = table_below("IntPhys 2")
    for row, name, published in (
        ("V-JEPA, losses of 60 clips", "plausibility_preference", "50.0"),
        ("of these, solidity", "plausibility_preference_solidity", "44.4"),
        ("of these, permanence", "plausibility_preference_permanence", "58.3"),
    ):
        assert page[row] == {"published": published, "ours": f"{scores[name]:.2f}"}
        assert round(scores[name], 1) == float(published)


def test_public_answers_of_claude_give_what_is_published(tmp_path: Path) -> None:
    """Published: 65.0 of 20 clips of Debug (Fanb1ing/SocialLearningClaw)."""
    source = evidence_path("intphys2", "opus48_debug_answers.jsonl")
    asked = {json.loads(line)["id"] for line in source.read_text("utf-8").splitlines()}
    run = replay(f"{source},missing=unparsed", "intphys2_debug", prepare_debug(tmp_path), tmp_path / "run")
    records = [record for record in read_run(run.out).records["intphys2_debug"] if record.item_id in asked]
    single = SINGLE_ACCURACY.score_records(records)
    assert len(records) == 20 and not any(record.outcome is Outcome.UNPARSED for record in records)
    page = table_below("IntPhys 2")["Claude Opus 4.8, answers about 20 clips"]
    assert page == {"published": "65.0", "ours": f"{single:.2f}"} and single == 65
