"""What a task's numbers hang on, as digests beside its version N-X; and whether they may have moved.

Run it to rewrite the kept digests: `python version_gate.py [--equivalent WHY] [--check]`; docs/versions.md says when.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from scorer_source import PACKAGE, Source
from version_examples import example_scores, rendered

from lmms_eval_tasks.utils.benchmark.registry import registry
from lmms_eval_tasks.utils.benchmark.task_files import task_configs
from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.building import make_table
from lmms_eval_tasks.utils.prompting.prompts import prompt_ids, read_prompt

DIGESTS = Path(__file__).resolve().parents[1] / "version_digests.json"
EXAMPLES = Path(__file__).resolve().parents[1] / "version_examples.json"
PARTS = {
    "prompts": "rendered prompts",
    "generation": "generation settings",
    "source": "scorer source",
    "schema": "data schema",
    "scores": "scores of the examples",
}
"""Part to what it is called."""
NUMBERS = "scores"
"""The part that is numbers: where it moves, no reason says that none does."""
HOOKS = ("process_docs", "doc_to_visual", "doc_to_text", "process_results")
SETTINGS = ("output_type", "generation_kwargs", "reasoning_tags", "lmms_eval_specific_kwargs")
FORM = re.compile(r"([1-9]\d*)-[A-Z]")
REMEDY = (
    "raise N of `metadata: version` in the YAML of these tasks and of their groups, and run `make versions`; where it "
    "is certain that no number moves, run `make versions EQUIVALENT='why it is certain'`."
)
REASON = 20
"""Least length of a written reason."""

Kept = dict[str, Any]


def digest_all(examples: Path = EXAMPLES) -> Kept:
    """Versions and digests of every task and group of the package that is imported.

    Returns:
        ``examples``: digest of the examples; ``tasks``: name to ``version`` and a digest per part, for scores one for
        each; ``definitions``: what scoring reaches, to digests by which a message can name what moved; ``uses``: task
        to the definitions that it reaches.
    """
    documents = json.loads(examples.read_text(encoding="utf-8"))
    tasks: dict[str, dict[str, Any]] = {}
    uses: dict[str, list[str]] = {}
    definitions: dict[str, str] = {}
    for benchmark in registry().benchmarks:
        configs = task_configs(benchmark)
        members = {name: config["task"] for name, config in configs.items() if "group" in config}
        for name in configs.keys() - members.keys():
            found = {str(symbol): digest[:12] for symbol, digest in source_of(configs[name]).digests().items()}
            definitions |= found
            uses[name] = sorted(found)
            tasks[name] = _task_parts(benchmark, configs[name], documents[benchmark])
        for name, parts in members.items():
            uses[name] = sorted({found for member in parts for found in uses[member]})
            tasks[name] = _group_parts(configs[name], [tasks[member] for member in parts])
    return {
        "examples": hashlib.sha256(examples.read_bytes()).hexdigest(),
        "tasks": dict(sorted(tasks.items())),
        "definitions": dict(sorted(definitions.items())),
        "uses": uses,
    }


def _task_parts(benchmark: str, config: Mapping[str, Any], examples: Mapping[str, Any]) -> dict[str, Any]:
    source = source_of(config)
    scores = example_scores(config, examples["rows"], examples["responses"])
    return {
        "version": str(config["metadata"]["version"]),
        "prompts": _digest([rendered(config, examples["rows"]), prompts_named(benchmark, source)]),
        "generation": _digest({setting: config.get(setting) for setting in SETTINGS}),
        "source": _digest([source.sha256(), scores_of(config)]),
        "schema": _digest(schema_of(benchmark)),
        NUMBERS: {score: _digest(values)[:12] for score, values in scores.items()},
    }


def _group_parts(config: Mapping[str, Any], members: list[dict[str, Any]]) -> dict[str, Any]:
    def together(part: str, *more: Any) -> str:
        return _digest([*(member[part] for member in members), *more])

    return {
        "version": str(config["metadata"]["version"]),
        **{part: together(part) for part in ("prompts", "generation", "schema")},
        "source": together("source", config["aggregate_metric_list"]),
        NUMBERS: {
            score: _digest([member[NUMBERS].get(score) for member in members])[:12] for score in members[0][NUMBERS]
        },
    }


def source_of(config: Mapping[str, Any]) -> Source:
    """What the functions that a task's YAML names reach."""
    hooks = [config[hook] for hook in HOOKS]
    return _source((*hooks, *sorted({metric["aggregation"] for metric in config["metric_list"]})))


@cache
def _source(roots: tuple[str, ...]) -> Source:
    return Source(roots)


def scores_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a task's YAML says of its scores, functions by their names without the module."""
    return {
        "metrics": {
            metric["metric"]: [metric["aggregation"].rpartition(".")[2], metric["higher_is_better"]]
            for metric in config["metric_list"]
        },
        "cluster_key": config.get("cluster_key"),
    }


def schema_of(benchmark: str) -> list[str]:
    """Columns and types of a benchmark's prepared table."""
    prepare = importlib.import_module(f"{PACKAGE}.{benchmark}.prepare")
    return [f"{field.name}: {_type_name(field.type)}" for field in make_table([], prepare.own_columns()).schema]


def _type_name(kind: pa.DataType) -> str:
    """A column's type; pyarrow's own name of a list has changed between its versions."""
    return f"list of {_type_name(kind.value_type)}" if pa.types.is_list(kind) else str(kind)


