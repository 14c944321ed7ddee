"""What needs a package that only an extra installs says so in one line, and which extra that is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from commands import refusal

from lmms_eval_tasks.construct.engine.encoders import encode_texts, find_encoder
from lmms_eval_tasks.mvp.raw_downloads import TfRecord, read_frames
from lmms_eval_tasks.train.rewards.graph_rewards import ActionFinder
from lmms_eval_tasks.train.rewards.reward_sample import RewardSample
from lmms_eval_tasks.utils.core.errors import InputError


def mine() -> str:
    rows = "1,a.mp4,Which way?,left,motion\n2,b.mp4,Which way now?,right,motion\n"
    Path("c.csv").write_text(f"item_id,clip,question,answer,skill\n{rows}", encoding="utf-8")
    np.save("v.npy", np.eye(2))
    Path("ids.txt").write_text("a.mp4\nb.mp4\n", encoding="utf-8")
    words = ("c.csv", "--embeddings", "v.npy", "--ids", "ids.txt", "--out", "pairs.csv")
    return refusal("mine", "pairs", *words, "--question-encoder", "tfidf")


def launch() -> str:
    return refusal("launch", "--shards", "2", "--", "lmms-eval", "--tasks", "mvp_mini", "--output_path", "out")


def sweep() -> str:
    return refusal("sweep", "--set", "fps=1,2", "--", "lmms-eval", "--model_args", "fps=1", "--output_path", "out")


def raised(work: Callable[[], object]) -> Callable[[], str]:
    def message() -> str:
        with pytest.raises(InputError) as stopped:
            work()
        return f"{stopped.value}\n"

    return message


def sample() -> RewardSample:
    return RewardSample(actions=("C whisks zabaglione", "C pours it"))


NEEDED: dict[str, tuple[Callable[[], str], str]] = {
    "sklearn": (mine, "building"),
    "sentence_transformers": (raised(lambda: encode_texts(["a"], find_encoder("all-MiniLM-L6-v2"))), "building"),
    "submitit": (launch, "launch"),
    "psutil": (sweep, "launch"),
    "lemminflect": (raised(lambda: ActionFinder(sample())), "training"),
    "tfrecord": (raised(lambda: list(read_frames(TfRecord(Path("x"), 0, 0, 0, 0)))), "mvp-raw"),
}
"""A module, what cannot be done without it, and the extra that installs it."""


@pytest.mark.parametrize("module", NEEDED)
def test_a_missing_package_is_named_with_its_extra(
    module: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.startswith(("lmms_eval_tasks.launch.", f"{module}."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    work, extra = NEEDED[module]
    said = work()
    assert f" needs {module}, which is not installed. " in said and said.count("\n") == 1
    assert said.rstrip().endswith(f'Remedy: pip install "lmms-eval-tasks[{extra}]"')
