"""Run cards as `report` and `compare` show them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from logged_runs import TASK, strong, weak, write_run
from typer.testing import CliRunner

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.runs.run_card import APPLIES, DOES_NOT_APPLY, describe_hazard

pytestmark = pytest.mark.usefixtures("hundred_columns")

CARD: dict[str, dict[str, Any]] = {
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


def call(command: str, *arguments: str | Path) -> list[str]:
    result = CliRunner().invoke(app, [command, *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    lines = result.stdout.splitlines()
    assert max(len(line.rstrip()) for line in lines if not line.startswith("run ")) <= 100
    return lines


def run(folder: Path, card: dict[str, dict[str, Any]] | None = None, tasks: tuple[str, ...] = (TASK,)) -> Path:
    written = write_run(folder, weak() if folder.name == "weak" else strong(), tasks)
    if card is not None:
        (written / "20261121_run_card.json").write_text(json.dumps(card), encoding="utf-8")
    return written


def test_a_report_ends_with_what_the_run_was_made_with(tmp_path: Path) -> None:
    lines = call("report", run(tmp_path / "weak", CARD))
    start = next(index for index, line in enumerate(lines) if line.startswith("run card: "))
    assert [line.rstrip() for line in lines[start : start + 2]] == [
        "run card: qwen2_5_vl Qwen/Qwen2.5-VL-7B-Instruct c0ffee; frames 16; seeds 0",
        "  lmms-eval 0.7.3, torch 2.15.0, 8 × NVIDIA H100, 8 ranks",
    ]
    # A long line goes on below, in the same place.
    assert all(line.startswith("  ") for line in lines[start + 1 :])
    assert " ".join(" ".join(lines[start + 2 :]).split()) == (
        f"{TASK}: version 1-A, released data 01234567, prompt mcq_letter:fedcba98, choice reader 1"
    )


def test_a_card_is_shown_whole(tmp_path: Path) -> None:
    lines = call("report", run(tmp_path / "weak", CARD), "--card")
    shown = [line.split() for line in lines]
    for section, fields in CARD.items():
        place = section.split()
        assert [*place, *next(iter(fields)).split()] in [
            words[: len(place) + len(next(iter(fields)).split())] for words in shown
        ]
        for field, value in fields.items():
            words = [*field.split(), *str(value).split()][:2]
            assert words in [line[:2] for line in shown] + [line[len(place) :][:2] for line in shown]
    assert "".join("".join(line.split()) for line in lines).count("--optionvalue") == 20


def test_a_run_without_a_card_says_so(tmp_path: Path) -> None:
    lines = call("report", run(tmp_path / "weak"))
    assert lines[-1] == "run card: replay weak: no run card, so nothing is known of how it was made"


def other(**fields: Any) -> dict[str, dict[str, Any]]:
    return {section: {**values, **fields.get(section.split()[0], {})} for section, values in CARD.items()}


@pytest.mark.parametrize("command", ["report", "compare"])
def test_runs_that_differ_in_what_matters_are_said_to(command: str, tmp_path: Path) -> None:
    moved = other(frames={"frames": 32}, model={"name": "internvl3"}, software={"torch": "2.14.0"}, run={"limit": 8})
    runs = [run(tmp_path / "weak", CARD), run(tmp_path / "strong", moved), run(tmp_path / "old")]
    lines = call(command, *runs)
    start = lines.index("These runs differ in what moves scores, beyond the model:")
    assert lines[start + 1 : start + 5] == [
        "  frames: 16 against 32 against not known (frames)",
        "  limit: none against 8 against not known (run)",
        "Their models differ: name: qwen2_5_vl against internvl3 against not known",
        "Environment differs: torch: 2.15.0 against 2.14.0 against not known",
    ]


def test_what_all_runs_say_of_a_task_is_printed_once(tmp_path: Path) -> None:
    lines = call("report", run(tmp_path / "weak", CARD), run(tmp_path / "strong", other(frames={"frames": 32})))
    (at,) = [number for number, line in enumerate(lines) if line.strip().startswith(f"{TASK}: version")]
    assert lines[at - 1] == "all runs:"


@pytest.mark.parametrize("command", ["report", "compare"])
def test_runs_made_alike_are_said_to_be(command: str, tmp_path: Path) -> None:
    later = other(run={"date": "tomorrow", "command": "another"})
    lines = call(command, run(tmp_path / "weak", CARD), run(tmp_path / "strong", later))
    assert "These runs were made in the same way and on the same data, as far as their cards know." in lines


@pytest.mark.parametrize("command", ["report", "compare"])
def test_only_the_tasks_that_are_shown_count(command: str, tmp_path: Path) -> None:
    two = ("causalvqa_paired", TASK)
    sections = {"task causalvqa_paired": CARD[f"task {TASK}"], **CARD}
    moved = {**sections, "task causalvqa_paired": {**CARD[f"task {TASK}"], "data sha256": "x"}}
    runs = [run(tmp_path / "weak", sections, two), run(tmp_path / "strong", moved, two)]
    both = [f"  data sha256: 0123456789abcdef against x ({two[0]})"]
    assert [line for line in call(command, *runs) if "data sha256" in line] == both
    assert [line for line in call(command, *runs, "--task", TASK) if "data sha256" in line] == []


def hazards(**values: str | None) -> dict[str, dict[str, Any]]:
    return {**CARD, "known hazards": {"first_clip_frames": DOES_NOT_APPLY, "video_as_images": DOES_NOT_APPLY, **values}}


def joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def test_a_report_names_the_hazards_that_apply(tmp_path: Path) -> None:
    card = hazards(first_clip_frames=APPLIES, of_another_version=APPLIES)
    text = joined(call("report", run(tmp_path / "weak", card)))
    assert f"known hazard: first_clip_frames {describe_hazard('first_clip_frames')}" in text
    assert "known hazard: of_another_version This version of lmms-eval-tasks does not know it." in text
    assert "video_as_images" not in text
    whole = call("report", run(tmp_path / "strong", card), "--card")
    assert ["video_as_images", *DOES_NOT_APPLY.split()] in [line.split() for line in whole]


def test_a_report_names_the_runs_of_a_hazard(tmp_path: Path) -> None:
    some = hazards(first_clip_frames=APPLIES, video_as_images=APPLIES)
    runs = [
        run(tmp_path / "weak", some),
        run(tmp_path / "old"),
        run(tmp_path / "strong", hazards(video_as_images=APPLIES)),
    ]
    lines = call("report", *runs)
    assert {"known hazard of run 1: first_clip_frames", "known hazard of runs 1, 3: video_as_images"} <= set(lines)
    # The effect stands beneath the hazard, once.
    assert joined(lines).count(describe_hazard("first_clip_frames")) == 1


def test_runs_that_differ_in_a_hazard_are_said_to(tmp_path: Path) -> None:
    runs = [run(tmp_path / "weak", hazards(first_clip_frames=APPLIES)), run(tmp_path / "strong", hazards())]
    lines = call("compare", *runs)
    start = lines.index("These runs differ in what moves scores, beyond the model:")
    assert lines[start + 1] == "  first_clip_frames: applies against does not apply (known hazards)"
    assert f"first_clip_frames: {describe_hazard('first_clip_frames')}" in joined(lines[start + 2 :])


@pytest.mark.parametrize("other", [None, CARD, {**CARD, "known hazards": {"first_clip_frames": None}}])
@pytest.mark.parametrize("command", ["report", "compare"])
def test_of_a_card_that_does_not_know_nothing_is_concluded(
    command: str, other: dict[str, dict[str, Any]] | None, tmp_path: Path
) -> None:
    runs = [run(tmp_path / "weak", hazards(first_clip_frames=APPLIES)), run(tmp_path / "strong", other)]
    lines = call(command, *runs)
    assert not [line for line in lines if "first_clip_frames" in line and "against" in line]
    assert "These runs differ in what moves scores, beyond the model:" not in lines
