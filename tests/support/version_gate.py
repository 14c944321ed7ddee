"""What a task's numbers hang on, as digests beside its version N-X; and whether they may have moved.

Run it to rewrite the kept digests: `python version_gate.py [--equivalent WHY] [--check]`; docs/versions.md says when.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from scorer_source import PACKAGE, Source

from lmms_eval_tasks.hosting import session
from lmms_eval_tasks.utils.building import make_table
from lmms_eval_tasks.utils.card import benchmarks
from lmms_eval_tasks.utils.problems import InputError, Problems
from lmms_eval_tasks.utils.prompts import prompt_ids, read_prompt
from lmms_eval_tasks.utils.task_files import task_configs
from lmms_eval_tasks.utils.wording import first_names

DIGESTS = Path(__file__).resolve().parents[1] / "version_digests.json"
EXAMPLES = Path(__file__).resolve().parents[1] / "version_examples.json"
PARTS = {
    "prompts": "rendered prompts",
    "generation": "generation settings",
    "source": "scorer source",
    "schema": "data schema",
}
"""Part to what it is called."""
HOOKS = ("process_docs", "doc_to_visual", "doc_to_text", "process_results")
SETTINGS = ("output_type", "generation_kwargs", "reasoning_tags", "lmms_eval_specific_kwargs")
FORM = re.compile(r"([1-9]\d*)-[A-Z]")
CHOICES = ("LMMS_EVAL_TASKS_PROMPT", "LMMS_EVAL_TASKS_BOXES")
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
        ``tasks``: name to ``version`` and a digest per part; ``definitions``: what scoring reaches, to digests by which
        a message can name what moved; ``uses``: task to the definitions that it reaches.
    """
    documents = json.loads(examples.read_text(encoding="utf-8"))
    tasks: dict[str, dict[str, str]] = {}
    uses: dict[str, list[str]] = {}
    definitions: dict[str, str] = {}
    for benchmark in benchmarks():
        configs = task_configs(benchmark)
        schema = _digest(schema_of(benchmark))
        for name, config in configs.items():
            if "group" in config:
                continue
            source = source_of(config)
            found = {str(symbol): digest[:12] for symbol, digest in source.digests().items()}
            definitions |= found
            uses[name] = sorted(found)
            tasks[name] = {
                "version": str(config["metadata"]["version"]),
                "prompts": _digest(prompts_of(benchmark, config, source, documents[benchmark])),
                "generation": _digest({setting: config.get(setting) for setting in SETTINGS}),
                "source": _digest([source.sha256(), scores_of(config)]),
                "schema": schema,
            }
        for name, config in configs.items():
            if "group" in config:
                members = [tasks[member] for member in config["task"]]
                uses[name] = sorted({found for member in config["task"] for found in uses[member]})
                tasks[name] = {
                    "version": str(config["metadata"]["version"]),
                    **{part: _digest([member[part] for member in members]) for part in PARTS if part != "source"},
                    "source": _digest([*(member["source"] for member in members), config["aggregate_metric_list"]]),
                }
    return {
        "tasks": dict(sorted(tasks.items())),
        "definitions": dict(sorted(definitions.items())),
        "uses": uses,
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


def prompts_of(
    benchmark: str, config: Mapping[str, Any], source: Source, documents: Iterable[Mapping[str, Any]]
) -> dict[str, list[str]]:
    """What a task asks about the example documents, for every model that it asks otherwise, and the texts of the
    prompts that its benchmark's own scoring names, such as a judge's."""
    module, _, function = config["doc_to_text"].rpartition(".")
    ask = getattr(importlib.import_module(module), function)
    rows = list(documents)
    texts: dict[str, list[str]] = {}
    for model, settings in (config.get("lmms_eval_specific_kwargs") or {"default": {}}).items():
        session.start(clips_needed=True)
        with patch.dict(os.environ):
            for choice in CHOICES:
                os.environ.pop(choice, None)
            texts[model] = [ask(row, settings) for row in rows]
    session.start(clips_needed=True)
    named = sorted(set(source.texts(f"{PACKAGE}.{benchmark}.")) & set(prompt_ids()))
    return {**texts, "named by scoring": [read_prompt(prompt_id).text for prompt_id in named]}


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def read_kept(path: Path) -> Kept:
    """The kept digests; empty where there is no file.

    Raises:
        InputError: where it cannot be read, as after a merge with conflicts.
    """
    if not path.is_file():
        return {"tasks": {}, "definitions": {}, "equivalent": []}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return {name: kept[name] for name in ("tasks", "definitions", "equivalent")}
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
        name: [part for part in PARTS if found[part] != before[part]]
        for name, found in now["tasks"].items()
        if (before := kept["tasks"].get(name)) and found["version"].split("-")[0] == before["version"].split("-")[0]
    }
    return {name: parts for name, parts in moved.items() if parts}


def _refuse(now: Kept, kept: Kept, outcome: str = "") -> None:
    problems = find_problems(now, kept)
    moved = find_moved(now, kept)
    alike: dict[str, list[str]] = {}
    for name, parts in moved.items():
        told = ", ".join(PARTS[part] + (_named(now, kept, name) if part == "source" else "") for part in parts)
        alike.setdefault(f"Expected N to rise, because these moved: {told}.", []).append(name)
    for number, (told, names) in enumerate(alike.items(), 1):
        problems.add(first_names(names), told, REMEDY if number == len(alike) else "")
    problems.raise_if_any("Versions of tasks and what they stand for disagree", outcome)


def _named(now: Kept, kept: Kept, task: str) -> str:
    """The definitions that a task reaches and that are new or others than before."""
    others = [one for one in now["uses"][task] if kept["definitions"].get(one) != now["definitions"][one]]
    return f" ({first_names(others)})" if others else ""


def check(now: Kept, kept: Kept) -> None:
    """Refuse what was kept where it is not what is there now.

    Raises:
        InputError: with every task, which of its parts moved, and what to run.
    """
    _refuse(now, kept)
    if now["tasks"] != kept["tasks"]:
        names = {*now["tasks"], *kept["tasks"]}
        others = sorted(name for name in names if now["tasks"].get(name) != kept["tasks"].get(name))
        raise InputError(f"Versions were raised, or tasks came or went ({first_names(others)}): run `make versions`.")


def renew(path: Path, now: Kept, reason: str = "") -> list[str]:
    """Rewrite the kept digests.

    Args:
        path: The file.
        now: As `digest_all` gives it.
        reason: Why no number moves although digests do and N does not; kept in the file.

    Returns:
        Names of the tasks whose entries are new.

    Raises:
        InputError: where parts moved, N did not and there is no reason, or a version is no N-X or went back; the file
            stays as it is.
    """
    kept = read_kept(path)
    equivalent = list(kept["equivalent"])
    if reason:
        if len(reason.strip()) < REASON:
            raise InputError(f"Expected a reason of {REASON} letters or more, for readers, but got {reason!r}.")
        find_problems(now, kept).raise_if_any("Versions cannot be kept", "nothing was written")
        if moved := find_moved(now, kept):
            equivalent.append({"reason": reason.strip(), "moved": moved})
    else:
        _refuse(now, kept, "nothing was written")
    new = {"tasks": now["tasks"], "definitions": now["definitions"], "equivalent": equivalent}
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
            sys.stdout.write(f"{chosen.digests}: {first_names(names) if names else 'as it was'}\n")
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
