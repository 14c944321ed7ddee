"""Run cards as `report` and `compare` show them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import printed
from logged_runs import TASK, strong, weak, write_run

from lmms_eval_tasks.runs.run_card import APPLIES, DOES_NOT_APPLY, describe_hazard

pytestmark = pytest.mark.usefixtures("hundred_columns")

Card = dict[str, dict[str, Any]]
CARD: Card = {
    f"task {TASK}": {
        "version": "1-A", "data": "released data", "data sha256": "0123456789abcdef", "prompt": "mcq_letter",
        "prompt sha256": "fedcba9876543210", "official prompt": "no", "extractor": "choice reader 1",
    },
    "model": {"name": "qwen2_5_vl", "class": "A", "checkpoint": "Qwen/Qwen2.5-VL-7B-Instruct", "revision": "c0ffee"},
    "frames": {"frames": 16},
    "seeds": {"random": 0},
    "run": {"date": "today", "command": "lmms-eval " + "--option value " * 20, "limit": "none", "ranks": 8},
    "software": {"torch": "2.15.0", "lmms-eval": "0.7.3"},
    "hardware": {"GPUs": "8 × NVIDIA H100", "CPU": "a processor"},
    "settings": {"LMMS_EVAL_TASKS_BOXES": "[not set]"},
    "not known": {"model.precision": "the model does not say"},
}  # fmt: skip


def changed(**fields: Any) -> Card:
    """The card with other values in some of its sections."""
    return {section: {**values, **fields.get(section.split()[0], {})} for section, values in CARD.items()}


def hazards(**values: str | None) -> Card:
    return {**CARD, "known hazards": {"first_clip_frames": DOES_NOT_APPLY, "video_as_images": DOES_NOT_APPLY, **values}}


def run(folder: Path, card: Card | None = None, tasks: tuple[str, ...] = (TASK,)) -> Path:
    written = write_run(folder, weak() if folder.name == "weak" else strong(), tasks)
    if card is not None:
        (written / "20261121_run_card.json").write_text(json.dumps(card), encoding="utf-8")
    return written


def shown(command: str, *arguments: str | Path) -> list[str]:
    """The lines that a command prints, from where it comes to the run cards."""
    lines = [line.rstrip() for line in printed(command, *arguments).splitlines()]
    assert max(len(line) for line in lines if not line.startswith("run ")) <= 100
    begins = ("run card: ", "run cards:", "all runs:", "These runs ", "known hazard")
    start = next((place for place, line in enumerate(lines) if line.startswith(begins)), 0)
    return lines[start:]


def test_a_report_ends_with_what_the_run_was_made_with(
    expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # lines are then folded where they are in every folder
    applying = hazards(first_clip_frames=APPLIES, of_another_version=APPLIES)
    parts = [
        shown("report", run(Path("weak"), CARD)),
        shown("report", Path("weak"), "--card"),
        shown("report", run(Path("old")))[-1:],
        shown("report", run(Path("strong"), applying)),
    ]
    expected("\n\n".join("\n".join(lines) for lines in parts))
    whole = printed("report", Path("strong"), "--card").splitlines()
    assert ["video_as_images", *DOES_NOT_APPLY.split()] in [line.split() for line in whole]


@pytest.mark.parametrize("command", ["report", "compare"])
def test_runs_that_differ_in_what_matters_are_said_to(command: str, expected: Any, tmp_path: Path) -> None:
    moved = changed(frames={"frames": 32}, model={"name": "internvl3"}, software={"torch": "2.14.0"}, run={"limit": 8})
    weak_run = run(tmp_path / "weak", CARD)
    expected("\n".join(shown(command, weak_run, run(tmp_path / "strong", moved), run(tmp_path / "old"))))
    later = changed(run={"date": "tomorrow", "command": "another"})
    alike = "These runs were made in the same way and on the same data, as far as their cards know."
    assert alike in shown(command, weak_run, run(tmp_path / "later", later))
    if command == "report":  # what all runs say of a task is printed once
        lines = [line.strip() for line in printed("report", weak_run, tmp_path / "strong").splitlines()]
        (at,) = [number for number, line in enumerate(lines) if line.startswith(f"{TASK}: version")]
        assert lines[at - 1] == "all runs:"


@pytest.mark.parametrize("command", ["report", "compare"])
def test_only_the_tasks_that_are_shown_count(command: str, tmp_path: Path) -> None:
    two = ("causalvqa_paired", TASK)
    sections = {"task causalvqa_paired": CARD[f"task {TASK}"], **CARD}
    moved = {**sections, "task causalvqa_paired": {**CARD[f"task {TASK}"], "data sha256": "x"}}
    runs = [run(tmp_path / "weak", sections, two), run(tmp_path / "strong", moved, two)]
    both = [f"  data sha256: 0123456789abcdef against x ({two[0]})"]
    assert [line for line in shown(command, *runs) if "data sha256" in line] == both
    assert [line for line in shown(command, *runs, "--task", TASK) if "data sha256" in line] == []


def test_hazards_name_their_runs_and_are_explained_once(expected: Any, tmp_path: Path) -> None:
    cards = {
        "weak": hazards(first_clip_frames=APPLIES, video_as_images=APPLIES),
        "old": None,
        "strong": hazards(video_as_images=APPLIES),
    }
    lines = shown("report", *(run(tmp_path / name, card) for name, card in cards.items()))
    assert {"known hazard of run 1: first_clip_frames", "known hazard of runs 1, 3: video_as_images"} <= set(lines)
    assert " ".join(" ".join(lines).split()).count(describe_hazard("first_clip_frames")) == 1
    expected("\n".join(shown("compare", tmp_path / "weak", tmp_path / "strong")))


@pytest.mark.parametrize("other", [None, CARD, {**CARD, "known hazards": {"first_clip_frames": None}}])
@pytest.mark.parametrize("command", ["report", "compare"])
def test_of_a_card_that_does_not_know_nothing_is_concluded(command: str, other: Card | None, tmp_path: Path) -> None:
    lines = shown(command, run(tmp_path / "weak", hazards(first_clip_frames=APPLIES)), run(tmp_path / "strong", other))
    assert not [line for line in lines if "first_clip_frames" in line and "against" in line]
    assert "These runs differ in what moves scores, beyond the model:" not in lines
