"""Every command and every number in our pages is one that works."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from commands import call
from commands_page import commands_page
from docs import ROOT, blocks, blocks_of, pages
from published import LEADERBOARD, REPRODUCIBILITY, TABLE_6, TABLE_12, records

import lmms_eval_tasks
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.cli.rescore import DIFFERENT
from lmms_eval_tasks.host.checks import REFUSED
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.views import split_name
from lmms_eval_tasks.utils.core.text import KNOWN, PREFIX

PACKAGE, DOCS = Path(lmms_eval_tasks.__file__).parent, ROOT / "docs"
PAGES = {page: page.read_text(encoding="utf-8") for page in pages()}
WRITTEN = [block for page in PAGES for block in blocks(page)]
BLOCKS = [block for block in (*WRITTEN, *blocks_of("commands.md", commands_page())) if not block.example]
"""Those that need the example of a benchmark are run beside it, in tests/end_to_end."""
ELSEWHERE = {"aws", "export", "kill", "litellm", "make", "pip", "python", "set", "srun", "swift", "vllm"}


def check_command(words: Sequence[str]) -> bool:
    """Fail where lmms-eval or our command does not take these words; False where the command is neither of them."""
    if words[0] == "lmms-eval-tasks":
        check_own_command(list(words[1:]))
        if words[1] == "launch":
            check_command(words[words.index("--") + 1 :])
    elif words[0] == "lmms-eval" and not words[1].startswith("-"):
        from lmms_eval.cli.dispatch import _build_parser

        _build_parser().parse_args(words[1:])
    elif words[0] == "lmms-eval":
        check_host_command(host_parser().parse_args(words[1:]))
    elif list(words[:2]) == ["accelerate", "launch"] or words[0] == "torchrun":
        check_host_command(host_parser().parse_args(words[words.index("lmms_eval") + 1 :]))
    else:
        return False
    return True


@cache
def own_commands() -> Any:
    return typer.main.get_command(app)


def check_own_command(words: list[str]) -> None:
    """The command exists and its words parse; nothing is run."""
    command: Any = own_commands()
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context(command.name, words, resilient_parsing=False)


@cache
def host_parser() -> argparse.ArgumentParser:
    from lmms_eval import __main__ as host

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["lmms-eval"])
        parser: argparse.ArgumentParser = host.parse_eval_args()[0]
    return parser


@cache
def known_tasks() -> frozenset[str]:
    """Every task that lmms-eval has with ours."""
    import lmms_eval.models  # noqa: F401  (loads the entry points, as every evaluation does)
    from lmms_eval.tasks import TaskManager

    return frozenset(TaskManager().all_tasks)


def check_host_command(options: argparse.Namespace) -> None:
    """Its tasks exist, and the model takes its arguments."""
    if options.tasks in ("list", "list_subtasks"):
        return
    for task in options.tasks.split(","):
        # Views of tasks that are not ours are in files that a command before has written.
        parent, _ = split_name(task) or (task, None)
        assert task in known_tasks() or (options.include_path and parent in known_tasks()), task
    if not options.power_analysis:
        names = [argument.partition("=")[0] for argument in options.model_args.split(",") if argument]
        source = model_source(options.model)
        assert [name for name in names if not re.search(rf"\b{name}: ", source)] == [], options.model


@cache
def model_source(model: str) -> str:
    """The code of a model of lmms-eval, or of the example of a model plugin."""
    from lmms_eval.models import MODEL_REGISTRY_V2

    if model in ("brightness", "motion"):
        return (ROOT / "examples/model_plugin/brightness_model/model.py").read_text(encoding="utf-8")
    manifest, files = MODEL_REGISTRY_V2.get_manifest(model), []
    for path in filter(None, (manifest.chat_class_path, manifest.simple_class_path)):
        spec = importlib.util.find_spec(path.rpartition(".")[0])
        assert spec is not None and spec.origin is not None
        file = Path(spec.origin)
        files += sorted(file.parent.glob("*.py")) if file.name in ("__init__.py", "model.py") else [file]
    return "".join(file.read_text(encoding="utf-8") for file in files)


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({block.page for block in BLOCKS}))
def test_every_command_on_a_page_is_one_that_the_tools_take(page: str) -> None:
    for words in (words for block in BLOCKS if block.page == page for words in block.commands()):
        assert check_command(words) or words[0] in ELSEWHERE, words


def test_runs_write_below_out_and_runnable_blocks_need_nothing_but_this_package() -> None:
    assert len(BLOCKS) > 8 and any(block.run for block in BLOCKS)
    for page in PAGES:
        commands = [words for block in blocks(page) for words in block.commands()]
        folders = [words[words.index("--output_path") + 1] for words in commands if "--output_path" in words]
        assert len(folders) == len(set(folders)), page
        assert all(re.fullmatch(r"out/[a-z0-9-]+", folder) for folder in folders), (page, folders)
        assert not any({"out", "predictions=out"} & set(words) for words in commands), page
    for block in (block for block in BLOCKS if block.run):
        scripts = [words[1] for words in block.commands() if words[0] == "python"]
        assert {words[0] for words in block.commands()} <= {"lmms-eval", "lmms-eval-tasks", "export", "python", "kill"}
        assert all(script.startswith("examples/") and (ROOT / script).is_file() for script in scripts), block


@pytest.mark.slow
def test_the_readme_is_short_and_has_a_run_of_each_benchmark() -> None:
    lines = PAGES[ROOT / "README.md"].splitlines()
    assert len(lines) <= 150 and sum("![" in line for line in lines) == 1
    own = [name for name, benchmark in registry().benchmarks.items() if benchmark.folder.is_relative_to(PACKAGE)]
    assert own
    for name in own:
        (row,) = (line for line in lines if line.startswith("| [") and f"](lmms_eval_tasks/{name}/README.md) |" in line)
        prepared, run = (shlex.split(command) for command in re.findall("`(lmms-eval[^`]+)`", row))
        assert prepared[:3] == ["lmms-eval-tasks", "prepare", name] and run[0] == "lmms-eval"
        assert check_command(prepared) and check_command(run)


@pytest.mark.slow
def test_the_pages_list_every_variable_every_exit_status_and_every_option_of_lmms_eval() -> None:
    known = {*KNOWN, *registry().variables}
    assert set(re.findall(rf"`({PREFIX}\w+)`", PAGES[DOCS / "variables.md"])) == known
    statuses = re.findall(r"^\| (\d) \|", PAGES[DOCS / "exit_codes.md"], re.MULTILINE)
    ended = [call(*words).status for words in (["path"], ["validate", "mvp", "none"], ["nothing"])]
    assert list(map(int, statuses)) == [*ended, DIFFERENT]
    section = PAGES[DOCS / "runs.md"].partition("## lmms-eval's options")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \| (works|refused|not tried)\b", section, re.MULTILINE)
    listed = {name: state for names, state in rows for name in re.findall("`([^`]+)`", names)}
    options = {action.dest: action.option_strings for action in host_parser()._actions if action.dest != "help"}
    assert {name for names in options.values() for name in names} >= listed.keys()
    assert not [names for names in options.values() if len(listed.keys() & names) != 1]
    refused = {name for name, state in listed.items() if state == "refused"}
    assert refused == {f"--{name}" for name in REFUSED} | {"--fewshot_as_multiturn"}


def table_rows(benchmark: str, columns: int) -> dict[str, list[str]]:
    """The rows of so many numbers on a benchmark's page, by model."""
    page = PAGES[ROOT / f"lmms_eval_tasks/{benchmark}/README.md"]
    rows = re.findall(rf"^\| ([\w. -]+)((?: \| [\d.]+){{{columns}}}) \|$", page, re.MULTILINE)
    return {model: cells.split(" | ")[1:] for model, cells in rows}


