"""The page on making and filtering sets: its commands run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from docs import ROOT, commands_of, run_all
from logged_runs import strong, weak, write_run

PAGE = ROOT / "docs" / "curation.md"
TASK = "mvp_mini_temporal_reasoning"


def test_its_commands_run_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("candidates.csv").write_text("item_id,clip,question,answer\n1,a,Where?,left\n2,b,Where?,right\n")
    Path("clips.txt").write_text("a\nb\n")
    np.save("clips.npy", np.eye(2))
    for model, right in (("qwen", weak()), ("llava", strong())):
        for seed in (1, 2):
            view = f"single_frame_random{seed}"
            folder = Path("out") / f"{model}-{seed}" / model
            write_run(folder, right, (f"{TASK}_{view}",), view=view, frame=seed)
        write_run(Path("out") / f"{model}-blind" / model, right, (f"{TASK}_blind",), view="blind")
    # A prepared split has to be prepared, a run made, and a vision model downloaded: those are run in other tests.
    commands = [
        words
        for words in commands_of(PAGE)
        if words[1] in ("mine", "filter") and ":" not in words[3] and "embed" not in words
    ]
    assert len(commands) == 3
    run_all(commands)
    assert all(Path(name).read_text() for name in ("pairs.jsonl", "frames.jsonl", "blind.jsonl"))
