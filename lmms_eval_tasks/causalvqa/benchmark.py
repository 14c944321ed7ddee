"""CausalVQA: every question asked twice, as MCQ and MCQ′, with other options.

Foss et al., 2025, https://arxiv.org/abs/2506.09943; official code: facebookresearch/CausalVQA@3f65605.

    lmms-eval-tasks prepare causalvqa --source CausalVQA.zip
    lmms-eval --model qwen2_5_vl --tasks causalvqa_paired --output_path out --log_samples
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any, Literal

import typer
from pydantic import BeforeValidator, ValidationInfo

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    OFFICIAL_ACCURACIES,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Benchmark,
    Card,
    ChoiceForm,
    Human,
    Inquiry,
    Metric,
    Origin,
    Preparation,
    Problems,
    Record,
    Row,
    RowForm,
    SplitFacts,
    SplitManifest,
    TaskKind,
    building,
    choice_grader,
)
from lmms_eval_tasks.api.forms import (
    Cell,
    ClipName,
    Key,
    NumberedOptions,
    OneOf,
    ReleaseRow,
    Text,
    mismatch,
    read_csv_form,
)
from lmms_eval_tasks.api.page import Layout, LayoutPlace, ReferencedMetric, published_models
from lmms_eval_tasks.api.prompts import OfficialPrompt, Prompt, read_closing
from lmms_eval_tasks.api.release import PublishedStatistics, describe, open_release
from lmms_eval_tasks.api.runs import ChoiceLine
from lmms_eval_tasks.causalvqa.sample import SAMPLE

# ---- what paper and release say ------------------------------------------------------------------------------------

# Pairs per question type as (easy, medium, hard): paper, Tables 6 and 12.
_TEST_PAIRS = {
    "anticipation": (110, 64, 34),
    "counterfactual": (28, 34, 27),
    "descriptive": (226, 44, 18),
    "hypothetical": (15, 31, 21),
    "planning": (75, 42, 24),
}
TYPES, DIFFICULTIES = tuple(_TEST_PAIRS), ("easy", "medium", "hard")
REASONED = tuple(kind for kind in TYPES if kind != "descriptive")

CARD = Card(
    name="causalvqa",
    title="CausalVQA",
    paper="https://arxiv.org/abs/2506.09943",
    licence="CC BY-NC 4.0, evaluation only; clips under the Ego-Exo4D licence (croissant.json of the release)",
    homepage="https://github.com/facebookresearch/CausalVQA",
    main_metric="pair_accuracy",
    splits={
        "test": SplitFacts(
            items=1586,
            groups=793,
            clips=779,
            answers_withheld=True,
            strata={
                (kind, difficulty): pairs
                for kind, counts in _TEST_PAIRS.items()
                for difficulty, pairs in zip(DIFFICULTIES, counts, strict=True)
            },
            statistics=PublishedStatistics(mean_seconds=24.8, longest_seconds=288.9),
        ),
        "debug": SplitFacts(items=200, groups=100, clips=None, strata={(kind, "easy"): 20 for kind in TYPES}),
    },
    strata_columns=("type", "difficulty"),
    chance={"single_accuracy": 20.0, "pair_accuracy": 4.0},
    human=(
        Human(
            metric="single_accuracy",
            split="test",
            percent=84.78,
            source="paper, Tables 6 and 12",
            caveat="each annotator saw one version of a question, so this is no pair_accuracy, though Table 6 prints it"
            " beside the paired scores of models",
        ),
    ),
    prompt_sha256={"post_prompt": "aea8943677956a94454951750b33ec1f7b3602afddad5ea390e214801f44eca6"},
    archive_sha256={"CausalVQA.zip": "a48684b9ef0b9b824b21225ceac23e92a43ec64cfebead20bf15978a399880c5"},
    prepare_command="lmms-eval-tasks prepare causalvqa --source CausalVQA.zip",
    leaderboards={"physical-reasoning": {"test": "causalvqa"}},
)

# ---- the release ---------------------------------------------------------------------------------------------------

# The archive's own folder, the folder itself, and where the official repository keeps it.
ROOTS = ("", "CausalVQA", "data")
COLUMNS = {"version": "int64", "type": "string", "difficulty": "string", "scenario": "string"}
"""The benchmark's own columns of the prepared table, and their types."""
# Empty, and what the usual writers of tables put for an empty cell.
_WITHHELD = ("", "nan", "none", "null")
_NUMBER = re.compile(r"0*([0-9]+?)(?:\.0*)?")


