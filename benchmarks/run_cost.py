"""What a run costs beside the model: CPU time of lmms-eval's command with our tasks, against the host by itself.

    python benchmarks/run_cost.py [--items 13704] [--rounds 3] [--tiny] [--profile FILE]

Both runs ask the host's `dummy` model, which answers at once, the same items of one prepared table: rows of the sample
of MVP, repeated with names of their own. Ours keeps answers, grades and scores as always. The rival is the host without
the plugin, with tasks as its documentation teaches them: plain functions, and the same list of scores. CPU time of all
threads is counted; that until lmms-eval has its index of tasks is shown by itself.

Measured on two idle cores, 2026-11-30: 1.37 to 1.40 times in three measurements, 0.15 ms an item more; start 1.1 times.
The machine is shared: between one hour and the next the host alone took 5.3 and 6.4 s.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from measuring import Options, print_ratio

OURS = "lmms_eval_tasks"
GROUP = "mvp_mini"
PLAIN = "plain_mvp_mini"
HOOKS = """
import re

def only(subset):
    def process_docs(dataset):
        return dataset.filter(lambda value: value == subset, input_columns="subset")
    return process_docs

{only}

def doc_to_visual(doc):
    return ["{videos}/" + doc["clip"]]

def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    options = "\\n".join(f"({{letter}}) {{text}}" for letter, text in zip("ABCD", doc["options"]))
    return f"{{doc['question']}}\\n{{options}}\\nAnswer with the letter of the right option."

def doc_to_target(doc):
    return doc["answer"]

def process_results(doc, results):
    found = re.search(r"\\b([A-D])\\b", results[0])
    item = {{"group": doc["group_id"], "right": bool(found) and found[1] == doc["answer"], "read": bool(found)}}
    return {{name: item for name in {scores}}}

def pairs(items):
    groups = {{}}
    for item in items:
        groups.setdefault(item["group"], []).append(item["right"])
    return 100 * sum(map(all, groups.values())) / len(groups)

def singles(items):
    return 100 * sum(item["right"] for item in items) / len(items)
"""
TASK = """
task: {task}
dataset_path: parquet
dataset_kwargs:
  data_files:
    mini: {table}
test_split: mini
output_type: generate_until
process_docs: !function plain_hooks.{subset}
doc_to_visual: !function plain_hooks.doc_to_visual
doc_to_text: !function plain_hooks.doc_to_text
doc_to_target: !function plain_hooks.doc_to_target
process_results: !function plain_hooks.process_results
generation_kwargs:
  max_new_tokens: 1024
  temperature: 0
  do_sample: false
  until: []
metric_list:
{scores}
metadata:
  version: 1
