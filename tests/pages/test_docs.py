"""Every command and every number in our pages is one that works."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from command_lines import check_command
from commands_page import commands_page
from docs import ROOT, blocks, blocks_of, pages
from published import LEADERBOARD, REPRODUCIBILITY, TABLE_6, TABLE_12, records
from typer.testing import CliRunner

import lmms_eval_tasks
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.cli.rescore import DIFFERENT
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.core.text import KNOWN, PREFIX

WRITTEN = [block for page in pages() for block in blocks(page)]
BLOCKS = [block for block in (*WRITTEN, *blocks_of("commands.md", commands_page())) if not block.example]
"""Those that need the example of a benchmark are run beside it, in tests/end_to_end."""
COMMANDS = [(block.page, words) for block in BLOCKS for words in block.commands()]
PACKAGE, DOCS = Path(lmms_eval_tasks.__file__).parent, ROOT / "docs"
ELSEWHERE = {"aws", "export", "kill", "make", "pip", "python", "set", "srun", "swift", "vllm"}


def test_every_run_of_a_page_has_a_folder_of_its_own_below_out() -> None:
    assert len(BLOCKS) > 8 and any(block.run for block in BLOCKS)
    for page in pages():
        commands = [words for block in blocks(page) for words in block.commands()]
        folders = [words[words.index("--output_path") + 1] for words in commands if "--output_path" in words]
        assert len(folders) == len(set(folders)), page
        assert all(re.fullmatch(r"out/[a-z0-9-]+", folder) for folder in folders), (page, folders)
        assert not any({"out", "predictions=out"} & set(words) for words in commands), page


@pytest.mark.slow
@pytest.mark.parametrize(("page", "words"), COMMANDS, ids=lambda value: value[0] if isinstance(value, list) else value)
def test_every_command_is_one_that_the_tools_take(page: str, words: list[str]) -> None:
    assert check_command(words) or words[0] in ELSEWHERE, f"{page}: {words}"


@pytest.mark.slow
def test_the_readme_is_short_and_has_a_run_of_each_benchmark() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150 and sum("![" in line for line in lines) == 1
    own = [name for name, benchmark in registry().benchmarks.items() if benchmark.folder.is_relative_to(PACKAGE)]
    assert own
    for name in own:
        (row,) = (line for line in lines if line.startswith("| [") and f"](lmms_eval_tasks/{name}/README.md) |" in line)
        prepared, run = (shlex.split(command) for command in re.findall("`(lmms-eval[^`]+)`", row))
        assert prepared[:3] == ["lmms-eval-tasks", "prepare", name] and run[0] == "lmms-eval"
        assert check_command(prepared) and check_command(run)


def test_the_pages_list_every_variable_and_every_exit_status() -> None:
    known = {*KNOWN, *registry().variables}
    assert set(re.findall(rf"`({PREFIX}\w+)`", (DOCS / "variables.md").read_text(encoding="utf-8"))) == known
    statuses = re.findall(r"^\| (\d) \|", (DOCS / "exit_codes.md").read_text(encoding="utf-8"), re.MULTILINE)
    ended = [CliRunner().invoke(app, words).exit_code for words in (["path"], ["validate", "mvp", "none"], ["nothing"])]
    assert list(map(int, statuses)) == [*ended, DIFFERENT]


def table_rows(benchmark: str) -> list[tuple[str, list[float]]]:
    """The rows of four numbers on a benchmark's page, by model."""
    page = (ROOT / f"lmms_eval_tasks/{benchmark}/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w. -]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    return [(model, list(map(float, cells))) for model, *cells in rows]


def test_tables_on_the_pages_are_the_published_numbers() -> None:
    names = {"LLaVA-OneVision": "LLaVa-OneVision", "PerceptionLM": "Perception-LM", "Qwen2.5-VL": "Qwen2.5VL"}
    rows = table_rows("causalvqa")
    assert len(rows) == 6
    for model, numbers in rows:
        name = names.get(model, model)
        single, paired = (published("causalvqa", table, name, category="all") for table in (TABLE_6, TABLE_12))
        assert numbers == [single, single, paired, paired], model
    rows = table_rows("mvp")
    assert len(rows) == 2
    for model, numbers in rows:
        pair, single = (
            published("mvp", REPRODUCIBILITY, model, metric=metric, category="macro_avg")
            for metric in ("pair_accuracy", "single_accuracy")
        )
        assert numbers == [pair, pair, single, single], model


def published(benchmark: str, table: str, model: str, **named: str) -> float:
    """The first number of a table that the paper prints of a model."""
    found = (row for row in records(benchmark, table) if row["model"].startswith(model))
    return next(row["value"] for row in found if named.items() <= row.items())


def test_the_cast_bench_table_is_the_published_and_the_official_one() -> None:
    page = (ROOT / "lmms_eval_tasks/cast_bench/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w. -]+)((?: \| [\d.]+){8}) \|$", page, re.MULTILINE)
    assert len(rows) == 2
    metrics = ("qa_accuracy", "faithful", "IM-tIoU", "IM-vIoU")
    official = ("qa_accuracy", "qa_faithful_answer_accuracy", "qa_temporal_m_tiou_pergt", "qa_st_m_viou_pergt")
    for model, cells in rows:
        numbers = cells.split(" | ")[1:]
        published = {row["metric"]: row["value"] for row in records("cast_bench", LEADERBOARD) if row["model"] == model}
        assert [float(number) for number in numbers[::2]] == [published[metric] for metric in metrics], model
        if "ORACLES" in os.environ:
            expected = json.loads((Path(os.environ["ORACLES"]) / "cast_bench" / "expected.json").read_text("utf-8"))
            name = {"Claude-sonnet-4.6": "sonnet-4.6", "Qwen3-VL-8B-Instruct": "qwen3vl-8b"}[model]
            first = next(run for run in expected["runs"] if run["model"] == name)["overall_per_qa"]
            assert numbers[1::2] == [f"{100 * first[metric]:.2f}" for metric in official], model


def test_every_link_to_a_file_leads_somewhere() -> None:
    for page in pages():
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page, target)