def metadata_name(split: str) -> str:
    return f"{split}/{split}_metadata.csv"


def _read_answer(value: str, info: ValidationInfo) -> str | None:
    """The letter of the option whose number a cell has, by its place; None where it is withheld."""
    numbers = list(info.data.get(str(info.field_name).replace("correct", "choices"), ()))
    if value.strip().lower() in _WITHHELD or not numbers:
        return None
    match = _NUMBER.fullmatch(value.strip())
    if match is None or match[1] not in numbers:
        counted = numbers == [str(number) for number in range(1, len(numbers) + 1)]
        raise mismatch(f"one of the options {f'1-{len(numbers)}' if counted else ', '.join(numbers)}", value)
    return ascii_uppercase[numbers.index(match[1])]


class ReleasedQuestion(ReleaseRow):
    """A row of a metadata file; `scenario` is a column that a release may have (Table 5 of the paper)."""

    qid: Annotated[Text, Key]
    type: Annotated[str, OneOf(TYPES)]
    difficulty: Annotated[str, OneOf(DIFFICULTIES, {"med": "medium"})]
    question: Text
    renamed_video: ClipName
    choices1: NumberedOptions
    choices2: NumberedOptions
    correct1: Annotated[str | None, BeforeValidator(_read_answer)] = None
    correct2: Annotated[str | None, BeforeValidator(_read_answer)] = None
    scenario: Cell = ""


def read_items(split: str, content: bytes) -> tuple[list[dict[str, Any]], Problems]:
    """The items of a split: two per row of its metadata file, next to each other, in the file's order."""
    file, problems = metadata_name(split), Problems()
    items: list[dict[str, Any]] = []
    answered: dict[bool, str] = {}
    for row in read_csv_form(ReleasedQuestion, content, file, problems, together=("correct1", "correct2")):
        for version, (options, answer) in enumerate(((row.choices1, row.correct1), (row.choices2, row.correct2))):
            if len(set(options.values())) < len(options):
                problems.warn(f"{file}: questions with two equal options", f"{row.qid} in choices{version + 1}")
            answered.setdefault(answer is not None, row.place)
            items.append(
                {
                    "item_id": f"{row.qid}_{version}",
                    "group_id": row.qid,
                    **row.model_dump(include={"question", "type", "difficulty", "scenario"}),
                    "options": list(options.values()),
                    "answer": answer,
                    "clip": f"{split}/{row.renamed_video}",
                    "version": version,
                }
            )
    if len(answered) == 2 and not problems:
        rows = f"{answered[True]} has one and {answered[False]} lacks one"
        what = f"Expected answers to all questions or to none, but {rows}."
        problems.add(file, what, remedy="use the file as it was released.")
    return items, problems


def prepare(
    preparation: Preparation,
    source: Annotated[Path, typer.Option(help="CausalVQA.zip, or the folder unpacked from it.", show_default=False)],
) -> dict[str, SplitManifest]:
    """Prepare CausalVQA, every split that the release holds.

    The source may also be the unpacked folder's parent, or the official repository's `data`. Clips that are absent or
    unreadable are listed in the manifest, and a run refuses them unless it is to skip them. Metadata that cannot be
    scored stops this, and nothing is written then; what is merely unusual is a warning.

    Examples:
        lmms-eval-tasks prepare causalvqa --source CausalVQA.zip
        lmms-eval-tasks prepare causalvqa --source built/release --replace
    """
    files = {split: metadata_name(split) for split in CARD.splits}
    archive: dict[str, Path | bytes] = {} if source.is_dir() else {source.name: source}
    problems = Problems()
    found: dict[str, tuple[list[dict[str, Any]], Origin]] = {}
    with open_release(source, CARD.title, files.values(), ROOTS) as release:
        for split, file in files.items():
            if (content := release.read(file)) is not None:
                rows, own = read_items(split, content)
                problems.extend(own)
                found[split] = rows, Origin(str(source), {**archive, file: content}, warnings=own.warnings())
            elif release.holds(f"{split}/videos"):
                what = f"Expected it beside the clips in {split}/videos, but there is none."
                remedy = f"Unpack the release again, or move {split} away to prepare the other split alone."
                problems.add(file, what, remedy=remedy)
        problems.raise_if_any(f"{source.name} cannot be prepared", "nothing was written")
        with building(CARD.name, preparation) as build:
            for split, (rows, origin) in found.items():
                places = {row["clip"]: row["clip"].replace(f"{split}/", f"{split}/videos/", 1) for row in rows}
                clips = {name: release.clip(place) for name, place in places.items()}
                build.add_split(split, rows, COLUMNS, clips, origin)
    return {split: build.splits[split] for split in found}


