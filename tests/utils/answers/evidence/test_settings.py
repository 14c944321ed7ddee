from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from expected import Expected

from lmms_eval_tasks.cast_bench.hooks import read_settings
from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.utils.answers.evidence import GroundingSettings
from lmms_eval_tasks.utils.answers.evidence_boxes import BoxConvention, PixelLimits
from lmms_eval_tasks.utils.answers.evidence_settings import EvidenceSettings
from lmms_eval_tasks.utils.core.errors import InputError


def test_settings_are_those_of_the_environment_of_the_task_or_the_default() -> None:
    default = read_settings({}, {})
    assert default == EvidenceSettings(read_prompt("cast_bench_evidence"))
    assert (default.hits, default.convention) == (GroundingSettings(2, 0.5, 0.1, False), BoxConvention.XYXY_PX)
    said = {"eps_overlap": 1, "tau_t": 0.7, "tau_st": 1, "coverage_aware": True, "prompt": "mcq_letter"}
    assert read_settings({"boxes": "yxyx_n1000", **said, "gemini": {"boxes": "x"}}, {}) == EvidenceSettings(
        read_prompt("mcq_letter"), BoxConvention.YXYX_N1000, None, GroundingSettings(1, 0.7, 1, True)
    )
    task = {"boxes": "xyxy_resized", "min_pixels": 1, "max_pixels": 2, "tau_st": 0.3}
    assert read_settings(task, {}).limits == PixelLimits(1, 2)
    other = read_settings(task, {"LMMS_EVAL_TASKS_BOXES": "yxyx_px"})
    assert (other.convention, other.limits, other.hits.tau_st) == (BoxConvention.YXYX_PX, None, 0.3)
    resized = {"LMMS_EVAL_TASKS_BOXES": "xyxy_resized,min_pixels=3136,max_pixels=602112"}
    assert read_settings({}, resized).limits == PixelLimits(3136, 602112)
    # A rule of matching is one setting.
    assert read_settings({"matching": "supplement"}, {}).hits == GroundingSettings(1, 0.5, 0.1, True)
    chosen = {"LMMS_EVAL_TASKS_MATCHING": "supplement"}
    assert read_settings({"eps_overlap": 2, "tau_st": 0.3}, chosen).hits == GroundingSettings(1, 0.5, 0.3, True)
    rules = GroundingSettings(), GroundingSettings(1, 0.5, 0.1, True), GroundingSettings(3)
    assert [one.rule for one in rules] == ["script", "supplement", "mean sIoU from 3 s on"]


def test_every_wrong_value_is_listed(expected: Expected) -> None:
    given: dict[str, Any] = {
        "boxes": "xywh", "min_pixels": 9, "max_pixels": 3, "eps_overlap": 1.5, "tau_t": 2, "tau_st": "high",
        "coverage_aware": "no", "prompt": "nothing",
    }  # fmt: skip
    wrong = {"LMMS_EVAL_TASKS_BOXES": "xyxy,max_pixels=many"}
    messages = []
    for task, environment in ((given, {}), ({}, wrong), ({}, {"LMMS_EVAL_TASKS_MATCHING": "official"})):
        with pytest.raises(InputError) as caught:
            read_settings(task, environment)
        messages.append(str(caught.value))
    expected(re.sub(r"(prompt id, one of).*, but", r"\1 …, but", "\n".join(messages)))


def test_the_size_that_a_model_was_shown_is_known_or_nothing() -> None:
    frame, model = (1920, 1080), SimpleNamespace(min_pixels=3136, max_pixels=602112, max_num_frames=32)
    resized = read_settings({"boxes": "xyxy_resized"}, {})
    assert read_settings({}, {}).seen(frame, model) is resized.seen(None, model) is resized.seen(frame, None) is None
    limited = read_settings({"boxes": "xyxy_resized", "min_pixels": 3136, "max_pixels": 602112}, {})
    assert resized.seen(frame, model) == limited.seen(frame, None) == (1008, 560)
