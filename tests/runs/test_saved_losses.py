"""Losses by the names of clips, as a file of them is read for `replay`."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from refusals import refusal

from lmms_eval_tasks.runs.saved_answers import read_responses
from lmms_eval_tasks.utils.answers.losses import losses_of, read_clip_losses, read_denoising

LOSSES = {"a.mp4": 1.5, "b": 2, "test/c.mp4": "NaN"}
CLIPS = ("test/fwd/a.mp4", "test/b.mp4", "test/c.mp4", "test/d.mp4")


@pytest.mark.parametrize("form", ["lines", "object", "spread"])
def test_a_file_of_losses_names_clips_by_the_end_of_their_path(form: str, tmp_path: Path) -> None:
    source = tmp_path / "losses.json"
    lines = [json.dumps({"clip": clip, "loss": loss, "model": "x"}) for clip, loss in LOSSES.items()]
    texts = {"lines": "\n".join(lines), "object": json.dumps(LOSSES), "spread": json.dumps(LOSSES, indent=1)}
    source.write_text(texts[form])
    saved = read_responses(source)
    assert saved.name_clips(CLIPS, source) is None
    first, second, third = (saved.by_clip[clip] for clip in CLIPS[:3])
    assert (first, second) == (1.5, 2) and math.isnan(third) and CLIPS[3] not in saved.by_clip


def test_names_that_fit_several_clips_and_clips_with_several_losses_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "losses.json"
    source.write_text(json.dumps({"a.mp4": 1, "fwd/b.mp4": 1, "b": 2, "test/fwd/c.mp4": 3, "other.mp4": 4}))
    message = read_responses(source).name_clips(["t/fwd/a.mp4", "t/bwd/a.mp4", "t/fwd/b.mp4"], source) or ""
    assert message.splitlines()[1:] == [
        "  a.mp4: Expected the name of one clip, but it is the end of t/fwd/a.mp4, t/bwd/a.mp4. "
        "Remedy: write more of its path.",
        "  fwd/b.mp4: Expected one loss per clip, but b names the same.",
    ]
    source.write_text('{"clip": "a", "loss": 1}\n{"clip": "a", "loss": 2}\n{"clip": "b", "loss": "low"}\n')
    message = refusal(read_responses, source)
    assert "line 2: Expected one loss per clip, but a is also at losses.json, line 1." in message
    assert "line 3: Expected an object with id and response, or with clip and loss" in message


def test_losses_become_the_answer_that_a_task_takes() -> None:
    losses = {"a": 1.0, "b": math.inf}
    assert losses_of(["a", "c"], losses, "q", is_pair=False) is None
    clips = read_clip_losses(losses_of(["b", "a"], losses, "q", is_pair=False), 2)
    assert clips is not None and clips.losses == [math.inf, 1.0]
    pair = read_denoising(losses_of(["a", "b"], losses, "q", is_pair=True))
    assert pair is not None and pair.loss is not None
    assert (pair.item_id, pair.loss.forward, pair.loss.backward, pair.timesteps) == ("q", 1.0, math.inf, [])
    # A loss that says at which timesteps it was measured has theirs, too.
    assert (
        pair.model_copy(update={"timesteps": [1.0]}).to_json()
        and read_denoising(pair.model_copy(update={"timesteps": [1.0]}).to_json()) is None
    )