# ---- answers -------------------------------------------------------------------------------------------------------

_SPACED_OR_DROPPED = ';/[]"{}()=+\\_-><@`,?!'
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_FREE_PERIOD = re.compile(r"\.(?!\d)")
_LAST_LONE_LETTER = re.compile(r".*\b([a-e])\b", re.DOTALL)
_PERIODS_REMOVED = 32


def official_choice(text: str) -> str:
    """Extract an answer the way the official `mcq_acc` does, so that scores compare with published tables.

    What it does, in order, quirks included:

    - The official search for the requested one-line format can never succeed (a look-behind tried only at position 0),
      so a well-formed answer gets no preference over any other letter and the rule is absent here.
    - Line feeds and tabs become spaces (other white space stays) and the ends are stripped.
    - Each mark of ``; / [ ] " { } ( ) = + \\ _ - > < @ ` , ? !`` is deleted everywhere if it stands next to a space
      anywhere, or if a comma between two digits occurs anywhere; otherwise it becomes a space. Deleting joins words.
    - Only the first 32 periods that no digit follows are removed (a flag was passed where a count is expected).
    - Enclosing ``'``, ``"``, ``)`` and ``(`` are stripped in that order and the rest is lower-cased.
    - The *last* lone letter a-e is the answer, so the article "a" and the "d" of "I'd" count as answers.

    Args:
        text: The model's response; any string.

    Returns:
        An upper-case letter A-E, whether or not the question has that option; without any lone letter the processed
        text, which equals no answer key (the empty string for a response of marks only).

    Source: facebookresearch/CausalVQA@3f65605, tasks/utils.py, `mcq_acc`.
    """
    line = text.replace("\n", " ").replace("\t", " ").strip()
    all_dropped = _COMMA_IN_NUMBER.search(line) is not None
    dropped = {mark: all_dropped or f"{mark} " in line or f" {mark}" in line for mark in _SPACED_OR_DROPPED}
    line = line.translate({ord(mark): "" if is_dropped else " " for mark, is_dropped in dropped.items()})
    line = _FREE_PERIOD.sub("", line, count=_PERIODS_REMOVED)
    for quote in "'\")(":
        line = line.strip(quote)
    line = line.strip().lower()
    letter = _LAST_LONE_LETTER.match(line)
    return letter[1].upper() if letter else line


def strata(row: Row) -> dict[str, str]:
    return {name: row[name] for name in ("type", "difficulty", "scenario") if row.get(name)}


grade = choice_grader(official_choice, stratum=strata, fields=("version",))

# ---- scores --------------------------------------------------------------------------------------------------------


def _broken_down(metric: Metric) -> list[Metric]:
    reasoning = metric.within("reasoning", lambda record: record.stratum["type"] in REASONED)
    return [reasoning, *metric.by("type", TYPES), *metric.by("difficulty", DIFFICULTIES)]


PAIR_ACCURACY_STRATA_MEAN = replace(
    PAIR_ACCURACY,
    name="pair_accuracy_strata_mean",
    title="mean over strata",
    stratum=lambda record: f"{record.stratum['type']}_{record.stratum['difficulty']}",
)
"""Unweighted mean over the 15 strata of type and difficulty, as the official task file computes it."""
METRICS = (
    PAIR_ACCURACY,
    SINGLE_ACCURACY,
    PAIR_ACCURACY_STRATA_MEAN,
    *_broken_down(PAIR_ACCURACY),
    # Standard errors are printed of the whole alone.
    *_broken_down(replace(SINGLE_ACCURACY, errors=PAIR_ACCURACY.errors)),
    *OFFICIAL_ACCURACIES,
    PAIRS_SCORED,
    *COMMON_METRICS,
)

