"""The benchmark: its card, how the release is prepared, its scores and its official prompt."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from itertools import permutations
from math import factorial
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BeforeValidator

from lmms_eval_tasks import api
from lmms_eval_tasks.api.forms import ClipName, Key, ReleaseRow, Text, mismatch, read_json_form
from lmms_eval_tasks.api.prompts import OfficialPrompt, Prompt, TaskSettings
from lmms_eval_tasks.api.release import as_lines, open_release
from vcrbench.reader import READER, count_of, grade_order
from vcrbench.write import write_release

QUESTIONS = {
    "Add Oil to Your Car": {3: 10, 4: 9, 5: 12},
    "Build Simple Floating Shelves": {3: 10, 4: 9, 5: 10},
    "Change a Tire": {4: 3, 5: 8, 6: 8, 7: 6},
    "Grill Steak": {3: 3, 4: 6, 5: 10, 6: 10, 7: 6},
    "Make Banana Ice Cream": {3: 15, 4: 15},
    "Make French Strawberry Cake": {3: 16, 4: 15},
    "Make French Toast": {5: 10, 6: 12, 7: 12},
    "Make Irish Coffee": {3: 30},
    "Make Jello Shots": {3: 30},
    "Make Lemonade": {3: 8, 4: 12, 5: 12},
    "Make Meringue": {4: 18, 5: 8},
    "Make Pancakes": {3: 4, 4: 18, 5: 10},
}
"""How many questions a goal has, by their number of steps.

