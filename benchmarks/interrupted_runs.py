"""Runs killed many times: no item may be asked twice but those in flight, and the end must be that of a whole run.

Each run is lmms-eval's own command on the sample data, in processes forked from one that has imported everything, so
that a run takes seconds. It is killed by SIGKILL as soon as a few more answers are kept, again and again until none is
missing, and its scores, sample logs and leaderboard files are compared with those of a run that was left alone.

Measured on two cores, 2026-11-22: yes, after 120 kills: 20 of each kind of model, on one rank and on two; nothing
asked twice.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measuring import SUPPORT, Options, print_ratio

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.sample.write_sample import build_sample, prepare_commands

FRAMES = "device_map=cpu,attn_implementation=eager,max_num_frames=4,min_pixels=3136,max_pixels=25088"
FAMILY = "wan2.1-1.3b"
VLM_TASKS = ("cast_bench", "causalvqa_debug_paired")
BENCHMARKS = ("cast_bench", "causalvqa", "yocausal")
SIZES = {
    "causalvqa": {"debug_per_type": 1, "test_per_stratum": 1}, "cast_bench": {"clips_per_family": 1},
    "yocausal": {"pairs": 1},
}  # fmt: skip
"""Of a tiny sample."""


def sample_solver(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """The command's arguments and the tasks."""
    return ["--model", "sample_solver"], VLM_TASKS


def qwen(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """The same, with tiny weights written to a folder."""
    from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm

    arguments = f"pretrained={write_tiny_vlm(folder)},{FRAMES}"
    more = ["--gen_kwargs", "max_new_tokens=12"]
    return ["--model", "qwen_on_cpu_ranks", "--model_args", arguments, *more], VLM_TASKS


def video_diffusion(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """The same, with tiny weights written to a folder."""
    from tiny_models import BUILDERS, write_tiny_model

    sizes = ",".join(f"{name}={value}" for name, value in BUILDERS[FAMILY][1].items())
    arguments = f"family={FAMILY},pretrained={write_tiny_model(FAMILY, folder)},dtype=float32,{sizes}"
    return ["--model", "video_diffusion", "--model_args", arguments], ("yocausal",)


MODELS = {"qwen": qwen, "video_diffusion": video_diffusion, "sample_solver": sample_solver}
"""Kind of model to what it is run with."""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def start(arguments: list[str], out: Path, ranks: int) -> list[int]:
    """Fork the ranks of a run; what they print is appended to a file beside its output path."""
    out.mkdir(parents=True, exist_ok=True)
    port, children = free_port(), []
    for rank in range(ranks):
        child = os.fork()
        if child:
            children.append(child)
            continue
        status = 1
        try:
            if ranks > 1:
                os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks)}
                os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            log = os.open(out.with_suffix(f".{rank}.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(log, 1)
            os.dup2(log, 2)
            sys.argv = ["lmms-eval", *arguments, "--output_path", str(out), "--log_samples", "--device", "cpu"]
            from lmms_eval.__main__ import cli_evaluate

            cli_evaluate()
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    return children


@contextmanager
def running(arguments: list[str], out: Path, ranks: int) -> Iterator[list[int]]:
    """The processes of a run, killed at the end of the block if they live."""
    children = start(arguments, out, ranks)
    try:
        yield children
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)


def has_ended(children: list[int]) -> bool:
    """Whether all processes have ended; they stay to be waited for."""
    return all(os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None for child in children)


def outcome(out: Path, tasks: tuple[str, ...]) -> dict[str, Any]:
    """Scores, sample logs and leaderboard files of the one finished run in a folder."""
    (path,) = (path for path in out.rglob("*_results.json") if path.parent.name != "submissions")
    scores = json.loads(path.read_text(encoding="utf-8"))["results"]
    logs = {task: next(out.rglob(f"*_samples_{task}.jsonl")).read_text(encoding="utf-8") for task in tasks}
    samples = {
        (task, json.loads(line)["record"]["item_id"]): json.loads(line)
        for task, log in logs.items()
        for line in log.splitlines()
    }
    files = {path.name: path.read_bytes() for path in (out / "submissions").iterdir()}
    return {"scores": scores, "samples": samples, "files": files}


def finish(arguments: list[str], out: Path, ranks: int) -> None:
    """Run to the end."""
    with running(arguments, out, ranks) as children:
        while not has_ended(children):
            time.sleep(0.05)


def check(arguments: list[str], tasks: tuple[str, ...], folder: Path, ranks: int, kills: int) -> str:
    """Kill runs so many times, and say how that went.

    Raises:
        AssertionError: where an item was asked twice, or a run ends otherwise than the whole one.
    """
    from kept_answers import kept_answers

    def kept(out: Path) -> dict[str, dict[str, Any]]:
        return kept_answers(out / "answers")

    whole = folder / "whole"
    finish(arguments, whole, ranks)
    expected, items = outcome(whole, tasks), len(kept(whole))
    draw, killed, runs = random.Random(0), 0, 0
    while killed < kills:
        runs += 1
        out = folder / f"killed_{runs}"
        before: dict[str, dict[str, Any]] = {}
        while len(before) < items and killed < kills:
            wanted = len(before) + draw.randint(1, 3)
            with running(arguments, out, ranks) as children:
                while len(kept(out)) < min(wanted, items) and not has_ended(children):
                    time.sleep(0.005)
                time.sleep(draw.random() * 0.05)
                killed += not has_ended(children)
            after = kept(out)
            lost = [key for key, line in before.items() if after.get(key) != line]
            assert not lost, f"asked twice: {lost}"
            before = after
        if not list(out.rglob("*_results.json")):
            finish(arguments, out, ranks)
        assert kept(out).items() >= before.items() and len(kept(out)) == items
        assert outcome(out, tasks) == expected, f"{out} differs from {whole}"
    return f"{killed} kills in {runs} runs of {items} items: nothing asked twice, all runs end as the whole one"


def main() -> None:
    parser = Options(__doc__)
    parser.add_size("--kills", 20, 1, "of each kind of model, on each number of ranks")
    parser.add_size("--models", ",".join(MODELS), "sample_solver")
    parser.add_size("--limit", 10, 4, "items of a task")
    parser.add_size("--ranks", "1,2", "1")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="interrupted"))
    sys.path.insert(0, str(SUPPORT))
    os.environ |= {
        "LMMS_EVAL_TASKS_HOME": str(folder / "home"), "HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1",
        "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1",
        "LMMS_EVAL_TASKS_BOXES": "xyxy_resized",
    }  # fmt: skip
    for arguments in prepare_commands(
        build_sample(folder / "sample", sizes=SIZES if options.tiny else None, benchmarks=BENCHMARKS)
    ):
        app(["prepare", *arguments], standalone_mode=False)
    import lmms_eval.__main__

    if "qwen" in options.models:
        import lmms_eval.models.simple.qwen2_5_vl  # noqa: F401
        from warm_host import register_models

        register_models()
    for name in options.models.split(","):
        arguments, tasks = MODELS[name](folder / "models" / name)
        arguments = [*arguments, "--tasks", ",".join(tasks), "--limit", str(options.limit)]
        for ranks in map(int, options.ranks.split(",")):
            started = time.monotonic()
            ended = check(arguments, tasks, folder / f"{name}_{ranks}", ranks, options.kills)
            seconds = time.monotonic() - started
            print_ratio(0, f"{name} on {ranks} rank(s), items asked twice; {ended} ({seconds:.0f} s)")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
