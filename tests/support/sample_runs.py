"""Runs on the sample world without the host: made-up answers, graded by the tasks' own hooks and logged."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from shared import made_once
from task_states import docs_of, task_state

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.sample.write_sample import all_samples, build_sample, prepare_commands
from lmms_eval_tasks.utils.answers.losses import DenoisingResponse, Directed, WindowRecord
from lmms_eval_tasks.utils.answers.reply import Reply

Doc = Mapping[str, Any]
Answer = Callable[[str, Doc], str]

MVP = [f"mvp_mini_{name}" for name in SUBSETS]
TASKS = ("causalvqa_debug_paired", *MVP, "cast_bench", "yocausal", "yocausal_vlm", "countervqa")
SMALL = {
    **{name: {size: min(most, 2) for size, most in sample.sizes.items()} for name, sample in all_samples().items()},
    "causalvqa": {"debug_per_type": 2, "test_per_stratum": 1},
    "mvp": {"mini_pairs": 4, "full_pairs": 4},
}


def prepare_sample(folder: Path, sizes: Mapping[str, Mapping[str, int]] = SMALL) -> None:
    """Write the sample world below a folder and prepare it in the data home."""
    for arguments in prepare_commands(build_sample(folder, sizes=sizes)):
        app(["prepare", *arguments], standalone_mode=False)


@contextmanager
def at(home: Path) -> Iterator[None]:
    """A data home, for as long as it is needed: other tests of the session have theirs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(home))
        yield


def prepared_sample(factory: pytest.TempPathFactory) -> Path:
    """The data home of this session in which the sample world is prepared; no test may change it."""

    def prepare(root: Path) -> None:
        with at(root / "home"):
            prepare_sample(root / "sample")

    return made_once(factory, "page", prepare) / "home"


def write_sample_run(folder: Path, tasks: list[str], answer: Answer) -> Path:
    """A run's output folder; the folder's name is the model's."""
    folder.mkdir(parents=True)
    members = [task for task in tasks if task in MVP]
    results = {
        "configs": {task: {} for task in tasks},
        "group_subtasks": {"mvp_mini": members} if members else {},
        "versions": dict.fromkeys([*tasks, "mvp_mini"], "1-A"),
        "config": {"model": folder.name, "model_args": ""},
    }
    (folder / "20261121_results.json").write_text(json.dumps(results), encoding="utf-8")
    for task in tasks:
        state = task_state(task)
        lines = []
        for doc in docs_of(state):
            said = answer(task, doc)
            text = said.text if isinstance(said, Reply) else said
            values = state.process_results(doc, [said])
            lines.append(json.dumps({**values, "filtered_resps": text, "input": doc["question"]}))
        (folder / f"20261121_samples_{task}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def sometimes(seed: int, right: float) -> Answer:
    """Answers that are right that often: letters with words around them, evidence, or losses; a few cannot be read."""

    def chance(*names: object) -> float:
        return int(hashlib.sha256(":".join(map(str, (seed, *names))).encode()).hexdigest()[:8], 16) / 2**32

    def answer(task: str, doc: Doc) -> str:
        is_right = chance(task, doc["item_id"]) < right
        if task == "yocausal":
            gap = 0.002 if is_right else -0.002
            forward = 1.0 + chance(doc["item_id"], "loss")
            steps = [forward + 0.1 * math.cos(step / 3) for step in range(10)]
            backward = [loss + gap * (2 - step / 4.5) for step, loss in enumerate(steps)]
            return DenoisingResponse(
                item_id=doc["item_id"],
                loss=Directed[float](forward=forward, backward=forward + gap),
                losses=Directed[list[list[float]]](forward=[steps], backward=[backward]),
                timesteps=[float(step * 1000 // 11) for step in range(1, 11)],
                windows=[WindowRecord(start=0, stop=16, borrowed=0, skipped=0, latents=4)],
            ).to_json()
        if task == "countervqa":
            return "Yes." if (doc["answer"] == "yes") == is_right else "No."
        letters = "ABCDE"[: len(doc["options"])]
        wrong = letters.replace(doc["answer"], "")
        letter = doc["answer"] if is_right else wrong[int(chance(doc["item_id"], "letter") * len(wrong))]
        if task == "cast_bench":
            return evidence(doc, letter, 0 if is_right else round(40 * chance(doc["item_id"], "shift")) - 20)
        if not is_right and chance(doc["item_id"], "words") < 0.2:
            return "That depends on how fast it moves."
        return f"The answer is ({letter})." if chance(doc["item_id"], "form") < 0.5 else letter

    return answer


def evidence(doc: Doc, letter: str, shift: int) -> str:
    """A response with the true evidence, its boxes moved sideways, a third of them with an instance too many."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for entry in json.loads(doc["evidence"]):
        boxes = {}
        for second, text in entry["bboxes_in_range"].items():
            x1, y1, x2, y2 = json.loads(text)
            boxes[f"00:{int(second):02}"] = [x1 + shift, y1, x2 + shift, y2]
        said = {name: entry[f"evidence_{name}"] for name in ("start_time", "end_time", "rationale")}
        grouped.setdefault(entry["evidence_instance_id"], []).append(
            {**{f"evidence_{name}": value for name, value in said.items()}, "bboxes_in_time_range": boxes}
        )
    instances = [{"instance_name": name.replace("_", " "), "evidences": found} for name, found in grouped.items()]
    if shift % 3 == 1:
        boxes = {f"00:{second:02}": [10 + 8 * second, 20, 34 + 8 * second, 44] for second in (1, 2, 3)}
        more = {"evidence_start_time": "00:01", "evidence_end_time": "00:03", "evidence_rationale": "It is near."}
        instances.append({"instance_name": "something else", "evidences": [{**more, "bboxes_in_time_range": boxes}]})
    return json.dumps({"instances": instances, "answer_choice": letter})
