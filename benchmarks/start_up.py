"""How much processor time `--help` and `report` of one run take, beside importing the packages that they stand on.

The rival is a Python that imports typer, rich, numpy, scipy.special and pydantic, and does nothing. All are processes
of their own, in turn, with compiled bytecode, and their user time counts, so that other programs on the machine matter
little. With --other the same two commands of another installation are measured in the same run: the Python of its
environment, such as one that was made of an earlier commit.

Measured on two cores, 2026-11-28, beside commit 95e11ce0, where all commands were imported first: 0.20 of its time for
`--help`, 0.48 for `report`.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from measuring import SUPPORT, Options, print_ratio

RIVAL = ("-c", "import typer, rich, numpy, scipy.special, pydantic")
COMMAND = ("-c", "from lmms_eval_tasks.cli.app import app; app()")
TASK = "causalvqa_debug_paired"


def write_run(home: Path, folder: Path) -> Path:
    """A run on the sample data, which is prepared in a data home."""
    sys.path.insert(0, str(SUPPORT))
    from sample_runs import SMALL, at, prepare_sample, sometimes, write_sample_run

    with at(home), redirect_stdout(StringIO()):
        prepare_sample(home.parent / "sample", {**SMALL, "causalvqa": {"debug_per_type": 20, "test_per_stratum": 1}})
        return write_sample_run(folder, [TASK], sometimes(1, 0.7))


def user_seconds(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> float:
    """User time of a process, and of those that it waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    """Print the seconds and the ratios."""
    parser = Options(__doc__)
    parser.add_size("--rounds", 9, 1, "how often each is started, in turn")
    parser.add_argument("--other", help="the Python of another environment with lmms-eval-tasks")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run = write_run(folder / "home", folder / "run")
        environment = {**os.environ, "LMMS_EVAL_TASKS_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        calls = {"--help": ("--help",), "report": ("report", str(run))}
        commands: dict[str, tuple[str, ...]] = {"the imports": (sys.executable, *RIVAL)}
        commands |= {name: (sys.executable, *COMMAND, *call) for name, call in calls.items()}
        if options.other:
            commands |= {f"the other {name}": (options.other, *COMMAND, *call) for name, call in calls.items()}
        spent: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(options.rounds + 1):
            for name, command in commands.items():
                seconds = user_seconds(command, folder, environment)
                # The first time compiles.
                if number:
                    spent[name].append(seconds)
    taken = {name: statistics.median(times) for name, times in spent.items()}
    for name in calls:
        for rival in ("the imports", f"the other {name}"):
            if rival in taken:
                print_ratio(taken[name] / taken[rival], f"{name} {taken[name]:.2f} s, {rival} {taken[rival]:.2f} s")


if __name__ == "__main__":
    main()