Source: pritamqu/VCRBench@5d616a3, output/random/response_1.json.
"""
STEPS = tuple(f"{count} steps" for count in range(3, 8))
SIZES = {(goal, f"{count} steps"): size for goal, sizes in QUESTIONS.items() for count, size in sizes.items()}


def scores(reader: str, title: str, value: Callable[[api.Record], float | None], steps: str) -> list[api.Metric]:
    """All scores of one reader: success rate, step accuracy over the steps of all questions, and breakdowns."""
    success = api.Metric(f"success_rate{reader}", f"success rate{title}", value, errors="plain")
    return [
        success,
        api.Metric(
            f"step_accuracy{reader}",
            f"step accuracy{title}",
            lambda record: record.fields[steps],
            weight=lambda record: count_of(record.stratum),
        ),
        api.Metric(
            f"goal_mean{reader}", f"mean over goals{title}", value, stratum=lambda record: record.stratum["goal"]
        ),
        *success.by("goal", QUESTIONS),
        *success.by("steps", STEPS),
    ]


OURS = scores("", "", api.SINGLE_ACCURACY.value, "steps_right")
OFFICIAL = scores("_official", ", official reader", api.OFFICIAL_ACCURACIES[1].value, "official_steps_right")


def guess_success(*, goal: str = "", steps: str = "") -> float:
    """The expected percent of questions that a random order of their clips is right on: 1/n! of n clips."""
    chosen = {key: size for key, size in SIZES.items() if goal in ("", key[0]) and steps in ("", key[1])}
    hits = sum(size / factorial(int(steps[0])) for (_, steps), size in chosen.items())
    return 100.0 * hits / sum(chosen.values())


BY_GOAL = {goal: guess_success(goal=goal) for goal in QUESTIONS}
CHANCE = (
    guess_success(),
    # One step of each question is expected to be in its place.
    100.0 * sum(SIZES.values()) / sum(int(steps[0]) * size for (_, steps), size in SIZES.items()),
    sum(BY_GOAL.values()) / len(BY_GOAL),
    *BY_GOAL.values(),
    *(guess_success(steps=steps) for steps in STEPS),
)
PAGE = "project page, leaderboard"

CARD = api.Card(
    name="vcrbench",
    title="VCRBench",
    paper="https://arxiv.org/abs/2505.08455",
    licence="MIT; the videos are CrossTask's",
    homepage="https://github.com/pritamqu/VCRBench",
    main_metric="success_rate",
    splits={
        "test": api.SplitFacts(
            items=365,
            groups=365,
            clips=365,
            strata=SIZES,
            sha256=frozenset({"245b957940c58fb6c7d5f05e4d5ad40e8f3d788dc827f1410e4676276bbbf7c1"}),
        )
    },
    strata_columns=("goal", "steps"),
    chance={metric.name: value for metric, value in zip(OURS, CHANCE, strict=True)},
    human=(
        api.Human("success_rate", "test", 96.4, PAGE, "the page does not say how people were asked"),
        api.Human("step_accuracy", "test", 98.3, PAGE, "the page does not say how people were asked"),
    ),
    prompt_sha256={"prompt": "e67feb6373abb04129bfe1fdaf77381ff339fe9a57f01e61f402e6339682efdf"},
    hub_id="pritamqu/VCRBench",
    prepare_command="lmms-eval-tasks prepare vcrbench --source DIR",
)


def read_truth(value: object) -> object:
    """The places of the clips in the right order, counted from 0."""
    if not isinstance(value, list) or not 3 <= len(value) <= 7 or sorted(value) != list(range(len(value))):
        raise mismatch("the numbers of 3 to 7 clips from 0, each once", value)
    return value


class Question(ReleaseRow):
    """An entry of `data.json`."""

    qid: Annotated[Text, Key]
    goal: Text
    ground_truth: Annotated[list[int], BeforeValidator(read_truth)]
    video_file: ClipName


def row_of(question: Question) -> api.Row:
    """The prepared row of a question."""
    return {
        "item_id": question.qid,
        "group_id": question.qid,
        "goal": question.goal,
        "steps": f"{len(question.ground_truth)} steps",
        "question": f"In which order do the clips lead to this goal: {question.goal}?",
        "options": [],
        "answer": ", ".join(str(place + 1) for place in question.ground_truth),
        "clip": f"test/{question.video_file}",
    }


def prepare(
    preparation: api.Preparation,
    source: Annotated[Path, typer.Option(help="Folder or archive of data.json and videos/.", show_default=False)],
) -> dict[str, api.SplitManifest]:
    """Prepare the release, as it is downloaded from the Hugging Face hub."""
    problems = api.Problems()
    with open_release(source, CARD.title, ["data.json"], ["", "HF_DATA", "VCRBench"]) as release:
        questions = read_json_form(Question, release.read("data.json") or b"", "data.json", problems)
        problems.raise_if_any(f"{source} cannot be prepared", "nothing was written")
        rows = [row_of(question) for question in questions]
        clips = {row["clip"]: release.clip(row["clip"].replace("test/", "videos/", 1)) for row in rows}
        # Only what is asked tells the release: `data.json` may gain fields.
        asked = as_lines({name: row[name] for name in ("item_id", "goal", "answer", "clip")} for row in rows)
        with api.building(CARD.name, preparation) as build:
            origin = api.Origin(str(source), {"questions": asked.encode()})
            build.add_split("test", rows, {"goal": "string", "steps": "string"}, clips, origin)
    return {"test": build.splits["test"]}


def ask_order(row: api.Row, settings: TaskSettings) -> str:
    """The prompt of a row; ours says how many clips there are, so that who sees none can guess among the orders."""
    assert settings.prompt is not None
    return settings.prompt.render(goal=row["goal"], count=str(count_of(row)))


def guess_orders(row: api.Row) -> list[str]:
    """Every order of the clips."""
    return [", ".join(order) for order in permutations(map(str, range(1, count_of(row) + 1)))]


def read_prompt(path: Path) -> str:
    """The text `PROMPT` of the official script, which is read and never executed."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PROMPT":
            return str(ast.literal_eval(node.value))
    raise LookupError("it has no PROMPT")


BENCHMARK = api.Benchmark(
    card=CARD,
    folder=Path(__file__).parent,
    kinds={
        "orders": api.TaskKind(
            metrics=(*OURS, *OFFICIAL, *api.COMMON_METRICS),
            ask=ask_order,
            grade=grade_order,
            extractor=READER,
            columns=(
                *(api.Column(metric, interval=True) for metric in OURS[:2]),
                api.Column(OURS[2]),
                api.Column(OFFICIAL[0], "official reader"),
                api.Column(api.COMMON_METRICS.unparsed),
                api.Column(api.COMMON_METRICS.unscored),
                api.Column(),
            ),
            guesses=guess_orders,
            views=("blind", "single_frame", "shuffled"),
        )
    },
    prepare=prepare,
    schema=lambda: {"goal": "string", "steps": "string"},
    no_submission="The leaderboard takes files of responses by e-mail.",
    replaces=frozenset({CARD.name}),  # lmms-eval has a task of it, with the official prompt and rule alone
    official_prompt=OfficialPrompt(
        benchmark=CARD.name,
        part="prompt",
        file="data/dataset.py",
        read=read_prompt,
        template=lambda text: Prompt.literal(text.strip()).replace("{{goal}}", "{goal}"),
        replaces=CARD.name,
    ),
    sample=api.SampleWriter(
        "videos of a rising bar, and `data.json`", {"questions": 10}, partial(write_release, goals=tuple(QUESTIONS))
    ),
)
