"""Launches of which anything is killed at random: every byte must be as without that, and nothing answered twice.

Kills by SIGKILL the launcher (also while it merges), jobs of parts, submitit's processes and the parts' own commands,
until there were so many kills; a launch that has ended is followed by one into another folder. `sample_solver` is
lmms-eval's own command on the sample data and the merge; `numbered_items` is a command of no cost, and no merge.

Measured on two cores, 2026-11-25: yes, after 40 kills: 13 of the launcher, 8 of jobs, 9 of submitit's processes, 10
of commands; every byte as without them, no answer kept twice.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from measuring import SUPPORT, Options, print_ratio

from lmms_eval_tasks.runs.run_files import results_files

SCRIPTS = Path(sysconfig.get_path("scripts"))
ITEMS = 24
TASKS = "causalvqa_debug_paired,mvp_mini"
LONGEST = {"numbered_items": 5.0, "sample_solver": 25.0}
"""Seconds between two kills at most."""


def words_of(command: str, out: Path, parts: int, jobs: int) -> list[str]:
    """The command of a launch."""
    if command == "numbered_items":
        work = [sys.executable, str(SUPPORT / "numbered_items.py"), "--items", str(ITEMS), "--pause", "0.4", "--child"]
        launch = [sys.executable, str(SUPPORT / "launch_parts.py"), str(parts), str(jobs), ""]
        return [*launch, *work, "--output_path", str(out)]
    launch = [str(SCRIPTS / "lmms-eval-tasks"), "launch", "--tries", "3", "--shards", str(parts), "--jobs", str(jobs)]
    work = [str(SCRIPTS / "lmms-eval"), "--model", command, "--tasks", TASKS, "--log_samples"]
    return [*launch, "--", *work, "--output_path", str(out)]


def kept(out: Path) -> Counter[tuple[str, str]]:
    """Each answer that is kept, with what changes where it is kept again."""
    lines = [(str(path), line) for path in out.rglob("parts/*/answers") if path.is_file() for line in _lines(path)]
    files = (path for path in out.rglob("parts/*/answers/**/*.json") if path.name != "model.json")
    return Counter([*lines, *((path.name, f"{path.stat().st_ino} {path.stat().st_mtime_ns}") for path in files)])


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def outcome(out: Path) -> dict[str, object]:
    """Scores, sample logs and files for leaderboards of the merged run; else the results of the parts."""
    merged = results_files(out)
    if not merged:
        return {path.parent.name: path.read_bytes() for path in out.rglob("*_results.json")}
    (results,) = merged
    logs = {path.name.partition("_samples_")[2]: path.read_bytes() for path in out.glob("*_samples_*")}
    submitted = {path.name: path.read_bytes() for path in [*out.glob("*.jsonl"), *out.glob("submissions/*")]}
    scores = json.loads(results.read_text(encoding="utf-8"))["results"]
    return {"scores": scores, **logs, **{name: file for name, file in submitted.items() if "_samples_" not in name}}


def kill_at_random(
    words: Sequence[str],
    environment: Mapping[str, str],
    out: Path,
    kills: int,
    longest: float,
    draw: random.Random,
    look: Callable[[], None],
) -> Counter[str]:
    """Start a launch again and again, and kill something of it by SIGKILL at random times, until it ends well.

    There are `kills` at most, with `longest` seconds between two of them at most, after each of which `look` is called.
    What launchers print is appended to the file ``out.log`` beside the output path.

    Returns:
        How many processes of which sort were killed; in the end the launch was left alone and has ended.
    """
    sys.path.insert(0, str(SUPPORT))
    from launch_processes import processes_of

    killed: Counter[str] = Counter()
    alone = 0
    with out.with_suffix(".log").open("ab") as log:
        while True:
            launcher = subprocess.Popen(
                words, env=dict(environment), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
            while launcher.poll() is None:
                if killed.total() >= kills:
                    launcher.wait()
                    break
                time.sleep(draw.uniform(0, longest))
                if launcher.poll() is None:
                    there: dict[str, Sequence[Any]] = {"launcher": [launcher], **processes_of(out / "parts")}
                    sorts = [name for name, some in there.items() if some]
                    # Where nothing but the launcher is there, it starts, or merges.
                    if len(sorts) == 1 and draw.random() < 0.85:
                        continue
                    sort = draw.choice(sorts)
                    with suppress(psutil.Error, ProcessLookupError):
                        draw.choice(there[sort]).kill()
                        killed[sort] += 1
                    look()
            if launcher.returncode == 0:
                return killed
            # Kills may have used up a part's tries.
            alone += killed.total() >= kills
            assert alone < 3, f"The launch fails also where it is left alone: {out.with_suffix('.log')}"


def main() -> None:
    parser = Options(__doc__)
    parser.add_size("--kills", 40, 2)
    parser.add_size("--command", "sample_solver", "numbered_items", f"any of {', '.join(LONGEST)}")
    parser.add_size("--parts", 3, 2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.command not in LONGEST:
        parser.error(f"Expected a command, any of {', '.join(LONGEST)}, but got {options.command}.")
    folder = Path(tempfile.mkdtemp(prefix="killed_launches"))
    os.environ |= {
        "LMMS_EVAL_TASKS_HOME": str(folder / "home"), "HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1",
        "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    if options.command != "numbered_items":
        sample = [str(SCRIPTS / "lmms-eval-tasks"), "sample", "--out", str(folder / "sample"), "--prepare"]
        subprocess.run(sample, check=True, capture_output=True)
    draw, killed, launches = random.Random(options.seed), Counter[str](), 0
    start = time.monotonic()

    def launch(name: str, kills: int) -> tuple[dict[str, object], int]:
        out = folder / name
        before: Counter[tuple[str, str]] = Counter()

        def look() -> None:
            now = kept(out)
            assert before <= now, f"answered twice: {list(before - now)[:3]}"
            before.update(now - before)
            print(f"{time.monotonic() - start:.0f} s: {name}, {now.total()} answers", flush=True)

        words = words_of(options.command, out, options.parts, options.jobs)
        killed.update(kill_at_random(words, os.environ, out, kills, LONGEST[options.command], draw, look))
        look()
        return outcome(out), kept(out).total()

    expected = launch("whole", 0)
    while killed.total() < options.kills:
        launches += 1
        found = launch(f"killed_{launches}", options.kills - killed.total())
        assert found == expected, f"{folder}/killed_{launches} differs from {folder}/whole"
    sorts = ", ".join(f"{number} {sort}" for sort, number in killed.items())
    ended = f"every byte as without them ({time.monotonic() - start:.0f} s)"
    print_ratio(
        0,
        f"answers kept twice of {options.command}, {killed.total()} kills ({sorts}) in {launches} launches of "
        f"{options.parts} parts; {ended}",
    )
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