# ---- references: published scores, and the tables of the paper ----------------------------------------

FOLDER = Path(__file__).parent
OTHER_QUESTIONS = "Published scores of people and models are of the test split; the debug split has other questions."
NOBODY = "No paired score of people is published: nobody answered both versions of a question."
PEOPLE = "People answered one version of each question, so that theirs is single accuracy in all three tables."
ALL, REASONING = "all", "reasoning"
CLOSED, OPEN, PEOPLE_GROUP, RUNS = "closed", "open", "people", "runs"
CLOSED_MODELS = ("GPT-4o", "Gemini 2.5 Flash")
FIGURES = {"types": "Models and people by type", "difficulties": "People by difficulty"}
"""Of single accuracy, as people's is. By difficulty no figure of a model is published."""
BLIND, LAST_FRAME = "without the clip", "last frame"
CALLED = {"paired_accuracy": PAIR_ACCURACY.title} | dict.fromkeys(
    ("unpaired_accuracy", "human_accuracy_bootstrap", "human_single_frame_accuracy_bootstrap"), SINGLE_ACCURACY.title
)


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Pairs (paper, Table 6, and the leaderboard) and single questions (Table 12) of the test split."""
    pairs, singles = (ReferencedMetric(one, CARD.chance[one.name]) for one in (PAIR_ACCURACY, SINGLE_ACCURACY))
    if task.startswith("causalvqa_debug"):
        return replace(pairs, note=OTHER_QUESTIONS), replace(singles, note=OTHER_QUESTIONS)
    models = partial(published_models, FOLDER, without=("Human",), category=ALL, difficulty=ALL)
    paired = models(source="CausalVQA paper Table 6", metric="paired_accuracy")
    paired += models(source="leaderboard", metric="paired_accuracy")
    unpaired = models(source="CausalVQA paper Table 12", metric="unpaired_accuracy")
    return replace(pairs, published=paired, note=NOBODY), replace(singles, people=CARD.human, published=unpaired)


def _counts(kinds: Sequence[str], difficulty: str, record: Record) -> bool:
    return record.stratum["type"] in kinds and difficulty in (ALL, record.stratum["difficulty"])


def _kind_of_model(entry: Mapping[str, Any]) -> str:
    """The group of a published figure: its view, or else whether its weights are open."""
    people = str(entry["metric"]).startswith("human")
    of_view = {"blind": BLIND, "single_frame": LAST_FRAME}.get(entry.get("view", ""))
    return of_view or (PEOPLE_GROUP if people else CLOSED if entry["model"] in CLOSED_MODELS else OPEN)


def _questions(entry: Mapping[str, Any]) -> int | None:
    """How many questions, each with both versions, are behind a published figure."""
    number = entry.get("n")
    return number // 2 if number and entry["n_unit"] == "items" else number


def _kind_of_run(records: Sequence[Record]) -> str:
    return {"blind": BLIND, "single_frame": LAST_FRAME}.get(records[0].view if records else "", RUNS)


def _layout(number: str, metric: Metric, what: str, views: tuple[str, ...] = ("",)) -> Iterator[Layout]:
    """A table of the test split, and of the debug split, of which nothing is published: the strata, then types,
    difficulties and all together."""
    mean, rows = PAIR_ACCURACY_STRATA_MEAN, {**{kind: (kind,) for kind in TYPES}, REASONING: REASONED, ALL: TYPES}
    blocks = {
        "strata": [(kind, difficulty) for kind in TYPES for difficulty in DIFFICULTIES],
        "types": [(kind, ALL) for kind in (*TYPES, REASONING)],
        "difficulties": [(ALL, difficulty) for difficulty in DIFFICULTIES],
        "together": [(ALL, ALL)],
    }
    whole = views == ("",)
    # The people of all strata of a difficulty are in the introduction alone.
    of_test = (f"CausalVQA paper Table {number}", *(("CausalVQA paper Introduction",) if whole else ()))
    for task, split, sources, note in (
        ("causalvqa_paired", "", of_test, PEOPLE),
        ("causalvqa_debug_paired", ", of the debug split", (), ""),
    ):
        places = []
        for block, cells in blocks.items():
            for category, difficulty in cells:
                name = difficulty if block == "difficulties" else category
                name = f"{category}, {difficulty}" if block == "strata" else name
                where = {"category": category, "difficulty": difficulty}
                counted = partial(_counts, rows[category], difficulty)
                places.append(LayoutPlace(name, task, metric, where, counted, block=block))
        if metric is PAIR_ACCURACY:
            places.append(LayoutPlace(mean.title, task, mean, {"category": mean.title}, block="together"))
        yield Layout(
            f"Table {number}{split}: {what}",
            sources,
            places,
            across=True,
            views=views,
            called=CALLED,
            group=_kind_of_model,
            group_of_run=_kind_of_run,
            group_of_people=PEOPLE_GROUP,
            count=_questions,
            figures=FIGURES if number == "12" and sources else {},
            people=SINGLE_ACCURACY if whole else None,
            digits=2,
            note=note,
        )


# ---- the leaderboard's file ----------------------------------------------------------------------------------------

OFFICIAL_TASKS = {
    stratum: f"{stratum[0].capitalize()}_{'med' if stratum[1] == 'medium' else stratum[1]}"
    for stratum in product(TYPES, DIFFICULTIES)
}
"""Names of the strata in the official task files, such as ``Planning_med``."""


class SubmittedLetter(RowForm):
    """One row of the file.

    Source: the code of the leaderboard, the Space facebook/physical_reasoning_leaderboard, knows the benchmark by the
    key `causalvqa`; the other field names are those of its other benchmarks.
    """

    data_name: Literal["causalvqa"]
    task: str
    row_id: str
    model_answer: str


def _compare(row: SubmittedLetter, item: Row | None, split: str) -> Iterator[tuple[str, str, str]]:
    if item is None and not re.fullmatch(".+_[01]", row.row_id, re.DOTALL):
        yield "row_id", "Expected <qid>_0 or <qid>_1, but got", describe(row.row_id)
    if item is None and row.task not in OFFICIAL_TASKS.values():
        yield "task", "Expected one of the 15 strata, such as Planning_med, but got", describe(row.task)


FORM = ChoiceForm(
    card=CARD,
    row_type=SubmittedLetter,
    values=lambda row, split: {
        "data_name": CARD.name,
        "task": OFFICIAL_TASKS[row["type"], row["difficulty"]],
        "row_id": row["item_id"],
    },
    answers=lambda row: list(ascii_uppercase[: len(row["options"]) if row else 5]),
    compare=_compare,
    siblings=lambda row_id: [f"{row_id[:-2]}_{n}" for n in "01"] if row_id.endswith(("_0", "_1")) else [],
    path=lambda split, part: f"submissions/causalvqa_{split}.jsonl",
    notes=(
        "Only data_name is known from the leaderboard's code; what task, row_id and model_answer have to hold is our "
        "inference. Test files of users were refused in September 2025 (issues 4 and 5 of facebookresearch/CausalVQA).",
    ),
)

# ---- all of it -----------------------------------------------------------------------------------------------------

BENCHMARK = Benchmark(
    card=CARD,
    folder=FOLDER,
    kinds={
        "paired": TaskKind(
            metrics=METRICS,
            grade=grade,
            references=references,
            members="versions",
            log_form=ChoiceLine,
            frame="last",
        )
    },
    layouts=(
        *_layout("6", PAIR_ACCURACY, "both versions right, by type and difficulty"),
        *_layout("12", SINGLE_ACCURACY, "single versions, by type and difficulty"),
        *_layout("13", PAIR_ACCURACY, "without the clip, and with its last frame", ("blind", "single_frame")),
    ),
    prepare=prepare,
    schema=lambda: COLUMNS,
    submission=FORM,
    official_prompt=OfficialPrompt(
        benchmark=CARD.name,
        part="post_prompt",
        file="tasks/_default_template_yaml",
        read=read_closing,  # the official code loads an opening, too, and never uses it (tasks/utils.py)
        template=lambda closing: "Question:{question}\nOption:\n{options}\n" + Prompt.literal(closing),
        replaces="mcq_letter",
    ),
    inquiries={"review": Inquiry("review", responses=2, kinds=TYPES, retimed=True)},
    sample=SAMPLE,
)
