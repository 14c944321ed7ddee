"""The papers' runs, rebuilt item by item: their files are the hooks' own and valid, at the releases' real sizes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hook_runs import FILES, MVP_MINI, write_hook_run
from published import REPRODUCIBILITY, records
from rebuilt import write_causalvqa_release, write_causalvqa_responses, write_mvp_release, write_mvp_responses
from submission_world import taken_for_released

from lmms_eval_tasks.causalvqa.benchmark import prepare as prepare_causalvqa
from lmms_eval_tasks.finished.submit import submit, validate
from lmms_eval_tasks.mvp.benchmark import prepare as prepare_mvp
from lmms_eval_tasks.utils.core.errors import InputError

pytestmark = pytest.mark.usefixtures("home")


def said_in(responses: Path) -> Callable[[Mapping[str, Any]], str]:
    said = {line["id"]: line["response"] for line in map(json.loads, responses.read_text("utf-8").splitlines())}
    return lambda doc: str(said[doc["item_id"]])


@pytest.mark.slow
def test_causalvqa_of_793_pairs(tmp_path: Path) -> None:
    prepare_causalvqa(write_causalvqa_release(tmp_path / "release", "GPT-4o"))
    said = said_in(write_causalvqa_responses(tmp_path / "responses.jsonl", "GPT-4o"))
    run = write_hook_run(tmp_path / "run", {"causalvqa_paired": said})
    with pytest.raises(InputError, match="Expected the official release, but got a set of one's own, 1,586 items"):
        submit("causalvqa", run, tmp_path / "file")
    done = submit("causalvqa", run, tmp_path / "file", allow_unofficial=True)
    assert (done.built.rows, done.items, done.built.empty) == (1586, 1586, 0)
    content = (tmp_path / "file").read_bytes()
    assert content == (run / FILES["causalvqa", ""]).read_bytes()
    assert validate("causalvqa", tmp_path / "file").rows == 1586
    lines = content.splitlines(keepends=True)
    (tmp_path / "cut").write_bytes(b"".join(lines[:-3]))
    with pytest.raises(
        InputError, match=r"Expected one for every item of split test, but there is none for (`[^`]+`,? ?){3}\.$"
    ):
        validate("causalvqa", tmp_path / "cut")


@pytest.mark.slow
def test_mvp_mini_of_9208_pairs(tmp_path: Path) -> None:
    snapshot, videos = write_mvp_release(tmp_path / "release")
    with taken_for_released():
        prepare_mvp(videos, str(snapshot), "mini")
    rows = [row for row in records("mvp", REPRODUCIBILITY) if row["model"].startswith("Qwen2-VL")]
    printed = {(row["metric"], row["category"]): row["value"] for row in rows}
    scores = {
        subset: (value, printed["single_accuracy", subset])
        for (metric, subset), value in printed.items()
        if metric == "pair_accuracy" and subset != "macro_avg"
    }
    said = said_in(write_mvp_responses(tmp_path / "responses.jsonl", scores))
    run = write_hook_run(tmp_path / "run", dict.fromkeys(MVP_MINI, said))
    done = submit("mvp", run, tmp_path / "file")
    assert (done.built.rows, done.items, done.built.empty) == (18416, 18416, 0)
    content = (tmp_path / "file").read_bytes()
    assert content == (run / FILES["mvp", ""]).read_bytes()
    assert validate("mvp", tmp_path / "file").rows == 18416
    # 147,328 rows of which all but the first 18,416 are wrong.
    (tmp_path / "many").write_bytes(content * 8)
    started = time.process_time()
    with pytest.raises(InputError, match=r"… and 128,907 more\.$"):
        validate("mvp", tmp_path / "many")
    assert time.process_time() - started < 30