def prompts_named(benchmark: str, source: Source) -> list[str]:
    """Texts of the prompts that a benchmark's own scoring names, such as a judge's."""
    named = set(source.texts(f"{PACKAGE}.{benchmark}.")) & set(prompt_ids())
    return [read_prompt(prompt_id).text for prompt_id in sorted(named)]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def read_kept(path: Path) -> Kept:
    """The kept digests; empty where there is no file.

    Raises:
        InputError: where it cannot be read, as after a merge with conflicts.
    """
    if not path.is_file():
        return {"examples": "", "tasks": {}, "definitions": {}, "equivalent": []}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return {name: kept[name] for name in ("examples", "tasks", "definitions", "equivalent")}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} cannot be read as kept digests ({type(error).__name__}: {error}).\n"
            f"Remedy: take that of the branch merged into, `git checkout BRANCH -- tests/{path.name}`, and run "
            "`make versions` again."
        ) from error


def major(version: str) -> int:
    """N of a version N-X.

    Raises:
        ValueError: where it has another form.
    """
    match = FORM.fullmatch(version)
    if match is None:
        raise ValueError(f"Expected a version N-X, as 2-A, but got {version!r}.")
    return int(match[1])


def find_problems(now: Kept, kept: Kept) -> Problems:
    """Tasks whose version is no N-X, or whose N went back."""
    problems = Problems()
    for name, found in now["tasks"].items():
        before = kept["tasks"].get(name)
        try:
            if before and major(found["version"]) < major(before["version"]):
                told = f"{found['version']} after {before['version']}"
                problems.add(name, f"Expected N not to go back, but got {told}.")
            major(found["version"])
        except ValueError as error:
            problems.add(name, str(error))
    return problems


def find_moved(now: Kept, kept: Kept) -> dict[str, list[str]]:
    """Task to those of its parts that moved while its N did not."""
    moved = {
        name: [part for part in PARTS if _moved(found[part], before[part])]
        for name, found in now["tasks"].items()
        if (before := kept["tasks"].get(name)) and found["version"].split("-")[0] == before["version"].split("-")[0]
    }
    return {name: parts for name, parts in moved.items() if parts}


def _moved(now: Any, before: Any) -> bool:
    """Whether a part moved; a score more moves none."""
    if isinstance(now, dict) and isinstance(before, dict):
        return any(now.get(name) != digest for name, digest in before.items())
    return bool(now != before)


def _refuse(now: Kept, kept: Kept, outcome: str = "") -> None:
    problems = find_problems(now, kept)
    moved = find_moved(now, kept)
    alike: dict[str, list[str]] = {}
    for name, parts in moved.items():
        told = ", ".join(PARTS[part] + (_named(now, kept, name) if part == "source" else "") for part in parts)
        alike.setdefault(f"Expected N to rise, because these moved: {told}.", []).append(name)
    for number, (told, names) in enumerate(alike.items(), 1):
        problems.add(summarize_names(names), told, REMEDY if number == len(alike) else "")
    problems.raise_if_any("Versions of tasks and what they stand for disagree", outcome)


def _named(now: Kept, kept: Kept, task: str) -> str:
    """The definitions that a task reaches and that are new or others than before."""
    others = [one for one in now["uses"][task] if kept["definitions"].get(one) != now["definitions"][one]]
    return f" ({summarize_names(others)})" if others else ""


def check(now: Kept, kept: Kept) -> None:
    """Refuse what was kept where it is not what is there now.

    Raises:
        InputError: with every task, which of its parts moved, and what to run.
    """
    _refuse(now, kept)
    if now["tasks"] != kept["tasks"]:
        names = {*now["tasks"], *kept["tasks"]}
        others = sorted(name for name in names if now["tasks"].get(name) != kept["tasks"].get(name))
        raise InputError(
            f"Versions were raised, or tasks or scores came or went ({summarize_names(others)}): run `make versions`."
        )


def renew(path: Path, now: Kept, reason: str = "") -> list[str]:
    """Rewrite the kept digests.

    Args:
        path: The file.
        now: As `digest_all` gives it.
        reason: Why no number moves although digests do and N does not; kept in the file.

    Returns:
        Names of the tasks whose entries are new.

    Raises:
        InputError: where parts moved, N did not and there is no reason, or scores of the examples moved whatever the
            reason, or a version is no N-X or went back; the file stays as it is.
    """
    kept = read_kept(path)
    equivalent = list(kept["equivalent"])
    if reason:
        if len(reason.strip()) < REASON:
            raise InputError(f"Expected a reason of {REASON} letters or more, for readers, but got {reason!r}.")
        find_problems(now, kept).raise_if_any("Versions cannot be kept", "nothing was written")
        moved = find_moved(now, kept)
        changed = [name for name, parts in moved.items() if NUMBERS in parts]
        if changed and now["examples"] == kept["examples"]:
            raise InputError(
                f"Expected no number to move, but the {PARTS[NUMBERS]} did ({summarize_names(changed)}), nothing was "
                "written.\nRemedy: raise N, or mend what moved them."
            )
        if moved:
            equivalent.append({"reason": reason.strip(), "moved": moved})
    else:
        _refuse(now, kept, "nothing was written")
    new = {**{name: now[name] for name in ("examples", "tasks", "definitions")}, "equivalent": equivalent}
    path.write_text(json.dumps(new, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return [name for name, found in now["tasks"].items() if found != kept["tasks"].get(name)]


def main(arguments: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description="Keep the digests of what versions of tasks stand for.")
    parser.add_argument("--equivalent", default="", metavar="WHY", help="why no number moves although digests do")
    parser.add_argument("--check", action="store_true", help="only say whether the kept digests are right")
    parser.add_argument("--digests", type=Path, default=DIGESTS, help="the file")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.check:
            check(digest_all(), read_kept(chosen.digests))
        else:
            names = renew(chosen.digests, digest_all(), chosen.equivalent)
            sys.stdout.write(f"{chosen.digests}: {summarize_names(names) if names else 'as it was'}\n")
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