def test_a_table_of_a_benchmarks_page_names_its_files() -> None:
    """It begins with the benchmark's object, and names files of tasks; the test above follows its links."""
    for page in (page for page in pages() if page.parent.parent.name == "lmms_eval_tasks"):
        text = page.read_text(encoding="utf-8")
        table = next(part for part in text.split("\n\n") if part.startswith("| file |"))
        assert table.startswith("| file | what is in it |\n| --- | --- |\n| [benchmark.py](benchmark.py) |"), page
        named = set(re.findall(r"\]\(([^)]+)\)", table))
        tasks = {path.name for path in page.parent.glob("*.yaml") if path.stem.startswith(page.parent.name)}
        assert len(named & tasks) >= 2 and "published.json" in named, page
        if "\n## Files\n" in text:
            assert {path.name for path in page.parent.glob("*.py")} - {"__init__.py"} <= named, page
            assert text.index("\n## Files\n") > max(map(text.find, ("\n## Tasks\n", "\n## Data\n"))) > 0, page


def test_runnable_blocks_need_nothing_but_this_package() -> None:
    """But for a script of ours, which may be started beside them."""
    for block in (block for block in BLOCKS if block.run):
        scripts = [words[1] for words in block.commands() if words[0] == "python"]
        assert {words[0] for words in block.commands()} <= {"lmms-eval", "lmms-eval-tasks", "export", "python", "kill"}
        assert all(script.startswith("examples/") and (ROOT / script).is_file() for script in scripts), block


CONSTRUCTIONS = {
    "docs/building_causalvqa.md": ("choice of videos", "question writing"),
    "docs/building_mvp.md": ("choice of sources",),
    "docs/building_cast_bench.md": (),
    "docs/building_countervqa.md": ("choice of 1,200 clips", "pivotal nodes"),
    "lmms_eval_tasks/yocausal/README.md": ("choice of clips", "people prefer"),
}
"""Pages that say how a set is made, and the steps of the paper that are left out."""


def test_a_construction_says_where_it_is_another_choice_than_the_papers() -> None:
    """Beside the paper's, with the reason; what is left out is named."""
    for page, steps in CONSTRUCTIONS.items():
        lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
        start = lines.index("| The paper | here | why |") + 2
        rows = [line.strip("| ").split(" | ") for line in lines[start : lines.index("", start)]]
        assert len(rows) >= 5 and all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows), page
        left_out = [paper for paper, here, _ in rows if here.startswith("**left out**")]
        assert len(left_out) == len(steps) and all(map(str.__contains__, left_out, steps)), page