"""


def write_table(home: Path, sample: Path, items: int) -> Path:
    """Prepare the sample of MVP in a data home, and repeat its rows until there are so many; returns the table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from lmms_eval_tasks.cli.app import app
    from lmms_eval_tasks.sample.write_sample import build_sample, prepare_commands
    from lmms_eval_tasks.utils.core.files import file_sha256

    for arguments in prepare_commands(build_sample(sample, benchmarks=["mvp"])):
        with redirect_stdout(io.StringIO()):
            app(["prepare", *arguments], standalone_mode=False)
    path, manifest = home / "mvp" / "mini.parquet", home / "mvp" / "manifest.json"
    table = pq.read_table(path)
    # A pair is a question about two clips, and each part of the set keeps its share. Equal requests are asked once.
    rows, times = table.to_pylist(), -(-items // len(table))
    repeated = [
        row
        | {
            "item_id": f"{row['group_id']}_t{turn}_{row['item_id'][-1]}",
            "group_id": f"{row['group_id']}_t{turn}",
            "question": f"{row['question']} ({turn})",
        }
        for turn in range(times)
        for row in rows
    ][:items]
    pq.write_table(pa.Table.from_pylist(repeated, schema=table.schema), path)
    facts = json.loads(manifest.read_text(encoding="utf-8"))
    split = facts["splits"]["mini"]
    split |= {"rows": items, "groups": len({row["group_id"] for row in repeated}), "table_sha256": file_sha256(path)}
    split["data_set"] |= {"items": items}
    manifest.write_text(json.dumps(facts), encoding="utf-8")
    return path


def write_plain_tasks(folder: Path, table: Path, names: list[str]) -> None:
    """Write tasks of the host over the same table, with as many scores."""
    from lmms_eval_tasks.mvp.benchmark import SUBSETS

    folder.mkdir()
    only = "\n".join(f'{subset} = only("{subset}")' for subset in SUBSETS)
    hooks = HOOKS.format(only=only, videos=table.parent / "videos", scores=names)
    (folder / "plain_hooks.py").write_text(hooks, encoding="utf-8")
    scores = "\n".join(
        f"  - metric: {name}\n    aggregation: !function plain_hooks.{'pairs' if 'pair' in name else 'singles'}\n"
        "    higher_is_better: true"
        for name in names
    )
    for subset in SUBSETS:
        text = TASK.format(task=f"{PLAIN}_{subset}", subset=subset, table=table, scores=scores)
        (folder / f"{PLAIN}_{subset}.yaml").write_text(text, encoding="utf-8")
    tasks = "\n".join(f"  - {PLAIN}_{subset}" for subset in SUBSETS)
    (folder / f"{PLAIN}.yaml").write_text(
        f"group: {PLAIN}\ntask:\n{tasks}\naggregate_metric_list:\n  - metric: {names[0]}\nmetadata:\n  version: 1\n",
        encoding="utf-8",
    )


def hide_plugin() -> None:
    """Let lmms-eval find no entry point of this package."""
    every = [entry for one in importlib.metadata.distributions() for entry in one.entry_points]
    others = importlib.metadata.EntryPoints(entry for entry in every if not entry.value.startswith(f"{OURS}."))
    importlib.metadata.entry_points = others.select  # type: ignore[assignment]


def run(plugin: bool, arguments: list[str], measured: Path, profile: str | None) -> None:
    """lmms-eval's command in this process; writes the CPU seconds of its start and of all of it."""
    if not plugin:
        hide_plugin()
    from lmms_eval.__main__ import cli_evaluate
    from lmms_eval.tasks import TaskManager

    start = TaskManager.__init__
    times: dict[str, float] = {}

    def note_start(self: Any, *given: Any, **named: Any) -> None:
        start(self, *given, **named)
        times.setdefault("start", time.process_time())

    TaskManager.__init__ = note_start
    sys.argv = ["lmms-eval", *arguments]
    if profile:
        import cProfile

        cProfile.runctx("cli_evaluate()", {"cli_evaluate": cli_evaluate}, {}, profile)
    else:
        cli_evaluate()
    times["all"] = time.process_time()
    if not plugin and OURS in sys.modules:
        raise RuntimeError(f"Expected lmms-eval by itself, but it has imported {OURS}.")
    measured.write_text(json.dumps(times), encoding="utf-8")


def measure(plugin: bool, arguments: list[str], folder: Path, profile: str | None = None) -> tuple[float, float]:
    """CPU seconds of a run in a process of its own: until it has its index of tasks, and after.

    Raises:
        RuntimeError: where the run has no results.
    """
    out, measured = folder / "out", folder / "measured.json"
    shutil.rmtree(out, ignore_errors=True)
    measured.unlink(missing_ok=True)
    command = [sys.executable, __file__, "--measured", str(measured), *(["--plugin"] if plugin else [])]
    command += ["--profile", profile] if profile else []
    arguments = ["--model", "dummy", "--device", "cpu", "--log_samples", "--output_path", str(out), *arguments]
    ended = subprocess.run([*command, "--", *arguments], capture_output=True, text=True)
    if not list(out.rglob("*_results.json")):
        raise RuntimeError(f"Expected results of {arguments}, but got:\n{ended.stdout}\n{ended.stderr}")
    times = json.loads(measured.read_text(encoding="utf-8"))
    return times["start"], times["all"] - times["start"]


def main() -> None:
    """Measure and print."""
    parser = Options(__doc__)
    parser.add_size("--items", 13_704, 96)
    parser.add_size("--rounds", 3, 1, "how often each run is made, in turn")
    parser.add_argument("--profile", help="profile one run of ours into this file, and measure nothing")
    parser.add_argument("--measured", help=argparse.SUPPRESS)
    parser.add_argument("--plugin", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measured:
        run(options.plugin, options.arguments, Path(options.measured), options.profile)
        return
    with tempfile.TemporaryDirectory(prefix="run_cost") as name:
        compare(Path(name), options.items, options.rounds, options.profile)


def compare(folder: Path, items: int, rounds: int, profile: str | None) -> None:
    """Print what a run costs with the plugin and without it."""
    os.environ |= {"LMMS_EVAL_TASKS_HOME": str(folder / "home"), "HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1"}
    from lmms_eval_tasks.registry import registry

    table = write_table(folder / "home", folder / "sample", items)
    (kind,) = {task.kind for name, task in registry().tasks_of("mvp").items() if name.startswith(GROUP)}
    write_plain_tasks(folder / "plain", table, [metric.name for metric in kind.metrics])
    runs = {
        "plain": (False, ["--tasks", PLAIN, "--include_path", str(folder / "plain")]),
        "ours": (True, ["--tasks", GROUP]),
    }
    if profile:
        measure(*runs["ours"][:1], [*runs["ours"][1], "--process_docs_parallel", "1"], folder, profile)
        return
    measure(*runs["plain"][:1], [*runs["plain"][1], "--limit", "2"], folder)  # the host converts the table once
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, (plugin, arguments) in runs.items():
            spent[name].append(measure(plugin, arguments, folder))
    start, whole = ({name: statistics.median(times[part] for times in spent[name]) for name in runs} for part in (0, 1))
    # Paired by round, so that a machine that gets slower does not count as ours.
    ratio, start_ratio = (
        statistics.median(ours[part] / plain[part] for ours, plain in zip(spent["ours"], spent["plain"], strict=True))
        for part in (1, 0)
    )
    print_ratio(
        start_ratio,
        f"start (import, index), {start['ours']:.1f} s of CPU time; the host without the plugin {start['plain']:.1f} s",
    )
    print_ratio(
        ratio,
        f"a run of {items:,} items, {whole['ours']:.1f} s of CPU time; the host without the plugin "
        f"{whole['plain']:.1f} s; {1000 * (whole['ours'] - whole['plain']) / items:.2f} ms an item more "
        f"(median of {rounds} rounds)",
    )


if __name__ == "__main__":
    main()
