"""The settings of a task that asks for evidence, and the size of the frames that its boxes belong to."""

from __future__ import annotations

import re
from dataclasses import astuple
from types import SimpleNamespace
from typing import Any

from expected import Expected
from refusals import refusal

from lmms_eval_tasks.cast_bench.hooks import read_settings

BOXES, MATCHING = "LMMS_EVAL_TASKS_BOXES", "LMMS_EVAL_TASKS_MATCHING"
RESIZED = {"boxes": "xyxy_resized", "min_pixels": 3136, "max_pixels": 602112}
GIVEN: tuple[tuple[dict[str, Any], dict[str, str]], ...] = (
    ({}, {}), (RESIZED, {}), ({}, {BOXES: "xyxy_resized,min_pixels=3136,max_pixels=602112"}),
    ({"boxes": "yxyx_n1000", "eps_overlap": 1, "tau_t": 0.7, "tau_st": 1, "coverage_aware": True}, {}),
    ({"prompt": "mcq_letter", "gemini": {"boxes": "x"}}, {}), ({**RESIZED, "tau_st": 0.3}, {BOXES: "yxyx_px"}),
    ({"matching": "supplement"}, {}), ({"eps_overlap": 2, "tau_st": 0.3}, {MATCHING: "supplement"}),
)  # fmt: skip
WRONG: tuple[tuple[dict[str, Any], dict[str, str]], ...] = (
    ({"boxes": "xywh", "min_pixels": 9, "max_pixels": 3, "eps_overlap": 1.5, "tau_t": 2, "tau_st": "high"}, {}),
    ({"coverage_aware": "no", "prompt": "nothing"}, {}), ({}, {BOXES: "xyxy,max_pixels=many"}),
    ({}, {MATCHING: "official"}), ({"min_pixels": 0, "max_pixels": 3}, {}),
)  # fmt: skip


def test_settings_are_those_of_the_environment_of_the_task_or_the_default(expected: Expected) -> None:
    lines = []
    for task, environment in GIVEN:
        read = read_settings(task, environment)
        assert read.prompt is not None
        found = (read.prompt.prompt_id, read.convention.value, read.limits, read.hits.rule, astuple(read.hits))
        lines.append(f"{task}, {environment}:\n  {', '.join(map(str, found))}")
    for task, environment in WRONG:
        lines.append(re.sub(r"(prompt id, one of).*, but", r"\1 …, but", refusal(read_settings, task, environment)))
    expected("\n".join(lines))


def test_the_size_that_a_model_was_shown_is_known_or_nothing() -> None:
    frame, model = (1920, 1080), SimpleNamespace(min_pixels=3136, max_pixels=602112, max_num_frames=32)
    resized = read_settings({"boxes": "xyxy_resized"}, {})
    assert read_settings({}, {}).seen(frame, model) is resized.seen(None, model) is resized.seen(frame, None) is None
    assert resized.seen(frame, model) == read_settings(RESIZED, {}).seen(frame, None) == (1008, 560)
