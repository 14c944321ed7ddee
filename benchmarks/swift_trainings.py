"""What the measurements of trainings share: the set, the tiny model, and our own command with the real ms-swift."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from functools import partial
from pathlib import Path

from measuring import Options, end_without, in_own_process

from lmms_eval_tasks.countervqa.sample import SAMPLE
from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm
from lmms_eval_tasks.utils.core.work import no_progress

COMMAND = Path(sysconfig.get_path("scripts")) / "lmms-eval-tasks"
FRAMES = 4
SHOWN = ("--model-type", "qwen2_5_vl", "--frames", str(FRAMES), "--torch_dtype", "float32", "--report_to", "none")
SAMPLE_SEED = 7


def add_environment(options: Options) -> None:
    """Add the option `--env`."""
    environment = Path(os.environ["TRAIN_ENV"]) if os.environ.get("TRAIN_ENV") else None
    options.add_argument("--env", type=Path, default=environment, help="that of `make train-env`; by default TRAIN_ENV")


def check_environment(environment: Path | None) -> None:
    """End where no environment is named."""
    if environment is None:
        end_without("TRAIN_ENV names no environment with ms-swift: make train-env")


def write_set(folder: Path, clips: int) -> Path:
    """CounterVQA's sample, of so many clips with five questions each."""
    (folder / "clips").mkdir(parents=True)
    SAMPLE.write(folder, SAMPLE_SEED, {"clips": clips}, no_progress)
    return folder


def pairs_of(source: Path, folder: Path) -> Path:
    """The first question of each clip that has a partner, and its partner: as many right verdicts yes as no."""
    questions = [json.loads(line) for line in (source / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    by_id = {question["id"]: question for question in questions}
    first = {question["clip"]: question for question in reversed(questions) if question["partner"]}
    chosen = [one for clip in sorted(first) for one in (first[clip], by_id[first[clip]["partner"]])]
    shutil.copytree(source, folder)
    text = "".join(json.dumps(question) + "\n" for question in chosen)
    (folder / "questions.jsonl").write_text(text, encoding="utf-8")
    return folder


def tiny_model(folder: Path, seed: int) -> Path:
    """A random video model with the released tokenizer's ids."""
    return Path(in_own_process(partial(write_tiny_vlm, folder, seed, released_ids=True)))


def run(log: Path, home: Path, *words: str | Path) -> None:
    """Run `lmms-eval-tasks`, and raise with the end of what it printed where it fails."""
    environment = {**os.environ, "LMMS_EVAL_TASKS_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    with log.open("a", encoding="utf-8") as printed:
        command = [str(COMMAND), *map(str, words)]
        ended = subprocess.run(command, stdout=printed, stderr=subprocess.STDOUT, env=environment, check=False)
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{log.read_text(encoding='utf-8')[-3000:]}")
