"""All that is checked of a benchmark, ours or somebody else's, on examples; and its version gate."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.thorough.answers import attempt, check_guesses, check_prompts, check_submission, grade_kind
from lmms_eval_tasks.thorough.declared import check_declared
from lmms_eval_tasks.thorough.digests import compare_kept, measure, read_kept, renew
from lmms_eval_tasks.thorough.examples import make_examples, read_file
from lmms_eval_tasks.thorough.finished import every_name, finish
from lmms_eval_tasks.thorough.graded import deal_items
from lmms_eval_tasks.thorough.numbers import CHECKS
from lmms_eval_tasks.thorough.scores import check_scores, unreached
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.views import name_view
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.core.variables import HOME
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.home import read_manifest, read_table
from lmms_eval_tasks.utils.scoring.records import Record

EXAMPLES, DIGESTS = "version_examples.json", "version_digests.json"
GROUPS = 2
"""Groups of each stratum among examples that are made of a prepared table."""


@dataclass(frozen=True)
class Findings:
    """What was found."""

    problems: Problems
    notes: tuple[str, ...] = ()


def check_thoroughly(benchmark: Benchmark, keep: bool = False) -> Findings:
    """Check what a benchmark declares, asks, grades, scores and submits, and that no version stands for two things."""
    problems = check_declared(benchmark)
    if problems:
        return Findings(problems)
    own = registry().tasks_of(benchmark.name).values()
    path, command = benchmark.folder / EXAMPLES, f"lmms-eval-tasks check {benchmark.name} --thorough --keep"
    content = read_file(path) if path.is_file() else draw_examples(benchmark)
    made = attempt(
        problems, EXAMPLES, "examples", benchmark.folder, lambda: make_examples(content, benchmark.folder, own)
    )
    if made is None:
        return Findings(problems)
    rows, examples = made
    problems.extend(check_prompts(benchmark, rows))
    notes = [f"{benchmark.name}: {len(rows):,} example rows, {len(examples):,} examples, {path}"]
    records = {}
    for kind, found in benchmark.kinds.items() if not problems else ():
        if not list(deal_items(benchmark, kind, rows.values(), [(row, None) for row in rows.values()])):
            notes.append(f"{kind}: not checked, for its tasks ask none of the example rows")
        elif graded := grade_kind(benchmark, kind, rows, examples, problems):
            records[kind] = graded
            problems.extend(check_guesses(benchmark, kind, list(rows.values())))
            faults = check_scores(found.metrics, graded, benchmark.folder)
            problems.extend(faults)
            if not faults and (names := unreached(found.metrics, graded)):
                notes.append(f"{kind}: no example gives these scores a value: {summarize_names(names)}")
    if not problems:
        problems.extend(check_submission(benchmark, list(rows.values()), examples, notes))
        problems.extend(check_numbers(benchmark, records))
    if problems:
        return Findings(problems, tuple(notes))
    digests, labels = benchmark.folder / DIGESTS, {example.key: example.label for example in examples}
    now = measure(benchmark.name, rows, examples)
    if keep:
        changed = renew(digests, now, labels, command)
        if not path.is_file():
            write_file(path, f"{json.dumps(content, indent=1, ensure_ascii=False)}\n")
        notes.append(f"Kept: {digests}, {summarize_names(changed) or 'unchanged'}")
    elif digests.is_file():
        problems.extend(compare_kept(now, read_kept(digests, command), labels, command))
    else:
        notes.append(f"What its versions stand for is not kept: there is no {digests}.\nRun:  {command}")
    return Findings(problems, tuple(notes))


def check_numbers(benchmark: Benchmark, records: Mapping[str, Sequence[Record]]) -> Problems:
    """The tasks, groups and views of which lmms-eval, tables, page and comparison print different numbers."""
    problems = Problems()
    with tempfile.TemporaryDirectory() as root, patch.dict(os.environ, {HOME: root}):
        for number, (name, view) in enumerate(every_name(benchmark.name)):

            def compare(name: str = name, view: str = view, folder: Path = Path(root, f"run{number}")) -> None:
                finished = finish(folder, name, view, records)
                for check in CHECKS:
                    check(finished)

            graded = [benchmark.kinds[kind] for kind in records]
            if all(task.kind in graded for task in registry().find_members(name)):
                attempt(problems, f"numbers of {name_view(name, view)}", "one everywhere", benchmark.folder, compare)
    return problems


def draw_examples(benchmark: Benchmark) -> dict[str, Any]:
    """Examples of what is prepared: some groups of every stratum, with every guess, the key, and no answer."""
    try:
        splits = list(read_manifest(benchmark.card).splits)
    except InputError as error:
        missing = f"there is no {benchmark.folder / EXAMPLES}, and no prepared split to draw them of"
        raise InputError(f"Expected examples to check {benchmark.name} on, but {missing}.") from error
    rows: list[dict[str, Any]] = []
    for split in splits:
        seen: Counter[tuple[Any, ...]] = Counter()
        chosen: dict[str, bool] = {}
        for row in read_table(benchmark.card, split)[0].to_pylist():
            stratum = tuple(row.get(column) for column in (*benchmark.card.strata_columns, "subset"))
            if row["group_id"] not in chosen:
                seen[stratum] += 1
                chosen[row["group_id"]] = seen[stratum] <= GROUPS
            if chosen[row["group_id"]]:
                rows.append({**row, "split": split, "asked": True})
    guesses = [
        str(guess)
        for kind in benchmark.kinds
        for _, asked in deal_items(benchmark, kind, rows, [(row, None) for row in rows])
        for guess in benchmark.kinds[kind].guesses(asked[0][0])
    ]
    keys = [str(row["answer"]) for row in rows if row["answer"]]
    return {"rows": rows, "runs": list(dict.fromkeys([*guesses, *keys[:GROUPS], "I cannot tell.", ""]))}
