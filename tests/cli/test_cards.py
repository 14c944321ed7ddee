"""Run cards as `report` and `compare` show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import printed
from logged_runs import TASK, strong, weak, write_run

from lmms_eval_tasks.runs.run_card import APPLIES, DOES_NOT_APPLY, describe_hazard

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
ALIKE = "These runs were made in the same way and on the same data, as far as their cards know."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hundred_columns: None) -> None:
    """Lines are then folded where they are in every folder."""
    monkeypatch.chdir(tmp_path)


def changed(**fields: Any) -> Card:
    """The card with other values in some of its sections."""
    return {section: {**values, **fields.get(section.split()[0], {})} for section, values in CARD.items()}


def hazards(**values: str | None) -> Card:
    return {**CARD, "known hazards": {"first_clip_frames": DOES_NOT_APPLY, "video_as_images": DOES_NOT_APPLY, **values}}


def run(name: str, card: Card | None = None, tasks: tuple[str, ...] = (TASK,)) -> Path:
    return write_run(Path(name), weak() if name == "weak" else strong(), tasks, card=card)


def shown(command: str, *arguments: str | Path) -> list[str]:
    """The lines that a command prints, from where it comes to the run cards."""
    lines = [line.rstrip() for line in printed(command, *arguments).splitlines()]
    assert max(len(line) for line in lines if not line.startswith("run ")) <= 100
    begins = ("run card: ", "run cards:", "all runs:", "These runs ", "known hazard")
    start = next((place for place, line in enumerate(lines) if line.startswith(begins)), 0)
    return lines[start:]


@pytest.mark.slow
def test_a_report_ends_with_what_the_run_was_made_with(expected: Any) -> None:
    applying = hazards(first_clip_frames=APPLIES, of_another_version=APPLIES)
    parts = [
        shown("report", run("weak", CARD)),
        shown("report", "weak", "--card"),
        shown("report", run("old"))[-1:],
        shown("report", run("strong", applying)),
    ]
    expected("\n\n".join("\n".join(lines) for lines in parts))
    whole = printed("report", "strong", "--card").splitlines()
    assert ["video_as_images", *DOES_NOT_APPLY.split()] in [line.split() for line in whole]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["report", "compare"])
def test_runs_that_differ_in_what_matters_are_said_to(command: str, expected: Any) -> None:
    moved = changed(frames={"frames": 32}, model={"name": "internvl3"}, software={"torch": "2.14.0"}, run={"limit": 8})
    first = run("weak", CARD)
    expected("\n".join(shown(command, first, run("strong", moved), run("old"))))
    assert ALIKE in shown(command, first, run("later", changed(run={"date": "tomorrow", "command": "another"})))
    if command == "report":  # what all runs say of a task is printed once
        lines = [line.strip() for line in printed("report", first, "strong").splitlines()]
        (at,) = [number for number, line in enumerate(lines) if line.startswith(f"{TASK}: version")]
        assert lines[at - 1] == "all runs:"
    # Only the tasks that are shown count.
    other, sections = "task causalvqa_paired", {"task causalvqa_paired": CARD[f"task {TASK}"], **CARD}
    cards = (sections, {**sections, other: {**sections[other], "data sha256": "x"}})
    runs = [run(f"two{place}", card, ("causalvqa_paired", TASK)) for place, card in enumerate(cards)]
    for words, said in (((), ["  data sha256: 0123456789abcdef against x (causalvqa_paired)"]), (("--task", TASK), [])):
        assert [line for line in shown(command, *runs, *words) if "data sha256" in line] == said
    # Of a card that does not know a hazard nothing is concluded.
    applies = run("applies", hazards(first_clip_frames=APPLIES))
    for place, card in enumerate((None, CARD, {**CARD, "known hazards": {"first_clip_frames": None}})):
        lines = shown(command, applies, run(f"unknown{place}", card))
        assert not [line for line in lines if "first_clip_frames" in line and "against" in line]
        assert "These runs differ in what moves scores, beyond the model:" not in lines


def test_hazards_name_their_runs_and_are_explained_once(expected: Any) -> None:
    run("weak", hazards(first_clip_frames=APPLIES, video_as_images=APPLIES))
    run("strong", hazards(video_as_images=APPLIES))
    lines = shown("report", "weak", run("old"), "strong")
    assert {"known hazard of run 1: first_clip_frames", "known hazard of runs 1, 3: video_as_images"} <= set(lines)
    assert " ".join(" ".join(lines).split()).count(describe_hazard("first_clip_frames")) == 1
    expected("\n".join(shown("compare", "weak", "strong")))