def published(benchmark: str, table: str, model: str, **named: str) -> float:
    """The first number of a table that the paper prints of a model."""
    found = (row for row in records(benchmark, table) if row["model"].startswith(model))
    return next(float(row["value"]) for row in found if named.items() <= row.items())


def test_tables_on_the_pages_are_the_published_numbers_and_the_official_ones() -> None:
    names = {"LLaVA-OneVision": "LLaVa-OneVision", "PerceptionLM": "Perception-LM", "Qwen2.5-VL": "Qwen2.5VL"}
    tables = [table_rows("causalvqa", 4), table_rows("mvp", 4), table_rows("cast_bench", 8)]
    assert list(map(len, tables)) == [6, 2, 2]
    for model, cells in tables[0].items():
        name = names.get(model, model)
        single, paired = (published("causalvqa", table, name, category="all") for table in (TABLE_6, TABLE_12))
        assert list(map(float, cells)) == [single, single, paired, paired], model
    for model, cells in tables[1].items():
        of = {"category": "macro_avg"}
        pair, single = (
            published("mvp", REPRODUCIBILITY, model, metric=metric, **of)
            for metric in ("pair_accuracy", "single_accuracy")
        )
        assert list(map(float, cells)) == [pair, pair, single, single], model
    official = ("qa_accuracy", "qa_faithful_answer_accuracy", "qa_temporal_m_tiou_pergt", "qa_st_m_viou_pergt")
    for model, cells in tables[2].items():
        metrics = ("qa_accuracy", "faithful", "IM-tIoU", "IM-vIoU")
        wanted = [published("cast_bench", LEADERBOARD, model, metric=metric) for metric in metrics]
        assert list(map(float, cells[::2])) == wanted, model
        if "ORACLES" in os.environ:
            expected = json.loads((Path(os.environ["ORACLES"]) / "cast_bench" / "expected.json").read_text("utf-8"))
            name = {"Claude-sonnet-4.6": "sonnet-4.6", "Qwen3-VL-8B-Instruct": "qwen3vl-8b"}[model]
            first = next(run for run in expected["runs"] if run["model"] == name)["overall_per_qa"]
            assert cells[1::2] == [f"{100 * first[metric]:.2f}" for metric in official], model


def test_links_to_files_lead_somewhere_and_a_benchmark_s_page_names_its_files() -> None:
    for page, text in PAGES.items():
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
            assert (page.parent / target).exists(), (page, target)
        if page.parent.parent.name == "lmms_eval_tasks":
            table = next(part for part in text.split("\n\n") if part.startswith("| file |"))
            assert table.startswith("| file | contents |\n| --- | --- |\n| [benchmark.py](benchmark.py) |"), page
            named = set(re.findall(r"\]\(([^)]+)\)", table))
            tasks = {path.name for path in page.parent.glob("*.yaml") if path.stem.startswith(page.parent.name)}
            assert len(named & tasks) >= 2 and "published.json" in named, page
            if "\n## Files\n" in text:
                assert {path.name for path in page.parent.glob("*.py")} - {"__init__.py"} <= named, page


def test_the_guide_shows_lines_of_the_example() -> None:
    text = (ROOT / "docs" / "own_benchmark.md").read_text("utf-8")
    folder = ROOT / "examples" / "pendulum_plugin" / "pendulums"
    example = "".join((folder / f"{name}.py").read_text("utf-8") for name in ("benchmark", "hooks")).splitlines()
    shown = re.findall(r"<!-- from the example -->\n```python\n(.*?)```", text, re.DOTALL)
    assert len(shown) == 3
    assert [line for block in shown for line in block.splitlines() if line not in example] == []
