"""A benchmark of another package whose items have three clips and no options: how many lamps go on in all."""

from __future__ import annotations

import json
from pathlib import Path

import av
import numpy as np

ITEMS, CLIPS = 4, ("clip", "clip_2", "clip_3")
BENCHMARK = '''"""Lamps in three clips."""

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.api import (
    COMMON_METRICS, SINGLE_ACCURACY, Benchmark, Card, Origin, Progress, SplitFacts, SplitManifest, TaskKind, building,
    no_progress,
)
from lmms_eval_tasks.api.prompts import prompt_reader

CLIPS = ("clip", "clip_2", "clip_3")
SCHEMA = {"clip_2": "string", "clip_3": "string"}
CARD = Card(
    name="lamp_count", title="Lamp count", paper="", licence="CC0", homepage="", main_metric="single_accuracy",
    splits={"test": SplitFacts(items=4, groups=4, answers_withheld=False)}, strata_columns=(), chance={},
    prepare_command="lmms-eval-tasks prepare lamp_count --source DIR", clip_columns=CLIPS,
)


def prepare(
    source: Annotated[Path, typer.Option(help="Folder of the release.")], progress: Progress = no_progress
) -> dict[str, SplitManifest]:
    """Prepare the release."""
    rows = [
        {"item_id": f"{item}", "group_id": f"{item}", "question": "How many lamps go on in all?", "options": [],
         "answer": f"{item + 1}", **{column: f"test/{item}_{place}.mp4" for place, column in enumerate(CLIPS)}}
        for item in range(4)
    ]
    clips = {row[column]: source / row[column].removeprefix("test/") for row in rows for column in CLIPS}
    with building(CARD.name) as build:
        build.add_split("test", rows, SCHEMA, clips, Origin(str(source), {}), progress)
    return {"test": build.splits["test"]}


BENCHMARK = Benchmark(
    card=CARD,
    folder=Path(__file__).parent,
    kinds={
        "count": TaskKind(
            metrics=(SINGLE_ACCURACY, *COMMON_METRICS), visuals=CLIPS, views=("blind",),
            read_settings=prompt_reader(fields=frozenset({"question"}), default="lamp_count"),
            guesses=lambda row: ("1", "2", "3"),
        )
    },
    prepare=prepare,
    schema=lambda: SCHEMA,
    no_submission="it is an example.",
)
'''
HOOKS = '''"""How an item is asked and graded."""

import re

from lmms_eval_tasks.api import (
    GradedItem, Record, aggregate, doc_to_target, doc_to_visual, hook, process_docs,
)

__all__ = ["aggregate", "doc_to_target", "doc_to_text", "doc_to_visual", "process_docs", "process_results"]


def ask(row, settings):
    """The prompt of a row."""
    return settings.prompt.render(question=row["question"])


@hook
def doc_to_text(task, doc, lmms_eval_specific_kwargs=None):
    """The question."""
    return task.put(doc, lmms_eval_specific_kwargs, ask)


def grade(row, response, context):
    """The record of the first number of a response."""
    found = re.search("[0-9]+", str(response))
    return GradedItem(
        Record.graded(
            row["item_id"], row["group_id"], {}, row["answer"], found and found[0], asked=row["asked"], fields={}
        )
    )


@hook
def process_results(task, doc, results):
    """The record of an answer."""
    return task.grade_first(doc, results, grade)
'''
HOOK_NAMES = ("process_docs", "doc_to_visual", "doc_to_text", "doc_to_target", "process_results")
SCORES = ("single_accuracy", "unparsed_rate", "unscored_rate", "sample_data")


def install_open_benchmark(site: Path) -> Path:
    """Put the package into a folder of packages; gives its folder."""
    package, facts = site / "lamp_count", site / "lamp_count-0.1.0.dist-info"
    for folder in (package / "pointers", package / "prompts", facts):
        folder.mkdir(parents=True)
    hooks = "".join(f"{name}: !function lamp_count.hooks.{name}\n" for name in HOOK_NAMES)
    scores = "".join(f"  - metric: {name}\n    aggregation: !function lamp_count.hooks.aggregate\n" for name in SCORES)
    files = {
        "__init__.py": '"""Lamps."""\n',
        "benchmark.py": BENCHMARK,
        "hooks.py": HOOKS,
        "prompts/lamp_count.txt": "{question}\nAnswer with a number.\n",
        "pointers/test.json": json.dumps({"benchmark": "lamp_count", "split": "test"}),
        "lamp_count.yaml": "task: lamp_count\ndataset_path: json\ndataset_kwargs:\n  data_files:\n"
        f"    test: pointers/test.json\ntest_split: test\noutput_type: generate_until\n{hooks}"
        f"generation_kwargs:\n  max_new_tokens: 8\n  until: []\nmetric_list:\n{scores}metadata:\n  version: 1-A\n",
    }
    for name, text in files.items():
        (package / name).write_text(text, encoding="utf-8")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: lamp-count\nVersion: 0.1.0\n")
    (facts / "entry_points.txt").write_text(
        "[lmms_eval_tasks.benchmarks]\nlamp_count = lamp_count.benchmark:BENCHMARK\n"
    )
    return package


def write_open_release(folder: Path) -> None:
    """Write the clips of the release."""
    folder.mkdir()
    for item in range(ITEMS):
        for place in range(len(CLIPS)):
            with av.open(str(folder / f"{item}_{place}.mp4"), "w") as container:
                stream = container.add_stream("mpeg4", rate=4)
                stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
                for shade in range(6):
                    frame = np.full((48, 64, 3), 40 * shade + 10 * place + item, np.uint8)
                    container.mux(stream.encode(av.VideoFrame.from_ndarray(frame)))
                container.mux(stream.encode())
